"""A benchmark from its options to its results: who runs, the run, the scores, the tests, the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.models.embedders import DEFAULT
from fivefold.models.embedders import embedder as load_embedder
from fivefold.values.serialize import Json
from fivefold_bench.cache import cached
from fivefold_bench.contestants import Contestant, contestants_for, select_questions
from fivefold_bench.data import Dataset, Unit
from fivefold_bench.results import ScoredRun, check_folder, collect_results, score_run, write_folder
from fivefold_bench.run import Run, run_by_session, run_contestants
from fivefold_bench.scores import (
    CHOICE,
    RELEVANCE,
    Ablation,
    Comparison,
    Scores,
    Values,
    choose,
    compare_all,
    depth_for,
    mean_relevance,
    means,
    metric_names,
    reduced_contestants,
    reference_recipe,
    worth_of,
)

MAX_DEPTH = 1_000
"""The greatest depth of a run."""

MAX_JOBS = 61
"""Processes that one pool can hold on every system."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a benchmark. `recipes` is a list with commas, or all; without one an ablation runs by itself."""

    recipes: str | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)
    ks: tuple[int, ...] = (5, 10, 20)
    unit: Unit | None = None
    embedder: str = DEFAULT
    limit: int | None = None
    jobs: int = 1
    out: Path | None = None
    seed: int | None = None
    significance: bool = False
    ablate: str | None = None
    relevance: bool = True

    def choice(self) -> str:
        return next(name for name in (self.recipes, self.ablate, "all") if name is not None)


def run_benchmark(load: Callable[[], Dataset], options: Options, progress: bool = False) -> tuple[Json, list[Path]]:
    """The results as data, and the written files. Mistakes in the options are reported before the run begins."""
    check_options(options)
    dataset = select_questions(load(), options.unit, options.limit, options.seed)
    contestants, notes = contestants_for(options.choice(), options.overrides, dataset.unit, options.seed or 0)
    reduced, reasons, whole = reduce_recipe(options, dataset.unit, contestants)
    run = run_contestants(
        dataset, [*contestants, *reduced], options.embedder, depth_for(options.ks), options.jobs, progress
    )
    scored = score_run(run, metric_names(options.ks, dataset.measures))
    ablation: Ablation | None = None
    if whole is not None and whole.recipe is not None:
        ablation = worth_of(whole.name, whole.recipe, scored, reasons, options.seed or 0)
        run = replace(run, contestants=tuple(contestants))
        scored = {contestant.name: scored[contestant.name] for contestant in contestants}
    scored, judged_notes = _judge(run, scored, options, progress)
    by_session = _by_session(run, options, progress) if dataset.sessions else None
    results = collect_results(
        run,
        scored,
        ks=options.ks,
        seed=options.seed,
        notes=[*notes, *judged_notes],
        significance=_tests(run, scored, options),
        ablation=ablation,
        by_session=by_session.results if by_session else None,
    )
    files = write_folder(options.out, ScoredRun(run, scored, results), by_session) if options.out else []
    return results, files


def _by_session(run: Run, options: Options, progress: bool) -> ScoredRun:
    """The run scored by session as well, without asking the recipes again."""
    sessions = run_by_session(run, options.embedder, depth_for(options.ks), progress)
    scored = score_run(sessions, metric_names(options.ks, sessions.dataset.measures))
    tests = _tests(sessions, scored, options)
    return ScoredRun(
        sessions, scored, collect_results(sessions, scored, ks=options.ks, seed=options.seed, significance=tests)
    )


def _judge(
    run: Run, scored: dict[str, Scores], options: Options, progress: bool
) -> tuple[dict[str, Scores], list[str]]:
    """The scores with what is measured by reading the first hits, and notes on it."""
    questions = run.dataset.questions
    answers = {contestant.name: run.answers[contestant.name] for contestant in run.contestants}
    judged: dict[str, Values] = {}
    notes: list[str] = []
    if options.relevance:
        judged[RELEVANCE] = mean_relevance(questions, answers, progress)
    if run.dataset.choices:
        model = cached(load_embedder(options.embedder))
        judged[CHOICE], alone = choose(questions, run.dataset.choices, answers, model, progress)
        share = sum(alone.values()) / len(alone)
        chance = sum(1 / len(run.dataset.choices[item.id].options) for item in questions) / len(questions)
        notes.append(f"choice without any memory, by the question alone: {share:.3f}; by chance: {chance:.3f}")

    for name, each in scored.items():
        further = {id: {metric: values[name][id] for metric, values in judged.items()} for id in each}
        scored[name] = {id: {**scores, **further[id]} for id, scores in each.items()}
    return scored, notes


def check_options(options: Options) -> None:
    """Report mistakes before a long run, not after it."""
    if options.limit is not None and options.limit < 1:
        raise InvalidInput(f"must be at least 1, not {options.limit}", field="limit")
    if not 1 <= options.jobs <= MAX_JOBS:
        raise InvalidInput(f"takes a number from 1 to {MAX_JOBS}, not {options.jobs}", field="jobs")
    if not options.ks or not all(1 <= k <= MAX_DEPTH for k in options.ks):
        raise InvalidInput(f"takes whole numbers from 1 to {MAX_DEPTH:,}", field="ks")
    if options.seed is not None and options.seed < 0:
        raise InvalidInput(f"must not be negative, not {options.seed}", field="seed")
    load_embedder(options.embedder)
    contestants_for(options.choice(), options.overrides, "turn")
    if options.out is not None:
        check_folder(options.out)


def reduce_recipe(
    options: Options, unit: Unit, contestants: list[Contestant]
) -> tuple[list[Contestant], dict[str, str], Contestant | None]:
    """The recipe to take apart joins the run, if it is not in it, and so do its cut versions."""
    if options.ablate is None:
        return [], {}, None
    choice, _ = contestants_for(options.ablate, options.overrides, unit, options.seed or 0)
    if len(choice) != 1 or choice[0].recipe is None:
        raise InvalidInput(f"takes one recipe, not {options.ablate!r}; a baseline has no parts", field="ablate")
    whole = choice[0]
    if all(contestant.name != whole.name for contestant in contestants):
        contestants.append(whole)
    assert whole.recipe is not None
    reduced, reasons = reduced_contestants(whole.name, whole.recipe)
    return reduced, reasons, whole


def _tests(run: Run, scored: Mapping[str, Scores], options: Options) -> list[Comparison]:
    """Every recipe against the reference, if the options ask for it."""
    if not options.significance:
        return []
    reference = reference_recipe({name: means(scores, run.dataset.questions) for name, scores in scored.items()})
    return compare_all(scored, reference, options.seed or 0)
