"""`fivefold bench everyday`: how a person would judge the answers about their own life."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from fivefold.cli.app import JsonOption, print_json
from fivefold.cli.benchmark import AblateOption, EmbedderOption, JobsOption, RecipesOption, SetOption
from fivefold.cli.options import with_groups
from fivefold.cli.recipes import overrides_of

OutOption = Annotated[Path | None, typer.Option("--out", help="Folder for results, tables and plots")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Draws noise, and the lives and questions of intervals")]


@dataclass(frozen=True, slots=True)
class EverydayOptions:
    """What runs, and where its files go."""

    recipes: RecipesOption = None
    overrides: SetOption = None
    embedder: EmbedderOption = "fivefold-minilm"
    jobs: JobsOption = 1
    out: OutOption = None
    seed: SeedOption = None
    ablate: AblateOption = None


@with_groups
def everyday(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Lives of your own, a JSON file for each person [default: the shipped]")
    ] = None,
    lives: Annotated[
        Literal["choose", "report", "all"],
        typer.Option("--lives", help="Which shipped lives: those used to choose and fit, or those that only report"),
    ] = "report",
    changes: Annotated[
        bool,
        typer.Option("--changes/--no-changes", help="With shipped lives, also write changes and see which are linked"),
    ] = True,
    *,
    options: EverydayOptions,
    as_json: JsonOption = False,
) -> None:
    """Ask everyday lives: the present and the past state, windows, lists, and what was never said."""
    overrides = overrides_of(options.overrides)
    from fivefold.bench.benchmark import Options
    from fivefold.bench.everyday.benchmark import run_everyday

    settings = Options(**{**asdict(options), "overrides": overrides})
    results, written = run_everyday(files or [], lives, settings, changes and not files, progress=sys.stderr.isatty())
    if as_json:
        print_json(results)
        return
    from fivefold.cli.everyday_view import show_everyday

    show_everyday(results, options.out, written)
