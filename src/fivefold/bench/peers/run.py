"""A whole run: the data, the engines, the report, and its files."""

from __future__ import annotations

from pathlib import Path

from fivefold.bench.locomo import load
from fivefold.bench.peers.contest import Contest, run_contest
from fivefold.bench.peers.entrants import entrants_for
from fivefold.bench.peers.plots import draw_times
from fivefold.bench.peers.report import PeerReport, markdown
from fivefold.bench.peers.work import sample_dataset
from fivefold.bench.plots import require_plots
from fivefold.bench.result_folder import TABLE, check_folder, fill_folder


def run_peers(
    locomo: Path | None,
    sizes: tuple[int, ...],
    peers: str = "all",
    questions: int = 200,
    seconds: float = 120.0,
    environments: Path | None = None,
    out: Path | None = None,
    progress: bool = False,
) -> PeerReport:
    """Compare on LoCoMo's file, or on the sample without one; what is wrong is said before anything is installed."""
    entrants = entrants_for(peers)
    if out is not None:
        require_plots()
        check_folder(out)
    dataset = sample_dataset() if locomo is None else load(locomo)
    place = environments.absolute() if environments else None
    report = run_contest(Contest(sizes, questions, seconds, place), entrants, dataset, progress)
    if out is not None:
        fill_folder(out, lambda folder: write_files(report, folder), report.to_dict())
    return report


def write_files(report: PeerReport, folder: Path) -> None:
    (folder / TABLE).write_text(markdown(report), "utf-8")
    draw_times(report, folder)
