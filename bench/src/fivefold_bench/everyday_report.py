"""Plots of a run over everyday lives: hits by kind of question, and whether chances are true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fivefold.evaluation import COVER, HITS, NEVER
from fivefold.values.serialize import Json
from fivefold_bench.contestants import BASELINES
from fivefold_bench.plots import looks_of, page, save
from fivefold_bench.results import EVERYDAY_PLOTS
from fivefold_bench.tables import Row, Section, ablation, markdown_sections, plain_rows, share, signed

# The tables of a run over everyday lives, as rows for the terminal and as Markdown.

OVERALL = (*HITS, "cover", "fresh", "window", "list", "never", "refused", "error")
LOW_IS_GOOD = frozenset({"refused", "error"})
UNMARKED = frozenset({"never", "refused"})
"""Measures without a marked best: a contestant that says "no" to everything is first in the one and last in the
other."""

DIFFERENCES = ("recipe", "against", "hit@1", "from", "to")
CHANGES = ("person", "changes", "linked", "at least likely", "others", "falsely linked", "falsely likely")
SUITES = ("suite", "figure", "cases", "share")
BINS = ("chance", "hits", "mean chance", "right")
CHANCES = "chances of {}: how often hits with such a chance are right"
LINKED = "changes linked when they are written, in the first and in the third person"
WORTHS = ("part", "hit@1", "hit@5", COVER, "better", "worse", "p")


def overall(results: Json) -> tuple[list[str], list[Row]]:
    """A row for each recipe."""
    values = {name: [each["overall"][column] for column in OVERALL] for name, each in results["recipes"].items()}
    best = [_best(column, [row[place] for row in values.values()]) for place, column in enumerate(OVERALL)]
    rows = [
        Row(
            name,
            (*(_cell(value) for value in row), f"{results['recipes'][name]['latency_ms']['recall']['p50']:.1f}"),
            frozenset(place for place, value in enumerate(row) if value is not None and value == best[place]),
            name in BASELINES,
        )
        for name, row in values.items()
    ]
    return [*OVERALL, "p50 ms"], rows


def by_kind(results: Json, name: str) -> tuple[list[str], list[Row]]:
    """One recipe: a row for each kind of question."""
    columns = (*HITS, COVER)
    figures = results["recipes"][name]["by_category"]
    rows = [
        Row(kind, (str(count), *(_cell(figures[kind][column]) for column in columns)))
        for kind, count in results["categories"].items()
        if kind != NEVER
    ]
    return ["n", *columns], rows


def kinds_by_recipe(results: Json, metric: str = "hit@1") -> tuple[list[str], list[Row]]:
    """One metric: a row for each kind of question, a column for each recipe, the best of each row marked."""
    names = list(results["recipes"])
    rows = []
    for kind in (kind for kind in results["categories"] if kind != NEVER):
        values = [results["recipes"][name]["by_category"][kind][metric] for name in names]
        best = max(values) or None
        rows.append(
            Row(
                kind,
                tuple(_cell(value) for value in values),
                frozenset(place for place, value in enumerate(values) if value == best and len(names) > 1),
            )
        )
    return names, rows


def differences(results: Json) -> list[tuple[str, ...]]:
    """The lead of the reference over plain vectors, with the interval."""
    return [
        (item["recipe"], item["against"], *(signed(item[name]) for name in ("difference", "low", "high")))
        for item in results["differences"]
    ]


def reliability(results: Json, name: str) -> list[tuple[str, ...]]:
    """The hits of one recipe by their chance."""
    found = results["recipes"][name]["calibration"]
    return [
        (f"{share(each['start'])}–{share(each['end'])}", str(each["n"]), share(each["chance"]), share(each["right"]))
        for each in (found["bins"] if found else ())
    ]


def changes(results: Json) -> list[tuple[str, ...]]:
    """Number of changes that are linked when they are written, and of other links."""
    return [
        (
            *(item["person"], str(item["changes"]), share(item["linked"]), share(item["likely"])),
            *(str(item["others"]), share(item["falsely_linked"]), share(item["falsely_likely"])),
        )
        for item in results["changes"]
    ]


def suites(results: Json) -> list[tuple[str, ...]]:
    """The figures of the small suites."""
    return [(item["suite"], item["figure"], str(item["n"]), share(item["value"])) for item in results["suites"]]


def notes(results: Json) -> Iterator[str]:
    """Notes for a reader of the figures."""
    lives, total = results["lives"], sum(results["categories"].values())
    counted = "1 life" if len(lives["names"]) == 1 else f"{len(lives['names'])} lives"
    part = f" ({lives['part']})" if lives["part"] else ""
    yield f"{counted}{part}, {total:,} questions, k = 10, embedder {results['embedder']}"
    yield (
        "cover: share found of what windows, lists, counts, dates and negations ask for; fresh: the newest statement "
        "above the older ones; never: never said, and recognised; refused: answerable, and wrongly refused; error: "
        "calibration error of the chances"
    )
    yield from results["notes"]


def markdown(results: Json) -> str:
    """All tables of a run as one page."""
    lines = ["# everyday", *markdown_sections(sections(results)), "", *(f"- {note}" for note in notes(results))]
    return "\n".join(lines) + "\n"


def sections(results: Json) -> Iterator[Section]:
    """Every table that has rows."""
    reference = results["reference"]
    yield Section("All answerable questions", "", "recipe", *overall(results))
    yield Section(f"{reference} by kind", f"{reference} by kind of question", "kind", *by_kind(results, reference))
    if len(results["recipes"]) > 1:
        yield Section("hit@1 by kind", "hit@1 by kind of question", "kind", *kinds_by_recipe(results))
    whole = f"hat each part of {results['ablation']['recipe']} is worth" if results["ablation"] else ""
    plain = "ver plain vectors, with 95 % confidence"
    for title, heading, columns, cells, left in (
        (f"O{plain}", f"o{plain}", DIFFERENCES, differences(results), 1),
        (f"Chances of {reference}", CHANCES.format(reference), BINS, reliability(results, reference), 0),
        ("Changes linked on writing", LINKED, CHANGES, changes(results), 0),
        ("Small suites", "small suites", SUITES, suites(results), 1),
        (f"W{whole}", f"w{whole}; above 0: it helps", WORTHS, ablation(results, WORTHS) if whole else [], 0),
    ):
        if cells:
            yield Section(title, heading, columns[0], columns[1:], plain_rows(cells), left)


def _best(column: str, values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    if len(there) < 2 or column in UNMARKED:
        return None
    return min(there) if column in LOW_IS_GOOD else max(there)


def _cell(value: float | None) -> str:
    return "–" if value is None else share(value)


BAR = 0.38
"""Height of a bar; two stand in the room of a kind."""


def draw(folder: Path, results: Json) -> None:
    """Draws every plot as a PNG file in `folder`; without chances there is no reliability diagram."""
    by_kind, reliable = EVERYDAY_PLOTS
    hits_by_kind(folder / by_kind, results)
    if any(each["calibration"] for each in results["recipes"].values()):
        draw_reliability(folder / reliable, results)


def hits_by_kind(path: Path, results: Json) -> None:
    """For each kind a bar of the reference and one of plain vectors; the other recipes are marks."""
    kinds = [kind for kind in results["categories"] if kind != NEVER]
    names = list(results["recipes"])
    barred = [name for name in (results["reference"], "dense") if name in names]
    figure, axes = page("First hit right, by kind of question", width=9.0, height=1.4 + 0.42 * len(kinds))
    looks = looks_of(names)
    for name in names:
        values = [results["recipes"][name]["by_category"][kind]["hit@1"] for kind in kinds]
        if name in barred:
            at = [row + (barred.index(name) - 0.5) * BAR for row in range(len(kinds))]
            axes.barh(at, values, BAR, color=looks[name]["color"], label=name)
        else:
            axes.plot(
                values, range(len(kinds)), looks[name]["marker"], color=looks[name]["color"], markersize=4, label=name
            )
    axes.set_yticks(range(len(kinds)), [f"{kind.replace('_', ' ')} ({results['categories'][kind]})" for kind in kinds])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1)
    axes.set_xlabel("hit@1")
    axes.grid(False, axis="y")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, path)


def draw_reliability(path: Path, results: Json) -> None:
    """A line for each recipe that gives chances: the share of right hits by the chance they were given."""
    figure, axes = page("Chances and truth, first five hits of each question", width=6.4, height=5.0)
    axes.plot([0, 1], [0, 1], color="#BBBBBB", linestyle="--", linewidth=1.0, label="true chances")
    looks = looks_of(list(results["recipes"]))
    for name, each in results["recipes"].items():
        if each["calibration"]:
            chances, right = zip(*((one["chance"], one["right"]) for one in each["calibration"]["bins"]), strict=True)
            label = f"{name}, error {each['calibration']['error']:.3f}"
            axes.plot(chances, right, label=label, markersize=5, **looks[name])
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("mean chance of the hits")
    axes.set_ylabel("share of them that is right")
    axes.legend(loc="upper left", frameon=False)
    save(figure, path)
