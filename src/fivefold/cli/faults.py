"""`fivefold bench faults`: processes that are killed, and disks that fail, while a store is written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, print_json, say
from fivefold.cli.bench import bench

if TYPE_CHECKING:
    from fivefold.bench.faults.report import FaultReport, OperationFaults


@bench.command()
def faults(
    kills: Annotated[int, typer.Option(min=0, help="Kills in all, shared by the operations")] = 500,
    failures: Annotated[
        int, typer.Option(min=0, help="Failures of a disk in all: an error, no room, or a loss of power")
    ] = 500,
    seed: Annotated[int, typer.Option(help="Chooses the times of the kills and the kinds of the failures")] = 0,
    dsn: Annotated[
        str | None, typer.Option(help="A PostgreSQL server to copy to as well, in schemas that are dropped at the end")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Kill processes and let disks fail while stores are written; what was acknowledged must be there, and whole."""
    from fivefold.bench.faults.run import run_faults

    result = run_faults(kills, failures, seed, dsn, progress=sys.stderr.isatty())
    if as_json:
        print_json({**result.to_dict(), "ok": result.ok})
    else:
        _show(result)
    if not result.ok:
        raise typer.Exit(1)


def _show(result: FaultReport) -> None:
    from fivefold.cli import terminal

    numbers = ("kills", "failures", "acknowledged", "cut off", "lost", "half-written", "doctor clean")
    rows = [
        (row.operation, *(f"{count:,}" for count in _counts(row)), "✓" if row.ok else "✗")
        for row in (*result.operations, result.total)
    ]
    terminal.table(("operation", *numbers, ""), rows, right=numbers)
    terminal.line("")
    total = result.total
    say(f"{total.kills:,} kills and {total.failures:,} failures in {result.seconds:,.0f} s, seed {result.seed}")
    for problem in result.total.problems:
        sys.stderr.write(f"✗ {problem}\n")


def _counts(row: OperationFaults) -> tuple[int, ...]:
    return row.kills, row.failures, row.acknowledged, row.cut_off, row.lost, row.half_written, row.clean
