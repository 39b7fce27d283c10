"""The benchmark of everyday lives, from its options to its results and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fivefold.bench.ablate import Ablation, Measured, worth_of
from fivefold.bench.benchmark import Options, check_options, reduce_recipe
from fivefold.bench.contestants import BASELINES, Contestant, contestants_for
from fivefold.bench.everyday.calibration import calibrate
from fivefold.bench.everyday.changes import measure_changes, shipped_cases
from fivefold.bench.everyday.difference import Difference, difference
from fivefold.bench.everyday.lives import KINDS, NEVER, Part, load_lives, shipped_lives
from fivefold.bench.everyday.outcomes import DEPTHS, Figures, K, Outcome, figures_by_kind, outcome, overall_figures
from fivefold.bench.result_folder import QUESTIONS, TABLE, fill_folder
from fivefold.bench.results import spread, write_questions
from fivefold.bench.run import Run, run_contestants
from fivefold.bench.scores import Scores
from fivefold.retrieval.recipe import RACED
from fivefold.values.serialize import Json
from fivefold.version import VERSION

PLAIN = ("dense", "recipe:dense")
"""Plain vectors, without the engine and by its recipe of one route, which the reference is compared with."""

EVERYONE = ",".join((*BASELINES, PLAIN[1], *RACED))
MEASURED = Measured(("hit@1", "hit@5", "cover@10"), tested="hit@1")

Outcomes = Mapping[str, Sequence[Outcome]]
"""What became of every question, by contestant."""


def run_everyday(
    files: Sequence[Path], part: Part, options: Options, changes: bool = False, progress: bool = False
) -> tuple[Json, list[Path]]:
    """The results as data, and the written files. Without `files` the shipped lives of `part` are asked.

    With `changes` the shipped pairs of that part are written as well, to see which changes are linked.
    """
    if options.choice().strip() == "all":
        options = replace(options, recipes=EVERYONE)
    check_options(options)
    dataset = load_lives(list(files) or shipped_lives(part))
    contestants, notes = contestants_for(options.choice(), options.overrides, dataset.unit, options.seed or 0)
    reduced, reasons, whole = reduce_recipe(options, dataset.unit, contestants)
    run = run_contestants(dataset, [*contestants, *reduced], options.embedder, K, options.jobs, progress)
    outcomes = judge(run)
    ablation: Ablation | None = None
    if whole is not None and whole.recipe is not None:
        ablation = worth_of(whole.name, whole.recipe, _scores(outcomes), reasons, options.seed or 0, MEASURED)
        run = replace(run, contestants=tuple(contestants))
    results = collect(run, outcomes, options.seed, notes, ablation)
    linked = measure_changes(shipped_cases(part), options.embedder, progress) if changes else []
    results["changes"] = [item.to_dict() for item in linked]
    results["lives"] = {"part": None if files else part, "names": list(dataset.memories)}
    return results, _write(options.out, run, results, outcomes) if options.out else []


def judge(run: Run) -> Outcomes:
    """What became of every question."""
    return {
        contestant.name: [
            outcome(question, answer)
            for question, answer in zip(run.dataset.questions, run.answers[contestant.name], strict=True)
        ]
        for contestant in run.contestants
    }


def collect(
    run: Run, outcomes: Outcomes, seed: int | None, notes: Sequence[str] = (), ablation: Ablation | None = None
) -> Json:
    """The whole result as data, in the form of the other benchmarks."""
    questions = run.dataset.questions
    names = [contestant.name for contestant in run.contestants]
    counts = {kind: sum(question.category == kind for question in questions) for kind in KINDS}
    reference = reference_of(names)
    return {
        "dataset": run.dataset.name,
        "unit": run.dataset.unit,
        "embedder": run.embedder,
        "reference": reference,
        "recipes": {
            contestant.name: _result(run, contestant, outcomes[contestant.name]) for contestant in run.contestants
        },
        "fivefold": VERSION,
        "k": list(DEPTHS),
        "seed": seed,
        "jobs": run.jobs,
        "categories": {kind: count for kind, count in counts.items() if count},
        "notes": [*run.dataset.notes, *notes, *run.notes],
        "definitions": {each.name: each.recipe.to_dict() if each.recipe else None for each in run.contestants},
        "differences": [item.to_dict() for item in _differences(reference, names, outcomes, seed or 0)],
        "ablation": ablation.to_dict() if ablation else None,
    }


def reference_of(names: Sequence[str]) -> str:
    """The recipe whose figures are shown in full: `default` where it runs, else the first that is no baseline."""
    recipes = [name for name in names if name not in PLAIN and name not in BASELINES]
    return "default" if "default" in names else next(iter(recipes), names[0])


def _result(run: Run, contestant: Contestant, outcomes: Sequence[Outcome]) -> Json:
    calibration = calibrate(outcomes)
    return {
        "n": len(outcomes),
        "overall": _rounded({**overall_figures(outcomes), "error": calibration.error if calibration else None}),
        "by_category": {kind: _rounded(figures) for kind, figures in figures_by_kind(outcomes).items()},
        "calibration": calibration.to_dict() if calibration else None,
        "latency_ms": {
            "encode": spread(run.encode_ms),
            "recall": spread([answer.ms for answer in run.answers[contestant.name]]),
        },
    }


def _differences(reference: str, names: Sequence[str], outcomes: Outcomes, seed: int) -> list[Difference]:
    return [
        difference(reference, plain, outcomes[reference], outcomes[plain], seed)
        for plain in PLAIN
        if plain in names and plain != reference
    ]


def _scores(outcomes: Outcomes) -> dict[str, Scores]:
    """The figures of every question that can be answered."""
    return {
        name: {each.question: each.scores() for each in every if each.kind != NEVER} for name, every in outcomes.items()
    }


def _rounded(figures: Figures) -> dict[str, float | None]:
    return {name: None if value is None else round(value, 6) for name, value in figures.items()}


def _write(folder: Path, run: Run, results: Json, outcomes: Outcomes) -> list[Path]:
    """Tables, plots, and every answer for `diff`."""
    from fivefold.bench.everyday.plots import draw
    from fivefold.bench.everyday.tables import markdown

    def write(new: Path) -> None:
        scored = {name: {each.question: each.scores() for each in every} for name, every in outcomes.items()}
        write_questions(new / QUESTIONS, run, scored)
        (new / TABLE).write_text(markdown(results), "utf-8")
        draw(new, results)

    return fill_folder(folder, write, results)
