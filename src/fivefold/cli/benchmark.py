"""The benchmarks of `fivefold bench` that compare recipes, and `diff`, which compares two runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from fivefold.cli.app import JsonOption, print_json
from fivefold.cli.options import with_groups
from fivefold.cli.recipes import overrides_of
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.bench.data import Dataset

RecipesOption = Annotated[
    str | None,
    typer.Option(
        "--recipes",
        help="all, or names and paths of TOML files, comma separated; dense and bm25 are the plain baselines, "
        "recipe:dense the engine's recipe of that name [default: all]",
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="KEY=VALUE, such as fusion.k=30, for every recipe; repeatable")
]
KsOption = Annotated[str, typer.Option("--k", help="Depths to score at, comma separated")]
UnitOption = Annotated[
    Literal["turn", "session"] | None,
    typer.Option("--unit", help="What counts as found [default: as the data says; LongMemEval and BEAM: both]"),
]
EmbedderOption = Annotated[
    str, typer.Option("--embedder", help="fivefold-minilm, minilm, wordllama, fastembed:NAME, openai:MODEL, …")
]
LimitOption = Annotated[int | None, typer.Option("--limit", help="How many questions to ask [default: all]")]
JobsOption = Annotated[int, typer.Option("--jobs", help="Processes that ask side by side")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Folder for results, tables, plots and TREC files")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Draws the questions of --limit, and feeds the tests")]
TestOption = Annotated[bool, typer.Option("--significance", help="Test every recipe against default, or the best")]
RelevanceOption = Annotated[
    bool, typer.Option("--relevance/--no-relevance", help="Have the cross-encoder judge the first five hits")
]
AblateOption = Annotated[
    str | None, typer.Option("--ablate", help="Drop each part of this recipe in turn; alone it means default")
]


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """What runs, on how many questions, and how it is scored."""

    recipes: RecipesOption = None
    overrides: SetOption = None
    ks: KsOption = "5,10,20"
    unit: UnitOption = None
    embedder: EmbedderOption = "fivefold-minilm"
    limit: LimitOption = None
    jobs: JobsOption = 1
    out: OutOption = None
    seed: SeedOption = None
    significance: TestOption = False
    relevance: RelevanceOption = True
    ablate: AblateOption = None


class OptionalAblate(TyperCommand):
    """`--ablate` may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_default(args)))


def _with_default(args: Sequence[str]) -> list[str]:
    given: list[str] = []
    for place, arg in enumerate(args):
        alone = arg == "--ablate" and (place + 1 == len(args) or args[place + 1].startswith("-"))
        given += [arg, "default"] if alone else [arg]
    return given


@with_groups
def locomo(
    file: Annotated[Path, typer.Argument(help="LoCoMo's JSON file")],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on LoCoMo: long talks, questions answered by single turns."""

    def load() -> Dataset:
        from fivefold.bench.locomo import load

        return load(file)

    _run(load, options, as_json)


@with_groups
def longmemeval(
    file: Annotated[Path, typer.Argument(help="A JSON file of LongMemEval, oracle or S, plain, .gz or .xz")],
    pool: Annotated[
        bool | None,
        typer.Option(
            "--pool/--no-pool",
            help="All sessions in one namespace, or one for each question [default: pooled if there is only evidence]",
        ),
    ] = None,
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on LongMemEval: sessions with an assistant, scored by turn and by session."""

    def load() -> Dataset:
        from fivefold.bench.longmemeval import load

        return load(file, pool, options.unit)

    _run(load, options, as_json)


@with_groups
def beam(
    folder: Annotated[
        Path, typer.Argument(help="A folder of BEAM's conversations, or of memories and queries as lines")
    ],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on BEAM: very long talks with an assistant, scored by turn and by session."""

    def load() -> Dataset:
        from fivefold.bench.beam import load

        return load(folder)

    _run(load, options, as_json)


@with_groups
def personamem(
    file: Annotated[Path, typer.Argument(help="PersonaMem's questions_SIZE.csv, its shared_contexts next to it")],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on PersonaMem: changing tastes, the session of the last mention, and offered answers."""

    def load() -> Dataset:
        from fivefold.bench.personamem import load

        return load(file)

    _run(load, options, as_json)


@with_groups
def jsonl(
    folder: Annotated[Path, typer.Argument(help="The folder with memories.jsonl and queries.jsonl")],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on data of your own, as JSON lines."""

    def load() -> Dataset:
        from fivefold.bench.jsonl import load

        try:
            return load(folder, options.unit)
        except InvalidInput:
            return load(folder)  # gold that names turns can be counted by session; other faults are told again

    _run(load, options, as_json)


def diff(
    a: Annotated[Path, typer.Argument(help="results.json of a run run with --out")],
    b: Annotated[Path | None, typer.Argument(help="results.json of another [default: the same]")] = None,
    recipes: Annotated[
        str | None, typer.Option("--recipes", help="X in both, or X,Y: X of the first, Y of the second")
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="What is compared")] = "recall@10",
    limit: Annotated[int, typer.Option("--limit", help="Questions shown, worst losses first")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show question by question what changed between two runs, with both explanations."""
    if limit < 1:
        raise InvalidInput(f"must be at least 1, not {limit}", field="limit")
    from fivefold.bench.diff import diff as compared

    found = compared(a, b or a, recipes, metric)
    if as_json:
        print_json(found.to_dict())
    else:
        from fivefold.cli.benchmark_view import show_diff

        show_diff(found, limit)


def _run(load: Callable[[], Dataset], options: BenchmarkOptions, as_json: bool) -> None:
    depths, overrides = whole_numbers(options.ks, "--k"), overrides_of(options.overrides)
    from fivefold.bench.benchmark import Options, run_benchmark

    settings = Options(**{**asdict(options), "ks": depths, "overrides": overrides})
    results, files = run_benchmark(load, settings, progress=sys.stderr.isatty())
    if as_json:
        print_json(results)
        return
    from fivefold.cli.benchmark_view import show_results

    show_results(results, options.out, files)


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers that an option lists, in order and each once."""
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise InvalidInput(f"{option} takes whole numbers separated by commas, not {text!r}") from None
