"""The tables of a run, as rows for the terminal and as Markdown for a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fivefold.values.serialize import Json
from fivefold_bench.contestants import BASELINES
from fivefold_bench.scores import RELEVANCE

QUALITY = ("recall@5", "recall@10", "recall@20", "all@10", "hit@5", "precision@5", "ndcg@10", "mrr", RELEVANCE)
"""The columns of every table; further depths add their recall. Relevance is there if it was measured."""

FIVE_STAGE_MS = 28.0
"""From call to answer, as the five-stage document reports it (F7)."""

TIMES = ("p50", "p95")

REPORTED_METRICS = ("recall@10", "precision@5", RELEVANCE)
REPORTED = {
    "dense": ("  published, cosine alone", (0.38, 0.42, 0.19, 45.0)),
    "five-stage": ("  published, five stages", (0.88, 0.72, 0.716, FIVE_STAGE_MS)),
}
"""The figures that the five-stage document reports of cosine alone and of itself (F7); the last is milliseconds."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what it is about, its cells, and which of these are the best of their column."""

    name: str
    cells: tuple[str, ...]
    best: frozenset[int] = frozenset()
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A table under its title on a page and its heading in a terminal.

    With `left` it is plain, so many columns after the first to the left; else it holds figures, and some of them are
    spared if there is little room, unless it is `narrow`.
    """

    title: str
    heading: str
    first: str
    columns: Sequence[str]
    rows: Sequence[Row]
    left: int | None = None
    narrow: bool = False


def overall(results: Json) -> tuple[list[str], list[Row]]:
    """Quality and the middle and tail of recall times, a row for each recipe."""
    further = [f"recall@{k}" for k in results["k"] if k not in (5, 10, 20)]
    measured = set.intersection(*(set(each["overall"]) for each in results["recipes"].values()))
    metrics = [*QUALITY[:3], *further, *(name for name in QUALITY[3:] if name in measured)]
    values = {
        name: [*(each["overall"][metric] for metric in metrics), *(each["latency_ms"]["recall"][p] for p in TIMES)]
        for name, each in results["recipes"].items()
    }
    return [*metrics, *(f"{p} ms" for p in TIMES)], _rows(values, times=len(TIMES))


def reported(results: Json) -> tuple[list[str], list[Row]]:
    """The measures that only this benchmark has: those its authors report, under their names, and choices."""
    names = list(results["measures"])
    values = {name: [each["overall"][metric] for metric in names] for name, each in results["recipes"].items()}
    return names, _rows(values, times=0)


def five_stage(results: Json) -> tuple[list[str], list[Row]] | None:
    """The figures of the five-stage document, here and there (F7); None if one of the two did not run.

    From call to answer is the middle of the recalls and the middle of the encoding of a question.
    """
    ran = results["recipes"]
    if not set(REPORTED) <= set(ran) or any(RELEVANCE not in ran[name]["overall"] for name in REPORTED):
        return None
    rows = []
    for name, (title, published) in REPORTED.items():
        quality, latency = ran[name]["overall"], ran[name]["latency_ms"]
        whole = latency["recall"]["p50"] + latency["encode"]["p50"]
        here, there = (
            [*map(share, shares)] for shares in ((quality[each] for each in REPORTED_METRICS), published[:3])
        )
        rows += [Row(name, (*here, f"{whole:.1f}")), Row(title, (*there, f"{published[3]:.1f}"), baseline=True)]
    return [*REPORTED_METRICS, "whole ms"], rows


def categories(results: Json) -> tuple[list[str], list[Row]]:
    """Recall@10 for each category, with its number of questions in the heading."""
    kinds = list(results["categories"])
    values = {
        name: [each["by_category"][kind]["recall@10"] for kind in kinds] for name, each in results["recipes"].items()
    }
    return [f"{kind} ({results['categories'][kind]})" for kind in kinds], _rows(values, times=0)


def significance(results: Json) -> list[tuple[str, ...]]:
    return [
        (
            *(item[name] for name in ("recipe", "against", "metric")),
            *(signed(item["difference"]), str(item["better"]), str(item["worse"])),
            *(p_text(item["p"]), p_text(item["p_holm"])),
        )
        for item in results["significance"]
    ]


COMPARED = ("recipe", "against", "metric", "difference", "better", "worse", "p", "p Holm")
WORTHS = ("part", "recall@5", "recall@10", "ndcg@10", "better", "worse", "p")


def ablation(results: Json, worths: Sequence[str] = WORTHS) -> list[tuple[str, ...]]:
    """The gain from each part; one the recipe cannot do without has no figures."""
    return [
        (
            item["part"],
            *(signed(item["worth"][metric]) for metric in worths[1:4]),
            *(str(item["better"]), str(item["worse"]), p_text(item["p"])),
        )
        if item["p"] is not None
        else (item["part"], *["–"] * 6)
        for item in results["ablation"]["parts"]
    ]


def notes(results: Json) -> Iterator[str]:
    """Notes for a reader of the figures."""
    total = sum(results["categories"].values())
    encode = max(each["latency_ms"]["encode"]["p50"] for each in results["recipes"].values())
    yield (
        f"{results['dataset']}, {total:,} {'question' if total == 1 else 'questions'}, scored by {results['unit']}"
        f"{' and by session' if results['by_session'] else ''}, embedder {results['embedder']}"
    )
    took = f", which takes {encode:.1f} ms (p50)" if encode else ""
    yield f"Times are of a recall without the encoding of its question{took}."
    if compared := five_stage(results):
        whole = float(compared[1][2].cells[-1])
        bar = "within" if whole <= FIVE_STAGE_MS else "above"
        yield (
            f"five-stage takes {whole:.1f} ms from call to answer, {bar} the published {FIVE_STAGE_MS:g} ms; "
            "the published recall, precision and relevance are of other data and another judge."
        )
    yield from results["notes"]


def sections(results: Json) -> Iterator[Section]:
    """Every table of a run that has rows."""
    yield Section("", "", "recipe", *overall(results))
    if results["measures"]:
        name = "easures of this benchmark alone"
        yield Section(f"M{name}", f"m{name}", "recipe", *reported(results))
    if compared := five_stage(results):
        name = "s the five-stage document measures"
        yield Section(f"A{name}", f"a{name} (F7)", "recipe", *compared, narrow=True)
    if len(results["categories"]) > 1:
        yield Section("Recall@10 by category", "recall@10 by category", "recipe", *categories(results))
    if results["significance"]:
        heading = "paired randomisation tests; difference above 0: the recipe is better"
        rows = plain_rows(significance(results))
        yield Section("Paired randomisation tests", heading, COMPARED[0], COMPARED[1:], rows, left=2)
    if results["ablation"]:
        name = f"hat each part of {results['ablation']['recipe']} is worth"
        rows = plain_rows(ablation(results))
        yield Section(f"W{name}", f"w{name}; above 0: it helps", WORTHS[0], WORTHS[1:], rows, left=0)


def plain_rows(cells: Iterable[tuple[str, ...]]) -> list[Row]:
    return [Row(each[0], each[1:]) for each in cells]


def markdown(results: Json) -> str:
    """All tables of a run as one page."""
    lines = []
    for part, unit in ((results, results["unit"]), (results["by_session"], "session")):
        if part:
            lines += ["", f"# {results['dataset']}, by {unit}", *markdown_sections(sections(part))]
    return "\n".join([*lines[1:], "", *(f"- {note}" for note in notes(results))]) + "\n"


def markdown_sections(tables: Iterable[Section]) -> Iterator[str]:
    for table in tables:
        yield from ("", f"## {table.title}") if table.title else ()
        yield from ("", *markdown_table((table.first, *table.columns), table.rows))


def markdown_table(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """The lines of one table, the best of each column in bold."""
    yield "| " + " | ".join(columns) + " |"
    yield "|---|" + "---:|" * (len(columns) - 1)
    for row in rows:
        cells = [f"**{cell}**" if place in row.best else cell for place, cell in enumerate(row.cells)]
        yield "| " + " | ".join((row.name.replace("|", "\\|"), *cells)) + " |"


def _rows(values: dict[str, list[float]], times: int) -> list[Row]:
    """Rows with the best of each column marked, except in the columns of times: speed without quality is not a
    merit."""
    contested = len(next(iter(values.values()), [])) - times
    best = [max(row[place] for row in values.values()) for place in range(contested)]
    return [
        Row(
            name,
            tuple(share(value) if place < contested else f"{value:.1f}" for place, value in enumerate(row)),
            frozenset(place for place in range(contested) if row[place] >= best[place] and len(values) > 1),
            name in BASELINES,
        )
        for name, row in values.items()
    ]


def share(value: float) -> str:
    """A value from 0 to 1 as .612."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1.000"


def signed(value: float) -> str:
    digits = f"{abs(value):.3f}".removeprefix("0")
    return f"{'+' if value > 0 else '−'}{digits}" if digits != ".000" else digits


def p_text(p: float) -> str:
    return "< .001" if p < 0.001 else share(p)
