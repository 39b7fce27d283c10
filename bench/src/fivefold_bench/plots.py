"""Plots of a run: recall against depth, recall by category, quality against time."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json
from fivefold_bench.contestants import BASELINES
from fivefold_bench.measures import LABEL, PUBLISHED_P99, RECALLS, Measure
from fivefold_bench.measures import curve as curve_of_extrapolation
from fivefold_bench.scores import DEPTH, curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fivefold_bench.run import Run


COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, safe for colour-blind readers; the recipe `default` has the first colour."""

GREYS = ("#9A9A9A", "#5C5C5C")
MARKERS = "osD^vPX"
INK = "#333333"
DPI = 130
MAX_KINDS = 12
"""Categories that have room in one plot; the largest are shown."""

LINE = 16
"""Characters below a group of bars."""

DOT = 8.0
"""Half of a mark and a little air, in dots of the page."""

POINT = 0.72
"""A dot of the page in the points texts are placed by."""

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in dots."""


def draw(folder: Path, run: Run, results: Json) -> None:
    """Every plot as a PNG file in `folder`."""
    names = list(results["recipes"])
    depth = max(DEPTH, *results["k"])
    curves = {name: curve(run.dataset.questions, run.rankings(name), depth) for name in names}
    recall_at_k(folder / "recall_at_k.png", results, curves)
    recall_by_category(folder / "recall_by_category.png", results)
    quality_latency(folder / "quality_latency.png", results)


def recall_at_k(path: Path, results: Json, curves: Mapping[str, Sequence[float]]) -> None:
    """One line a recipe, the legend in the order of their ends."""
    figure, axes = page(f"Recall by depth: {_data(results)}")
    looks = looks_of(list(curves))
    for name in sorted(curves, key=lambda each: -curves[each][-1]):
        values = curves[name]
        marked = [0, *range(4, len(values), 5)]
        axes.plot(range(1, len(values) + 1), values, label=name, markevery=marked, markersize=5, **looks[name])
    axes.set_xlabel("k, memories returned" if results["unit"] == "turn" else "k, sessions returned")
    axes.set_ylabel("recall@k")
    axes.set_xlim(1, max(len(values) for values in curves.values()))
    axes.set_xticks([1, *(k for k in range(5, len(next(iter(curves.values()))) + 1, 5))])
    axes.set_ylim(0, 1)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, path)


def recall_by_category(path: Path, results: Json) -> None:
    """Groups of bars, one group a category, with its number of questions."""
    counts, names = results["categories"], list(results["recipes"])
    kinds = largest(counts)
    figure, axes = page(f"Recall@10 by category: {_data(results)}", width=max(7.0, 1.7 * len(kinds) + 2.2))
    looks, room = looks_of(names), 0.84
    for place, name in enumerate(names):
        left = [at - room / 2 + (place + 0.5) * room / len(names) for at in range(len(kinds))]
        values = [results["recipes"][name]["by_category"][kind]["recall@10"] for kind in kinds]
        axes.bar(left, values, 0.92 * room / len(names), color=looks[name]["color"], label=name)
    axes.set_xticks(range(len(kinds)), [f"{wrapped(kind)}\nn = {counts[kind]}" for kind in kinds])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("recall@10")
    axes.set_ylim(0, 1)
    axes.grid(False, axis="x")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, path)


def _data(results: Json) -> str:
    return f"{results['dataset']}, by {results['unit']}"


def largest(categories: Mapping[str, int]) -> list[str]:
    """The categories there is room for, in their order."""
    most = sorted(categories, key=lambda kind: -categories[kind])[:MAX_KINDS]
    return [kind for kind in categories if kind in most]


def wrapped(kind: str) -> str:
    """A category's name on as many lines as its group of bars is wide, three at most."""
    return "\n".join(textwrap.wrap(kind, LINE, max_lines=3, placeholder="…"))


def quality_latency(path: Path, results: Json) -> None:
    """One point per recipe, up is better and left is faster; names that would overlap are moved apart."""
    figure, axes = page(f"Quality against time: {_data(results)}")
    names = list(results["recipes"])
    times = {name: max(0.01, results["recipes"][name]["latency_ms"]["recall"]["p50"]) for name in names}
    heights = {name: results["recipes"][name]["overall"]["recall@10"] for name in names}
    looks = looks_of(names)
    for name in names:
        axes.plot(times[name], heights[name], marker=looks[name]["marker"], color=looks[name]["color"], markersize=8)
    low, high = min(heights.values()), max(heights.values())
    margin = max(0.03, 0.15 * (high - low))
    axes.set_ylim(max(0.0, low - margin), min(1.02, high + margin))
    axes.set_xscale("log")
    first, last = min(times.values()), max(times.values())
    axes.set_xlim(first / 1.6, last * (last / first) ** 0.1 * 1.8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    axes.tick_params(axis="x", which="minor", labelsize=9)
    axes.set_xlabel("recall time, ms (p50, without encoding the question)")
    axes.set_ylabel("recall@10")
    figure.draw_without_rendering()  # settles the layout, so that places on the page are known
    dots = {name: tuple(map(float, axes.transData.transform((times[name], heights[name])))) for name in names}
    for name, up in raised(dots).items():  # those that had to move get a thin line back
        axes.annotate(
            name,
            (times[name], heights[name]),
            (1.5 * DOT * POINT, up * POINT),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=10,
            arrowprops={"arrowstyle": "-", "color": "#BBBBBB", "linewidth": 0.7} if up > DOT else None,
        )
    save(figure, path)


def raised(dots: Mapping[str, tuple[float, ...]]) -> dict[str, float]:
    """Height of each name, so that it covers neither another name nor a point, the lowest placed first."""
    boxes = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots.values()]
    up = dict.fromkeys(dots, 0.0)
    for name in sorted(dots, key=lambda each: dots[each][1]):
        x, y = dots[name]
        while any(
            a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
            for a, b in ((box(name, x, y + up[name]), other) for other in boxes)
        ):
            up[name] += 3.0
        boxes.append(box(name, x, y + up[name]))
    return up


def box(name: str, x: float, y: float) -> Box:
    """The box of a point's name on the page."""
    return (x + 1.2 * DOT, y - 7, x + 1.5 * DOT + 8.6 * len(name), y + 7)


def looks_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, mark and line of each contestant: baselines grey and dashed, `default` in front."""
    looks: dict[str, dict[str, Any]] = {}
    recipes = sorted((name for name in names if name not in BASELINES), key=lambda name: name != "default")
    for place, name in enumerate(name for name in names if name in BASELINES):
        looks[name] = {"color": GREYS[place], "marker": "sx"[place], "linestyle": "--", "linewidth": 1.4, "zorder": 2}
    for place, name in enumerate(recipes):
        looks[name] = {
            "color": COLOURS[place % len(COLOURS)],
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": "-" if place < len(COLOURS) else ":",
            "linewidth": 2.4 if name == "default" else 1.6,
            "zorder": 4 if name == "default" else 3,
        }
    return looks


def page(title: str, width: float = 8.0, height: float = 4.6) -> tuple[Figure, Axes]:
    """An empty plot in the house style, without pyplot and its global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    style(axes, title)
    return figure, axes


def style(axes: Axes, title: str) -> None:
    """The house style for one set of axes: its title at the left, a light grid, no frame."""
    axes.set_title(title, loc="left", fontsize=12, color=INK, pad=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#AAAAAA")
    axes.grid(True, color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK)


def save(figure: Figure, path: Path) -> None:
    """Writes the figure as a PNG file, or as SVG if the name says so, the same bytes each time."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    if path.suffix.lower() == ".svg":
        with rc_context({"svg.hashsalt": path.name}):
            figure.savefig(path, format="svg", metadata={"Date": None})
        return
    figure.savefig(path, dpi=DPI, metadata={"Software": None}, pil_kwargs={"optimize": True})


# The plot of `bench speed`: what a recall takes as the number of memories grows, and what it would take at more.

Quantile = Literal["p50", "p99"]
KINDS = (".svg", ".png")


def require_plot(path: Path) -> None:
    """Say before a long run that its plot cannot be drawn there."""
    if path.suffix.lower() not in KINDS:
        raise InvalidInput(f"takes a file that ends in {' or '.join(KINDS)}, not {str(path)!r}", field="plot")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInput(f"takes a file in a folder that exists, not {str(path)!r}", field="plot")


def draw_recall_times(path: Path, found: Sequence[Measure], store: str) -> None:
    """Write the plot as its file's name says."""
    save(recall_times(found, store), path)


def recall_times(found: Sequence[Measure], store: str) -> Figure:
    """The middle at the left, the tail at the right, with the published time at ten million (R11) as a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    _panel(left, f"{store}: p50 of a recall", found, "p50")
    _panel(right, f"{store}: p99 of a recall", found, "p99")
    right.axhline(PUBLISHED_P99, color=INK, linewidth=1.2, label=f"published: p99 {PUBLISHED_P99} ms at ten million")
    left.set_ylabel("milliseconds", color=INK)
    entries = {label: handle for handle, label in zip(*right.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _panel(axes: Axes, title: str, found: Sequence[Measure], quantile: Quantile) -> None:
    style(axes, title)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    axes.tick_params(axis="y", which="minor", labelsize=9)
    axes.set_xlabel("memories", color=INK)
    for place, what in enumerate(RECALLS):
        if measured := curve_of_extrapolation(found, what):
            _lines(axes, measured, [item for item in found if item.what == f"{what}, {LABEL}"], place, quantile)
    if any(item.fit for item in found):
        axes.plot([], [], linestyle="--", linewidth=1.4, color=GREYS[1], label=f"dashed: {LABEL}")


def _lines(axes: Axes, measured: Sequence[Measure], beyond: Sequence[Measure], place: int, quantile: Quantile) -> None:
    """A whole line through what was measured, a dashed one from its end to an empty mark at ten million."""
    colour, mark = COLOURS[place], MARKERS[place]

    def draw(items: Sequence[Measure], look: str, **options: Any) -> None:
        times = [item.p50 if quantile == "p50" or item.p99 is None else item.p99 for item in items]
        axes.plot([item.memories for item in items], times, look, color=colour, **options)

    draw(measured, f"{mark}-", label=measured[0].what, markersize=5, linewidth=1.8)
    if beyond:
        draw([measured[-1], *beyond], "--", linewidth=1.4)
        draw(beyond, mark, markersize=6, markerfacecolor="white")
