"""`fivefold bench peers`: fivefold next to other engines, all with the same memories and vectors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, print_json, say
from fivefold.cli.bench import bench, counts_of

if TYPE_CHECKING:
    from fivefold.bench.peers.report import PeerReport

MARKS = {True: "✓", False: "✗", None: " "}


@bench.command()
def peers(
    locomo: Annotated[
        Path | None, typer.Option("--locomo", help="LoCoMo's JSON file [default: the shipped sample year]")
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="Memories in a collection, comma separated; may be empty")
    ] = "1000,10000,100000",
    engines: Annotated[
        str, typer.Option("--peers", help="all, none, or some of lancedb, chroma, txtai, mem0, haystack")
    ] = "all",
    questions: Annotated[int, typer.Option(min=1, help="Questions asked at each size")] = 200,
    seconds: Annotated[float, typer.Option(min=1, help="Time that each engine has to write, and to answer")] = 120.0,
    environments: Annotated[
        Path | None,
        typer.Option("--environments", help="Folder where installed engines stay [default: deleted afterwards]"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for results, table and plot")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare fivefold with LanceDB, Chroma, txtai, mem0 and Haystack, each installed for the run by pip."""
    from fivefold.bench.peers.run import run_peers

    counts = counts_of(sizes) if sizes.strip() else ()
    report = run_peers(locomo, counts, engines, questions, seconds, environments, out, sys.stderr.isatty())
    if as_json:
        print_json(report.to_dict())
    else:
        _show(report, out)


def _show(report: PeerReport, out: Path | None) -> None:
    from fivefold.bench.peers.report import COLUMNS, NUMBERS, cells, sentence
    from fivefold.cli import terminal

    terminal.table(COLUMNS, [cells(row) for row in report.rows], right=NUMBERS)
    terminal.line("")
    for item in report.comparisons:
        say(f"{MARKS[item.ok]} {sentence(item)}")
    say(f"{report.cores} cores; {report.busy:g} processes wanted one when the run began")
    if out is not None:
        say(f"results, table and plot in {out}")
