"""How a run over everyday lives looks in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fivefold.bench.everyday import tables
from fivefold.cli import terminal
from fivefold.cli.benchmark_view import figure_table
from fivefold.values.serialize import Json


def show_everyday(results: Json, out: Path | None, files: Sequence[Path]) -> None:
    """All tables, then what to know about them, then where the files are."""
    reference = results["reference"]
    figure_table("recipe", *tables.overall(results))
    _title(f"{reference} by kind of question")
    figure_table("kind", *tables.by_kind(results, reference))
    if len(results["recipes"]) > 1:
        _title("hit@1 by kind of question")
        figure_table("kind", *tables.kinds_by_recipe(results))
    if results["differences"]:
        _title("over plain vectors, with 95 % confidence")
        terminal.table(tables.DIFFERENCES, tables.differences(results), right=tables.DIFFERENCES[2:])
    if results["recipes"][reference]["calibration"]:
        _title(f"chances of {reference}: how often hits with such a chance are right")
        terminal.table(tables.BINS, tables.reliability(results, reference), right=tables.BINS[1:])
    if results["changes"]:
        _title("changes linked when they are written, in the first and in the third person")
        terminal.table(tables.CHANGES, tables.changes(results), right=tables.CHANGES[1:])
    if results["ablation"]:
        _title(f"what each part of {results['ablation']['recipe']} is worth; above 0: it helps")
        terminal.table(tables.WORTHS, tables.ablation(results), right=tables.WORTHS[1:])
    terminal.line("")
    for note in tables.notes(results):
        terminal.hang("", note, "dim")
    if out is not None:
        terminal.line(f"{terminal.counted(len(files), 'file', 'files')} in {out}")


def _title(text: str) -> None:
    terminal.line("")
    terminal.line(text, "bold")
