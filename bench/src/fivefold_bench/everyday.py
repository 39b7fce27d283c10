"""Everyday lives: what people ask their own memory, and whether a change of mind is linked when it is written."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.evaluation import (
    DEPTHS,
    KINDS,
    NEVER,
    K,
    Life,
    Outcome,
    calibrate,
    figures_by_kind,
    outcome,
    overall_figures,
    read_life,
)
from fivefold.models.embedders import Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.recipe import RACED
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.text.display import bar
from fivefold.values.json_files import Fields, document, lines
from fivefold.values.serialize import Json, Value
from fivefold.version import VERSION
from fivefold_bench.benchmark import Options, check_options, reduce_recipe
from fivefold_bench.cache import cached
from fivefold_bench.contestants import BASELINES, Contestant, contestants_for
from fivefold_bench.data import Dataset
from fivefold_bench.jsonl import dataset_of
from fivefold_bench.results import QUESTIONS, TABLE, fill_folder, rounded, spread, write_questions
from fivefold_bench.run import Run, run_contestants
from fivefold_bench.scores import Ablation, MetricSet, Numbers, worth_of
from fivefold_bench.suites import chosen, measure_suites

Part = Literal["choose", "report", "all"]
"""Lives that may be looked at to choose and fit, lives that only report, or both."""

PARTS: tuple[Part, ...] = get_args(Part)


def parts_of(part: Part) -> list[str]:
    return [name for name in PARTS[:2] if part in (name, "all")]


LIVES = Path(__file__).with_name("everyday_data") / "lives"
INDEX = "index.json"
"""The file that says which shipped lives are for choosing and which only report."""


def shipped_lives(part: str) -> list[Path]:
    """The files of the shipped lives of one part or of both, or of one life by its name."""
    index = Fields.of(INDEX, document(LIVES / INDEX))
    every = [(each, name) for each in PARTS[:2] for name in index.entries(each)]
    names = [name for each, name in every if part in (each, name, "all")]
    if not names:
        raise InvalidInput(f"must be {', '.join(PARTS)} or the name of a shipped life", field="lives")
    return [LIVES / f"{name}.json.xz" for name in names]


def load_lives(paths: Sequence[Path]) -> Dataset:
    """A namespace for each life, with all of its questions, also those that nothing answers."""
    lives: dict[str, Life] = {}
    for path in paths:
        life = read_life(path)
        if life.name in lives:
            raise InvalidInput(f"two files are of a life called {life.name!r}; rename one of them")
        lives[life.name] = life
    return dataset_of(list(lives.values()))


# How much more often one recipe is right at once than another, with an interval over people and their questions.

ROUNDS = 10_000
CONFIDENCE = 95


@dataclass(frozen=True, slots=True)
class Difference(Value):
    """The mean difference of hit@1 (positive: `recipe` is better), and its interval of 95 % confidence."""

    recipe: str
    against: str
    difference: float
    low: float
    high: float


def difference(
    recipe: str, against: str, mine: Sequence[Outcome], theirs: Sequence[Outcome], seed: int = 0
) -> Difference:
    """A bootstrap in two steps: lives are drawn, then the questions of each life, since those of a life are alike."""
    gaps: dict[str, list[float]] = {}
    for one, other in zip(mine, theirs, strict=True):
        if one.kind != NEVER:
            gaps.setdefault(one.life, []).append(float(one.rank == 1) - float(other.rank == 1))
    every = [gap for life in gaps.values() for gap in life]
    if not every:
        return Difference(recipe, against, 0.0, 0.0, 0.0)
    sums, counts = _draws(list(gaps.values()), np.random.default_rng(seed))
    low, high = np.percentile(sums / counts, ((100 - CONFIDENCE) / 2, (100 + CONFIDENCE) / 2))
    return Difference(recipe, against, sum(every) / len(every), float(low), float(high))


def _draws(lives: Sequence[Sequence[float]], chance: np.random.Generator) -> tuple[Numbers, Numbers]:
    """For each round the sum of the drawn gaps, and their number."""
    sums, counts = np.zeros(ROUNDS), np.zeros(ROUNDS)
    chosen = chance.multinomial(len(lives), [1 / len(lives)] * len(lives), size=ROUNDS)
    for place, life in enumerate(lives):
        values = np.asarray(life)
        for row in np.flatnonzero(chosen[:, place]):
            times = int(chosen[row, place])
            sums[row] += values[chance.integers(0, len(values), size=times * len(values))].sum()
            counts[row] += times * len(values)
    return sums, counts


# Whether a change of mind is linked to what it replaces when it is written, and what is true stays as it is.

CASES = Path(__file__).with_name("everyday_data") / "changes"
PERSONS = ("first", "third")
RELATIONS = ("replaces", "continues", "apart")
SAID = datetime(2026, 1, 5, 9, tzinfo=UTC)
LATER = timedelta(days=30)
BATCH = 50
"""Namespaces in one store: each has tables of its own, and many of them make every write slower."""


@dataclass(frozen=True, slots=True)
class Case:
    """Two memories, whether the newer one replaces the older, and the person in which they are written."""

    older: str
    newer: str
    older_speaker: str
    newer_speaker: str
    replaces: bool
    person: str


@dataclass(frozen=True, slots=True)
class ChangeFigures(Value):
    """For one person: the share of changes that are linked or at least likely, and that of the others which are."""

    person: str
    changes: int
    linked: float
    likely: float
    others: int
    falsely_linked: float
    falsely_likely: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The relation that the write of the newer memory reported for the older one."""

    case: Case
    linked: bool
    likely: bool


def shipped_cases(part: Part) -> list[Case]:
    """The labelled pairs of one part, or of both; no wording is in two parts, nor in what a model was trained by."""
    return [_case(line) for name in parts_of(part) for line in lines(CASES / f"{name}.jsonl.xz")]


def measure_changes(cases: Sequence[Case], choice: str, progress: bool = False) -> list[ChangeFigures]:
    """Each pair is written in a namespace of its own, the older memory first."""
    model = cached(load_embedder(choice))
    verdicts: list[Verdict] = []
    with bar("Writing changes", len(cases), show=progress) as advance:
        for start in range(0, len(cases), BATCH):
            batch = cases[start : start + BATCH]
            with tempfile.TemporaryDirectory() as folder, closing(open_store(f"{folder}/changes.db")) as store:
                verdicts += [_write(store, f"case-{number}", model, case) for number, case in enumerate(batch)]
            advance(len(batch))
    by_person = {person: [each for each in verdicts if each.case.person == person] for person in PERSONS}
    return [_figures(person, each) for person, each in by_person.items() if each]


def _write(store: Store, namespace: str, model: Embedder, case: Case) -> Verdict:
    engine = Engine(store, namespace, model)
    older = engine.remember(case.older, speaker=case.older_speaker, event_at=SAID).id
    report = engine.remember(case.newer, speaker=case.newer_speaker, event_at=SAID + LATER)
    linked = any(link.target == older for link in report.superseded)
    likely = any(link.target == older and link.relation in ("likely", "supersedes") for link in report.linked)
    return Verdict(case, linked, linked or likely)


def _figures(person: str, verdicts: Sequence[Verdict]) -> ChangeFigures:
    def shares(found: Sequence[Verdict]) -> tuple[int, float, float]:
        linked, likely = sum(each.linked for each in found), sum(each.likely for each in found)
        count = len(found)
        return (count, round(linked / count, 6), round(likely / count, 6)) if count else (0, 0.0, 0.0)

    changes = [each for each in verdicts if each.case.replaces]
    return ChangeFigures(person, *shares(changes), *shares([each for each in verdicts if not each.case.replaces]))


def _case(line: Fields) -> Case:
    relation, person = line.name("relation"), line.name("person")
    for field, value, known in (("relation", relation, RELATIONS), ("person", person, PERSONS)):
        if value not in known:
            raise line.fault(field, f"{value!r} is unknown; known are {', '.join(known)}")
    texts, speakers = (line.text("older"), line.text("newer")), (line.name("older_speaker"), line.name("newer_speaker"))
    return Case(*texts, *speakers, relation == RELATIONS[0], person)


PLAIN = ("dense", "recipe:dense")
"""Plain vectors, without the engine and by its recipe of one route, which the reference is compared with."""

EVERYONE = ",".join((*BASELINES, PLAIN[1], *RACED))
EVERYDAY_METRICS = MetricSet(("hit@1", "hit@5", "cover@10"), tested="hit@1")

Outcomes = Mapping[str, Sequence[Outcome]]
"""The outcome of every question, by contestant."""


def run_everyday(
    files: Sequence[Path],
    part: Part,
    options: Options,
    changes: bool = False,
    progress: bool = False,
    suites: str | None = None,
) -> tuple[Json, list[Path]]:
    """The results as data, and the written files. Without `files` the shipped lives of `part` are asked.

    With `changes` the shipped pairs of that part are written as well, to see which changes are linked; `suites` names
    the small suites that are scored besides.
    """
    small = chosen(suites)
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
        scores = {
            name: {each.question: each.scores() for each in every if each.kind != NEVER}
            for name, every in outcomes.items()
        }
        ablation = worth_of(whole.name, whole.recipe, scores, reasons, options.seed or 0, EVERYDAY_METRICS)
        run = replace(run, contestants=tuple(contestants))
    results = collect(run, outcomes, options.seed, notes, ablation)
    linked = measure_changes(shipped_cases(part), options.embedder, progress) if changes else []
    results["changes"] = [item.to_dict() for item in linked]
    results["suites"] = [item.to_dict() for item in measure_suites(small, parts_of(part), options.embedder)]
    results["lives"] = {"part": None if files else part, "names": list(dataset.memories)}
    return results, _benchmark_write(options.out, run, results, outcomes) if options.out else []


def judge(run: Run) -> Outcomes:
    """The outcome of every question."""
    return {
        contestant.name: [
            outcome(question, answer.ranking, answer.found, answer.chances)
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
    differences = [
        difference(reference, plain, outcomes[reference], outcomes[plain], seed or 0)
        for plain in PLAIN
        if plain in names and plain != reference
    ]
    return {
        "dataset": run.dataset.name,
        "unit": run.dataset.unit,
        "embedder": run.embedder,
        "reference": reference,
        "recipes": {each.name: _result(run, each, outcomes[each.name]) for each in run.contestants},
        "fivefold": VERSION,
        "k": list(DEPTHS),
        "seed": seed,
        "jobs": run.jobs,
        "categories": {kind: count for kind, count in counts.items() if count},
        "notes": [*run.dataset.notes, *notes, *run.notes],
        "definitions": {each.name: each.recipe.to_dict() if each.recipe else None for each in run.contestants},
        "differences": [item.to_dict() for item in differences],
        "ablation": ablation.to_dict() if ablation else None,
    }


def reference_of(names: Sequence[str]) -> str:
    """The recipe whose figures are shown in full: `default` if it runs, else the first that is not a baseline."""
    recipes = [name for name in names if name not in PLAIN and name not in BASELINES]
    return "default" if "default" in names else next(iter(recipes), names[0])


def _result(run: Run, contestant: Contestant, outcomes: Sequence[Outcome]) -> Json:
    calibration = calibrate(outcomes)
    return {
        "n": len(outcomes),
        "overall": rounded({**overall_figures(outcomes), "error": calibration.error if calibration else None}),
        "by_category": {kind: rounded(figures) for kind, figures in figures_by_kind(outcomes).items()},
        "calibration": calibration.to_dict() if calibration else None,
        "latency_ms": {
            "encode": spread(run.encode_ms),
            "recall": spread([answer.ms for answer in run.answers[contestant.name]]),
        },
    }


def _benchmark_write(folder: Path, run: Run, results: Json, outcomes: Outcomes) -> list[Path]:
    """Tables, plots, and every answer for `diff`."""
    from fivefold_bench.everyday_report import draw, markdown

    def write(new: Path) -> None:
        scored = {name: {each.question: each.scores() for each in every} for name, every in outcomes.items()}
        write_questions(new / QUESTIONS, run, scored)
        (new / TABLE).write_text(markdown(results), "utf-8")
        draw(new, results)

    return fill_folder(folder, write, results)
