"""The commands that this package adds to `fivefold`: `bench` with what it measures, and `recipes verify`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from fivefold.cli.app import JsonOption
from fivefold.cli.output import print_json
from fivefold.cli.recipes import overrides_of
from fivefold.cli.write import EmbedderOption as OwnEmbedderOption
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold_bench.data import Dataset
    from fivefold_bench.measures import Measure

bench = typer.Typer(help="Measure fivefold on this machine.", no_args_is_help=True, rich_markup_mode=None)

HELD_FROM = 1_000
"""From this many memories on a figure has a bar; below, fixed costs dominate."""

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
    typer.Option(
        "--unit", help="The unit that counts as found [default: as the data says; LongMemEval and BEAM: both]"
    ),
]
EmbedderOption = Annotated[
    str, typer.Option("--embedder", help="fivefold-minilm, minilm, wordllama, fastembed:NAME, openai:MODEL, …")
]
LimitOption = Annotated[int | None, typer.Option("--limit", help="Number of questions to ask [default: all]")]
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


def _tell(as_json: bool, data: object, show: Callable[[Any], None]) -> None:
    """As JSON, or in the terminal by a function of the module for that."""
    if as_json:
        print_json(data)
    else:
        show(import_module("fivefold_bench.views"))


@bench.callback()
def _bench() -> None:
    """Measure fivefold on this machine."""


@bench.command()
def speed(
    sizes: Annotated[str, typer.Option(help="Memories in the namespace, comma separated")] = "1000,10000,100000",
    rounds: Annotated[int, typer.Option(help="Recalls measured at each size")] = 200,
    dsn: Annotated[
        str | None, typer.Option(help="Measure a PostgreSQL server instead, in a schema of its own, dropped afterwards")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw recall times by memories into this file, .svg or .png")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure writes per second, recall times and bytes per memory, compared with plain sqlite-vec or pgvector."""
    counts = counts_of(sizes)
    if rounds < 1:
        raise InvalidInput("sizes and rounds must be at least 1")
    if plot is not None:
        from fivefold_bench.plots import require_plot

        require_plot(plot)
    found = _measure(dsn, counts, rounds)
    _tell(as_json, [item.to_dict() for item in found], lambda views: views.show_measures(found))
    if plot is not None:
        from fivefold_bench.plots import draw_recall_times

        draw_recall_times(plot, found, "SQLite" if dsn is None else "PostgreSQL")


def _measure(dsn: str | None, counts: tuple[int, ...], rounds: int) -> list[Measure]:
    """All figures of a new file or of a server, and what follows from them for ten million memories."""
    from fivefold_bench.measures import extrapolate

    progress = sys.stderr.isatty()
    if dsn is None:
        from fivefold_bench.speed import measure

        measured = measure(counts, rounds, progress)
    else:
        from fivefold_bench.server import measure_server

        measured = measure_server(dsn, counts, rounds, progress)
    found = [_held(item, max(counts)) for item in measured]
    return [*found, *extrapolate(found)]


@bench.command()
def hooks(
    memories: Annotated[int, typer.Option(min=1, help="Memories in the namespace")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of each agent")] = 60,
    as_json: JsonOption = False,
) -> None:
    """Measure what the hooks of coding agents add to a turn: middle and tail of each hook's time."""
    from fivefold_bench.hooks import measure_hooks

    found = measure_hooks(memories, rounds, sys.stderr.isatty())
    _tell(as_json, [item.to_dict() for item in found], lambda views: views.show_measures(found))


def counts_of(sizes: str) -> tuple[int, ...]:
    """Numbers of memories, separated by commas."""
    try:
        counts = tuple(int(part.replace("_", "")) for part in sizes.split(","))
    except ValueError:
        raise InvalidInput(f"sizes must be whole numbers separated by commas, not {sizes!r}") from None
    if min(counts) < 1:
        raise InvalidInput("sizes and rounds must be at least 1")
    return counts


def _held(item: Measure, largest: int) -> Measure:
    """A measure without memories, such as a model's, is held to its bar if any size has one."""
    return replace(item, bar="", ok=None) if (item.memories or largest) < HELD_FROM else item


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """Options for the recipes, the number of questions, and the scores."""

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
        given: list[str] = []
        for place, arg in enumerate(args):
            alone = arg == "--ablate" and (place + 1 == len(args) or args[place + 1].startswith("-"))
            given += [arg, "default"] if alone else [arg]
        return super().parse_args(ctx, given)


EverydayOutOption = Annotated[Path | None, typer.Option("--out", help="Folder for results, tables and plots")]
EverydaySeedOption = Annotated[
    int | None, typer.Option("--seed", help="Draws noise, and the lives and questions of intervals")
]


@dataclass(frozen=True, slots=True)
class EverydayOptions:
    """Options for the recipes, and the folder of the files."""

    recipes: RecipesOption = None
    overrides: SetOption = None
    embedder: EmbedderOption = "fivefold-minilm"
    jobs: JobsOption = 1
    out: EverydayOutOption = None
    seed: EverydaySeedOption = None
    ablate: AblateOption = None


@bench.command(cls=OptionalAblate)
def everyday(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Lives of your own, a JSON file for each person [default: the shipped]")
    ] = None,
    lives: Annotated[
        Literal["choose", "report", "all"],
        typer.Option("--lives", help="Shipped lives: those used to choose and fit, or those that only report"),
    ] = "report",
    changes: Annotated[
        bool,
        typer.Option("--changes/--no-changes", help="With shipped lives, also write changes and see which are linked"),
    ] = True,
    suites: Annotated[
        str | None, typer.Option("--suites", help="Small suites to score as well: names with commas, or all")
    ] = None,
    *,
    options: EverydayOptions,
    as_json: JsonOption = False,
) -> None:
    """Ask everyday lives: the present and the past state, windows, lists, and what was never said."""
    overrides = overrides_of(options.overrides)
    from fivefold_bench.benchmark import Options
    from fivefold_bench.everyday import run_everyday

    settings = Options(**{**asdict(options), "overrides": overrides})
    results, written = run_everyday(files or [], lives, settings, changes and not files, sys.stderr.isatty(), suites)
    _tell(as_json, results, lambda views: views.show_everyday(results, options.out, written))


@bench.command(cls=OptionalAblate)
def locomo(
    file: Annotated[Path, typer.Argument(help="LoCoMo's JSON file")],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on LoCoMo: long talks, questions answered by single turns."""
    from fivefold_bench import locomo as data

    _run(lambda: data.load(file), options, as_json)


@bench.command(cls=OptionalAblate)
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
    from fivefold_bench import longmemeval as data

    _run(lambda: data.load(file, pool, options.unit), options, as_json)


@bench.command(cls=OptionalAblate)
def beam(
    folder: Annotated[
        Path, typer.Argument(help="A folder of BEAM's conversations, or of memories and queries as lines")
    ],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on BEAM: very long talks with an assistant, scored by turn and by session."""
    from fivefold_bench import beam as data

    _run(lambda: data.load(folder), options, as_json)


@bench.command(cls=OptionalAblate)
def personamem(
    file: Annotated[Path, typer.Argument(help="PersonaMem's questions_SIZE.csv, its shared_contexts next to it")],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on PersonaMem: changing tastes, the session of the last mention, and offered answers."""
    from fivefold_bench import personamem as data

    _run(lambda: data.load(file), options, as_json)


@bench.command(cls=OptionalAblate)
def jsonl(
    folder: Annotated[Path, typer.Argument(help="The folder with memories.jsonl and queries.jsonl")],
    *,
    options: BenchmarkOptions,
    as_json: JsonOption = False,
) -> None:
    """Compare recipes on data of your own, as JSON lines."""

    from fivefold_bench import jsonl as data

    def load() -> Dataset:
        try:
            return data.load(folder, options.unit)
        except InvalidInput:
            return data.load(folder)  # gold that names turns can be counted by session; other faults are told again

    _run(load, options, as_json)


def _run(load: Callable[[], Dataset], options: BenchmarkOptions, as_json: bool) -> None:
    depths, overrides = whole_numbers(options.ks, "--k"), overrides_of(options.overrides)
    from fivefold_bench.benchmark import Options, run_benchmark

    settings = Options(**{**asdict(options), "ks": depths, "overrides": overrides})
    results, files = run_benchmark(load, settings, progress=sys.stderr.isatty())
    _tell(as_json, results, lambda views: views.show_results(results, options.out, files))


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers that an option lists, in order and each once."""
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise InvalidInput(f"{option} takes whole numbers separated by commas, not {text!r}") from None


BlockRecipesOption = Annotated[
    str | None,
    typer.Option(
        "--recipes",
        help="all (fivefold, facts, dense, bm25, sessions), or some of these and names or TOML files of recipes, comma "
        "separated [default: all]",
    ),
]
BlockOutOption = Annotated[Path | None, typer.Option("--out", help="Folder for results, tables and the plot")]
BlockSeedOption = Annotated[int | None, typer.Option("--seed", help="Draws the questions of --limit")]


@dataclass(frozen=True, slots=True)
class BlockOptions:
    """Options for the recipes, the number of questions of each dataset, and the folder of the files."""

    recipes: BlockRecipesOption = None
    embedder: EmbedderOption = "fivefold-minilm"
    limit: LimitOption = None
    out: BlockOutOption = None
    seed: BlockSeedOption = None


@bench.command()
def block(
    locomo: Annotated[Path | None, typer.Option("--locomo", help="LoCoMo's JSON file")] = None,
    longmemeval: Annotated[
        Path | None, typer.Option("--longmemeval", help="A JSON file of LongMemEval that marks turns by has_answer")
    ] = None,
    beam: Annotated[Path | None, typer.Option("--beam", help="A folder of BEAM's conversations")] = None,
    lives: Annotated[
        Literal["choose", "report", "all"] | None,
        typer.Option("--lives", help="Shipped everyday lives [default: report, if no other data is named]"),
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
    from fivefold_bench import beam as beam_data
    from fivefold_bench import locomo as locomo_data
    from fivefold_bench import longmemeval as longmemeval_data
    from fivefold_bench.benchmark import Options
    from fivefold_bench.block import run_blocks
    from fivefold_bench.everyday import load_lives, shipped_lives

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
    _tell(as_json, report.to_dict(), lambda views: views.show_blocks(report, options.out))


@bench.command()
def qa(
    file: Annotated[Path, typer.Argument(help="A JSON file of LoCoMo or LongMemEval with the expected answers")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the answers; the same folder goes on with a run")],
    model: Annotated[str, typer.Option("--model", help="Answers, at OPENAI_BASE_URL with OPENAI_API_KEY")],
    judge: Annotated[str | None, typer.Option("--judge", help="Judges the answers [default: the same model]")] = None,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens of each block")] = 2_500,
    limit: LimitOption = None,
    seed: SeedOption = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Questions that are asked side by side")] = 4,
    yes: Annotated[bool, typer.Option("--yes", help="Begin without asking, whatever it costs")] = False,
    as_json: JsonOption = False,
) -> None:
    """Have your own model answer questions from the engine's blocks, and judge the answers: accuracy by kind."""
    from fivefold_bench.qa import Cost, QaOptions, run_qa

    def agree(cost: Cost) -> bool:
        typer.echo(
            f"{cost.questions:,} questions: {cost.calls:,} calls, about {cost.prompt_tokens:,} tokens of prompts and "
            f"{cost.answer_tokens:,} of answers",
            err=True,
        )
        return yes or typer.confirm("Ask them?", err=True)

    options = QaOptions(model, judge or model, budget, limit, seed)
    report = run_qa(file, out, options, jobs, agree, progress=sys.stderr.isatty())
    if report is None:
        raise typer.Exit(1)
    _tell(as_json, report.to_dict(), lambda views: views.show_qa(report, out))


@bench.command()
def profile(
    lives: Annotated[
        str, typer.Option("--lives", help="Shipped everyday lives: choose, report, all, or the name of one")
    ] = "report",
    budget: Annotated[int, typer.Option("--budget", help="Tokens of a profile")] = 600,
    embedder: EmbedderOption = "fivefold-minilm",
    as_json: JsonOption = False,
) -> None:
    """Measure profiles, agendas and histories against lists of what is known, written from the everyday lives."""
    from fivefold_bench.profile import run_profiles

    report = run_profiles(lives, budget, embedder, progress=sys.stderr.isatty())
    _tell(as_json, report.to_dict(), lambda views: views.show_profiles(report))


@bench.command()
def diff(
    a: Annotated[Path, typer.Argument(help="results.json of a run run with --out")],
    b: Annotated[Path | None, typer.Argument(help="results.json of another [default: the same]")] = None,
    recipes: Annotated[
        str | None, typer.Option("--recipes", help="X in both, or X,Y: X of the first, Y of the second")
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="The metric that is compared")] = "recall@10",
    limit: Annotated[int, typer.Option("--limit", help="Questions shown, worst losses first")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show question by question what changed between two runs, with both explanations."""
    if limit < 1:
        raise InvalidInput(f"must be at least 1, not {limit}", field="limit")
    from fivefold_bench.diff import diff as compared

    found = compared(a, b or a, recipes, metric)
    _tell(as_json, found.to_dict(), lambda views: views.show_diff(found, limit))


@bench.command()
def load(
    clients: Annotated[int, typer.Option(min=1, max=256, help="Clients at once, each a process")] = 8,
    seconds: Annotated[float, typer.Option(min=0.5, help="Seconds for which they ask and write")] = 60.0,
    mix: Annotated[
        str | None,
        typer.Option(help="Shares of recall, context, used, add, batch, get, list and forget, as in recall=6,add=3"),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A server that is running, instead of one of its own [key: env FIVEFOLD_KEY]")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="A store for the server, instead of a new file; what is written stays in it")
    ] = None,
    embedder: OwnEmbedderOption = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes of the server; with more than one, one alone comes first")
    ] = 1,
    recipe: Annotated[str, typer.Option(help="Recipe of the recalls")] = "default",
    effort: Annotated[Literal["low", "normal", "high"], typer.Option(help="Effort of the recalls")] = "normal",
    as_json: JsonOption = False,
) -> None:
    """Put clients on a server that read and write at once; times, errors, and whether a confirmed write was lost."""
    from fivefold_bench.load import Load, run_load
    from fivefold_bench.load_client import MIX, mix_of

    if url is not None and (store is not None or embedder is not None):
        raise InvalidInput("a server that is running has its own store and embedder; leave --store and --embedder out")
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidInput(f"--url takes an address such as http://127.0.0.1:8484, not {url!r}")
    shares = MIX if mix is None else mix_of(mix)
    if url is not None and workers > 1:
        raise InvalidInput("a server that is running has its own workers; leave --workers out")
    key = os.environ.get("FIVEFOLD_KEY") if url else None
    request = Load(clients, seconds, shares, url, key, store, embedder, workers, recipe, effort)
    result = run_load(request, progress=sys.stderr.isatty())
    _tell(as_json, result.to_dict(), lambda views: views.show_load(result))
    if not result.ok:
        raise typer.Exit(1)


@bench.command("async")
def async_tasks(
    tasks: Annotated[int, typer.Option(min=1, max=10_000, help="Tasks at once")] = 200,
    seconds: Annotated[float, typer.Option(min=0.5, help="Seconds for which they ask and write")] = 60.0,
    embedder: OwnEmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let many tasks of one event loop read and write; times, lost writes, and how long the loop was blocked."""
    from fivefold_bench.async_tasks import measure_async

    result = measure_async(tasks, seconds, embedder, progress=sys.stderr.isatty())
    _tell(as_json, result.to_dict(), lambda views: views.show_async(result))
    if not result.ok:
        raise typer.Exit(1)


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
    from fivefold_bench.faults.run import run_faults

    result = run_faults(kills, failures, seed, dsn, progress=sys.stderr.isatty())
    _tell(as_json, {**result.to_dict(), "ok": result.ok}, lambda views: views.show_faults(result))
    if not result.ok:
        raise typer.Exit(1)


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
    from fivefold_bench.peers.contest import run_peers

    counts = counts_of(sizes) if sizes.strip() else ()
    report = run_peers(locomo, counts, engines, questions, seconds, environments, out, sys.stderr.isatty())
    _tell(as_json, report.to_dict(), lambda views: views.show_peers(report, out))


def verify(as_json: JsonOption = False) -> None:
    """Recompute the golden numbers of every requirement on a small built-in store.

    The exit status is 1 if one of them differs from its document.
    """
    from fivefold_bench.golden import verify as verify_all

    if as_json:
        rows = verify_all()
        print_json([row.to_dict() for row in rows])
    else:
        from fivefold_bench.views import show_golden, show_verified

        rows = verify_all(progress=show_golden)
        show_verified(rows)
    if not all(row.ok for row in rows):
        raise typer.Exit(1)
