"""The plot of a run: how long an answer of each engine takes as the number of memories grows."""

from __future__ import annotations

from pathlib import Path

from fivefold.bench.peers.report import PeerReport, PeerRow
from fivefold.bench.plots import COLOURS, GREYS, INK, MARKERS, page, save
from fivefold.bench.result_folder import PEER_PLOTS


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
            linestyle=_line(own[0]),
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


def _line(row: PeerRow) -> str:
    """Hybrid search is a whole line, a single kind of search a dashed one."""
    return "-" if row.search == "hybrid" else "--"
