"""The result of a run of all engines: a row for each engine and size, and the comparison with fivefold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fivefold.values.serialize import Value
from fivefold_bench.plots import COLOURS, GREYS, INK, MARKERS, page, save
from fivefold_bench.results import PEER_PLOTS

TIMES_FASTER = 2.0
"""Minimum lead of fivefold over the fastest hybrid engine, at the same recall or a higher one."""

BAR_FROM = 10_000
"""The smallest size that has this bar."""

NUMBERS = ("memories", "write/s", "p50 ms", "p99 ms", "CPU ms", "R@10", "first s", "MB", "disk MB")
COLUMNS = ("engine", "search", *NUMBERS)


@dataclass(frozen=True, slots=True)
class PeerRow(Value):
    """One engine at one size. Figures that could not be measured are missing, and `note` says why."""

    engine: str
    search: str
    version: str
    work: str
    memories: int
    questions: int = 0
    write_per_s: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_ms: float | None = None
    """Median processor time of an answer, all threads together; a busy machine hardly changes it."""
    recall_at_10: float | None = None
    first_s: float | None = None
    """Seconds from opening the store in a new process to the first answer."""
    memory_mb: float | None = None
    """Resident memory of the process that answers, after its last answer."""
    disk_mb: float | None = None
    note: str = ""
    own: bool = field(default=False)


@dataclass(frozen=True, slots=True)
class Comparison(Value):
    """fivefold compared with the fastest hybrid engine at one size."""

    memories: int
    engine: str
    against: str
    times: float
    """Ratio of that engine's p50 to fivefold's."""
    recall_gain: float
    ok: bool | None
    """True if the bar is met; small sizes have none."""


@dataclass(frozen=True, slots=True)
class PeerReport(Value):
    """All rows of a run, and the machine they were measured on."""

    dataset: str
    embedder: str
    cores: int
    busy: float
    """Processes that wanted a core when the run began, on average over a minute."""
    rows: tuple[PeerRow, ...]
    comparisons: tuple[Comparison, ...]


def compare(rows: Sequence[PeerRow]) -> Iterator[Comparison]:
    """fivefold's hybrid rows against the fastest hybrid engine of each size."""
    for work in dict.fromkeys(row.work for row in rows):
        level = [row for row in rows if row.work == work and row.search == "hybrid" and row.p50_ms is not None]
        others = [row for row in level if not row.own]
        if not others:
            continue
        fastest = min(others, key=lambda row: row.p50_ms or 0)
        for row in (row for row in level if row.own):
            assert row.p50_ms is not None
            assert fastest.p50_ms is not None
            times = fastest.p50_ms / row.p50_ms
            gain = (row.recall_at_10 or 0) - (fastest.recall_at_10 or 0)
            ok = times >= TIMES_FASTER and gain >= 0 if row.memories >= BAR_FROM else None
            yield Comparison(row.memories, row.engine, fastest.engine, times, gain, ok)


def cells(row: PeerRow) -> tuple[str, ...]:
    """A row as text, in the order of the columns."""

    def number(value: float | None, digits: int) -> str:
        return "–" if value is None else f"{value:,.{digits}f}"

    work = row.work if row.work == f"{row.memories:,}" else f"{row.memories:,} {row.work}"
    times = (number(value, 1) for value in (row.p50_ms, row.p99_ms, row.cpu_ms))
    found = "–" if row.recall_at_10 is None else f"{row.recall_at_10:.3f}".lstrip("0")
    room = (number(row.first_s, 2), number(row.memory_mb, 0), number(row.disk_mb, 1))
    return named(row), row.search, work, number(row.write_per_s, 0), *times, found, *room


def named(row: PeerRow) -> str:
    """The engine, and the version of one that is not fivefold."""
    return row.engine if row.own else f"{row.engine} {row.version}"


def remarks(rows: Sequence[PeerRow]) -> list[str]:
    """Remarks on some rows: each note once, with the sizes that it is about if not all of its engine."""
    sizes: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.note:
            sizes.setdefault((named(row), row.note), []).append(row.work)
    count = Counter(map(named, rows))
    return [
        f"{engine if len(works) == count[engine] else ', '.join((engine, *works))}: {note}"
        for (engine, note), works in sizes.items()
    ]


def sentence(item: Comparison) -> str:
    """A comparison in words."""
    faster = f"is {item.times:.1f} times as fast as"
    slower = f"takes {1 / item.times:.1f} times as long as"
    verb = faster if item.times >= 1 else slower
    return f"{item.memories:,} memories: {item.engine} {verb} {item.against}, R@10 {item.recall_gain:+.3f}"


def markdown(report: PeerReport) -> str:
    """The table of a run for a page of documentation."""
    line = "| " + " | ".join("---:" if column in NUMBERS else "---" for column in COLUMNS) + " |"
    rows = ["| " + " | ".join(cells(row)) + " |" for row in report.rows]
    notes = [f"- {note}" for note in (*remarks(report.rows), *map(sentence, report.comparisons))]
    return "\n".join(["| " + " | ".join(COLUMNS) + " |", line, *rows, "", *notes]) + "\n"


# The plot of a run: how long an answer of each engine takes as the number of memories grows.


def draw_times(report: PeerReport, folder: Path) -> None:
    """The median time of each engine by size, both axes by powers of ten; fivefold in colour front, others thinner."""
    figure, axes = page(f"Median time of an answer, {report.dataset} and varied turns", width=8.4)
    sized = [row for row in report.rows if row.work == f"{row.memories:,}" and row.p50_ms is not None]
    for place, engine in enumerate(dict.fromkeys(row.engine for row in sized)):
        own = [row for row in sized if row.engine == engine]
        axes.plot(
            [row.memories for row in own],
            [row.p50_ms or 0 for row in own],
            label=engine,
            color=colour(place),
            marker=MARKERS[place % len(MARKERS)],
            linestyle="-" if own[0].search == "hybrid" else "--",  # a single kind of search is dashed
            linewidth=2.4 if own[0].own else 1.6,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("memories", color=INK)
    axes.set_ylabel("milliseconds, encoding of the question left out", color=INK)
    if sized:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, folder / PEER_PLOTS[0])


def colour(place: int) -> str:
    """The colours of the palette, then the greys."""
    return [*COLOURS, *GREYS][place % (len(COLOURS) + len(GREYS))]
