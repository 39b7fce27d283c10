"""`fivefold bench block`: whether the evidence is in the block that a prompt gets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fivefold.cli.app import JsonOption, print_json
from fivefold.cli.benchmark import EmbedderOption, LimitOption, whole_numbers
from fivefold.cli.options import with_groups

if TYPE_CHECKING:
    from fivefold.bench.block_report import BlockReport
    from fivefold.bench.data import Dataset

RecipesOption = Annotated[
    str | None,
    typer.Option(
        "--recipes",
        help="all (fivefold, dense, bm25, sessions), or some of these and names or TOML files of recipes, comma "
        "separated [default: all]",
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Folder for results, tables and the plot")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Draws the questions of --limit")]


@dataclass(frozen=True, slots=True)
class BlockOptions:
    """What runs, on how many questions of each dataset, and where its files go."""

    recipes: RecipesOption = None
    embedder: EmbedderOption = "fivefold-minilm"
    limit: LimitOption = None
    out: OutOption = None
    seed: SeedOption = None


@with_groups
def block(
    locomo: Annotated[Path | None, typer.Option("--locomo", help="LoCoMo's JSON file")] = None,
    longmemeval: Annotated[
        Path | None, typer.Option("--longmemeval", help="A JSON file of LongMemEval that marks turns by has_answer")
    ] = None,
    beam: Annotated[Path | None, typer.Option("--beam", help="A folder of BEAM's conversations")] = None,
    lives: Annotated[
        Literal["choose", "report", "all"] | None,
        typer.Option("--lives", help="Which shipped everyday lives [default: report, if no other data is named]"),
    ] = None,
    budgets: Annotated[str, typer.Option("--budgets", help="Tokens of the blocks, comma separated")] = (
        "300,600,1200,2500"
    ),
    *,
    options: BlockOptions,
    as_json: JsonOption = False,
) -> None:
    """Measure how often the evidence is in the block that a prompt gets, by the block's tokens."""
    sizes = whole_numbers(budgets, "--budgets")
    from fivefold.bench import beam as beam_data
    from fivefold.bench import locomo as locomo_data
    from fivefold.bench import longmemeval as longmemeval_data
    from fivefold.bench.benchmark import Options
    from fivefold.bench.block import run_blocks
    from fivefold.bench.everyday.lives import load_lives, shipped_lives

    loads: list[Callable[[], Dataset]] = []
    if locomo is not None:
        loads.append(partial(locomo_data.load, locomo))
    if longmemeval is not None:
        loads.append(partial(longmemeval_data.load, longmemeval, unit="turn"))
    if beam is not None:
        loads.append(partial(beam_data.load, beam))
    if lives is not None or not loads:
        part = lives or "report"
        loads.append(lambda: load_lives(shipped_lives(part)))
    report = run_blocks(loads, sizes, Options(**asdict(options)), progress=sys.stderr.isatty())
    if as_json:
        print_json(report.to_dict())
    else:
        _show(report, options.out)


def _show(report: BlockReport, out: Path | None) -> None:
    """A table for each dataset, then what to know about them, then where the files are."""
    from fivefold.bench.block_report import COLUMNS, table_rows, title
    from fivefold.cli import terminal
    from fivefold.cli.benchmark_view import figure_table

    for rows in report.by_dataset().values():
        terminal.line(title(rows), "bold")
        figure_table("recipe", COLUMNS, table_rows(rows), spared=frozenset())
        terminal.line("")
    for note in (f"embedder {report.embedder}", *report.notes):
        terminal.hang("", note, "dim")
    if out is not None:
        terminal.line(f"results, table and plot in {out}")
