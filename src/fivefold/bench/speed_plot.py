"""The plot of `bench speed`: what a recall takes as the number of memories grows, and what it would take at more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fivefold.bench.extrapolation import LABEL, RECALLS, curve
from fivefold.bench.measures import PUBLISHED_P99, Measure
from fivefold.bench.plots import COLOURS, GREYS, INK, MARKERS, require_plots, save, style
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Quantile = Literal["p50", "p99"]
KINDS = (".svg", ".png")


def require_plot(path: Path) -> None:
    """Say before a long run that its plot cannot be drawn there."""
    if path.suffix.lower() not in KINDS:
        raise InvalidInput(f"takes a file that ends in {' or '.join(KINDS)}, not {str(path)!r}", field="plot")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInput(f"takes a file in a folder that exists, not {str(path)!r}", field="plot")
    require_plots()


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
        if measured := curve(found, what):
            _lines(axes, measured, [item for item in found if item.what == f"{what}, {LABEL}"], place, quantile)
    if any(item.fit for item in found):
        axes.plot([], [], linestyle="--", linewidth=1.4, color=GREYS[1], label=f"dashed: {LABEL}")


def _lines(axes: Axes, measured: Sequence[Measure], beyond: Sequence[Measure], place: int, quantile: Quantile) -> None:
    """A whole line through what was measured, a dashed one from its end to an empty mark at ten million."""
    colour, mark = COLOURS[place], MARKERS[place]
    axes.plot(
        _sizes(measured),
        _times(measured, quantile),
        label=measured[0].what,
        color=colour,
        marker=mark,
        markersize=5,
        linewidth=1.8,
    )
    if beyond:
        ends = [measured[-1], *beyond]
        axes.plot(_sizes(ends), _times(ends, quantile), "--", color=colour, linewidth=1.4)
        axes.plot(_sizes(beyond), _times(beyond, quantile), mark, color=colour, markersize=6, markerfacecolor="white")


def _sizes(items: Sequence[Measure]) -> list[int]:
    return [item.memories for item in items]


def _times(items: Sequence[Measure], quantile: Quantile) -> list[float]:
    return [item.p50 if quantile == "p50" or item.p99 is None else item.p99 for item in items]
