"""Quality of a ranking: recall, all, hit, precision, nDCG and MRR of every question, by ir-measures.

`recall@k` is R@k, the share of a question's gold found. `all@k` says whether that is the whole of it, `hit@k`, the
core's measure, whether any is among the first k, `precision@k` is P@k, the share of the first k that is gold (F7),
`ndcg@k` is nDCG@k as trec_eval counts it, and `mrr` is RR@20, so that it does not depend on the depth.

`recall_any@k`, `recall_all@k` and `ndcg_any@k` are LongMemEval's names. The first two are `hit@k` and `all@k`; the last
discounts the second place no more than the first, as LongMemEval's script does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

import numpy as np
import numpy.typing as npt

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question, place_of
from fivefold.models.embedders import Embedder, Matrix, unit
from fivefold.models.rerankers import reranker
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import without_part
from fivefold.text.display import bar
from fivefold.values.serialize import Json, Value
from fivefold.values.vectors import Passage
from fivefold_bench.contestants import Contestant
from fivefold_bench.data import Choice
from fivefold_bench.run import SHOWN, Answer

LISTED = (
    *("recall@5", "recall@10", "recall@20", "all@5", "all@10", "hit@5", "hit@10"),
    *("precision@5", "precision@10", "ndcg@10", "mrr"),
)
"""The measures in every results file."""

KINDS = ("recall", "all", "hit", "precision", "ndcg")
"""The measures that every further depth adds."""

DEPTH = 20
"""The least depth of every recipe; `mrr` looks no further."""

Scores = Mapping[str, Mapping[str, float]]
"""For every question, by its id, each metric's value."""

Rankings = Mapping[str, Sequence[str]]
"""For every question, by its id, what was found, best first."""


def metric_names(ks: Iterable[int], measures: Sequence[str] = ()) -> tuple[str, ...]:
    """The listed metrics, all kinds for every depth that is not among them, and those that a benchmark adds."""
    further = sorted(set(ks) - {5, 10, 20})
    return (*LISTED, *(f"{kind}@{k}" for k in further for kind in KINDS), *measures)


def depth_for(ks: Iterable[int]) -> int:
    return max(DEPTH, *ks)


def score(questions: Sequence[Question], rankings: Rankings, names: Sequence[str] = LISTED) -> Scores:
    """Every metric of every question; one that found nothing has zeros."""
    from ir_measures import RR, P, R, iter_calc, nDCG

    known = {"recall": R, "all": R, "recall_all": R, "precision": P, "ndcg": nDCG}
    parts = {name: name.partition("@") for name in names}
    measures = {
        name: RR @ DEPTH if kind == "mrr" else known[kind] @ int(k)
        for name, (kind, _, k) in parts.items()
        if kind == "mrr" or kind in known
    }
    gold = {item.id: dict.fromkeys(item.relevant, 1) for item in questions}
    run = {item.id: gains(ranking) for item in questions if (ranking := rankings.get(item.id))}
    found = iter_calc(list(set(measures.values())), gold, run) if run and measures else ()
    values = {(each.query_id, str(each.measure)): each.value for each in found}

    def value(item: Question, name: str) -> float:
        kind, _, k = parts[name]
        ranking = rankings.get(item.id, ())
        if name in measures:
            value = values.get((item.id, str(measures[name])), 0.0)
            return float(value > 1 - 1e-9) if kind in ("all", "recall_all") else value
        if kind == "ndcg_any":
            return ndcg_any(ranking, item.relevant, int(k))
        return float(place_of(list(dict.fromkeys(ranking)), item.relevant) <= int(k))

    return {item.id: {name: value(item, name) for name in names} for item in questions}


def ndcg_any(ranking: Sequence[str], relevant: Sequence[str], k: int) -> float:
    """LongMemEval's nDCG: a hit at place 1 counts 1, at place n > 1 it counts 1 / log2(n)."""

    def gain(places: Iterable[int]) -> float:
        return sum(1.0 if place == 1 else 1 / log2(place) for place in places)

    ideal = gain(range(1, min(k, len(relevant)) + 1))
    return gain(place for place, id in enumerate(ranking[:k], 1) if id in relevant) / ideal if ideal else 0.0


def means(scores: Scores, questions: Iterable[Question]) -> dict[str, float]:
    """Each metric over `questions`, every question counted alike."""
    rows = [scores[question.id] for question in questions]
    return {name: sum(each[name] for each in rows) / len(rows) for name in rows[0]} if rows else {}


def by_category(scores: Scores, questions: Sequence[Question]) -> dict[str, dict[str, float]]:
    kinds = sorted({question.category for question in questions})
    return {kind: means(scores, [question for question in questions if question.category == kind]) for kind in kinds}


def curve(questions: Sequence[Question], rankings: Rankings, depth: int) -> list[float]:
    """Mean recall at 1, 2, … `depth`."""
    names = [f"recall@{k}" for k in range(1, depth + 1)]
    mean = means(score(questions, rankings, names), questions)
    return [mean[name] for name in names]


def gains(ranking: Sequence[str]) -> dict[str, float]:
    """A ranking as scores that fall by one a place: scorers that sort, and break ties by id, keep its order."""
    once = list(dict.fromkeys(ranking))
    return {id: float(len(once) - place) for place, id in enumerate(once)}


# Is a difference more than luck? A paired randomisation test on the questions, with Holm's correction.

ROUNDS = 20_000
"""Random flips; the smallest p they can show is 1 in 20,001."""

EXACT = 14
"""Up to this number of questions that differ, all flips are tried instead."""

CHUNK = 500
METRICS = ("recall@5", "recall@10")

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison(Value):
    """One recipe compared with another: the mean difference (positive: `recipe` is better), and how likely luck is."""

    recipe: str
    against: str
    metric: str
    difference: float
    better: int
    worse: int
    p: float
    p_holm: float


def compare(recipe: str, against: str, scored: Mapping[str, Scores], metric: str, seed: int) -> Comparison:
    """`recipe` against `against` on the same questions."""
    mine, theirs = scored[recipe], scored[against]
    gaps = np.array([mine[id][metric] - theirs[id][metric] for id in mine])
    p = p_value(gaps, seed)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return Comparison(recipe, against, metric, round(mean, 6), int((gaps > 0).sum()), int((gaps < 0).sum()), p, p)


def compare_all(scored: Mapping[str, Scores], against: str, seed: int) -> list[Comparison]:
    """Every recipe against one, corrected within each metric."""
    return [
        item
        for metric in METRICS
        for item in holm([compare(name, against, scored, metric, seed) for name in scored if name != against])
    ]


def reference_recipe(overall: Mapping[str, Mapping[str, float]]) -> str:
    """The recipe that all are compared with: `default` if it runs, else the best by recall@10."""
    return "default" if "default" in overall else max(overall, key=lambda name: overall[name]["recall@10"])


def p_value(gaps: Numbers, seed: int, rounds: int = ROUNDS) -> float:
    """Two-sided. Questions without a difference change nothing under any flip and are left out."""
    differing = gaps[np.abs(gaps) > 1e-12]
    if not len(differing):
        return 1.0
    seen = abs(float(differing.sum())) - 1e-9
    if len(differing) <= EXACT:
        bits = np.arange(2 ** len(differing))[:, None] >> np.arange(len(differing)) & 1
        return float((np.abs((2.0 * bits - 1.0) @ differing) >= seen).mean())
    chance, extreme = np.random.default_rng(seed), 0
    for done in range(0, rounds, CHUNK):
        flips = 2.0 * chance.integers(0, 2, size=(min(CHUNK, rounds - done), len(differing)), dtype=np.int8) - 1.0
        extreme += int((np.abs(flips @ differing) >= seen).sum())
    return (extreme + 1) / (rounds + 1)


def holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Raises each p for the number of comparisons made at once; the order stays."""
    raised: dict[int, float] = {}
    floor = 0.0
    for place, index in enumerate(sorted(range(len(comparisons)), key=lambda index: comparisons[index].p)):
        floor = max(floor, min(1.0, comparisons[index].p * (len(comparisons) - place)))
        raised[index] = floor
    return [replace(item, p_holm=raised[index]) for index, item in enumerate(comparisons)]


# What each part of a recipe is worth: the recipe without it, compared with the whole recipe on the same questions.


@dataclass(frozen=True, slots=True)
class MetricSet:
    """The metrics by which parts are judged, and the one that is tested."""

    metrics: tuple[str, ...]
    tested: str


DEFAULT_METRICS = MetricSet(("recall@5", "recall@10", "ndcg@10"), tested="recall@10")


@dataclass(frozen=True, slots=True)
class PartWorth(Value):
    """One part: what the whole recipe has over the one without it (positive: it helps), or why it cannot be removed."""

    part: str
    worth: Mapping[str, float]
    better: int = 0
    worse: int = 0
    p: float | None = None
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Ablation(Value):
    """All parts of one recipe, the most useful first; `p` is of the paired test on the metric they are sorted by."""

    recipe: str
    parts: tuple[PartWorth, ...]

    def to_dict(self) -> Json:
        return {"recipe": self.recipe, "parts": [part.to_dict() for part in self.parts]}


def reduced_contestants(name: str, recipe: Recipe) -> tuple[list[Contestant], dict[str, str]]:
    """The recipe without each of its parts in turn, and the parts it needs, with the reason."""
    reduced, reasons = [], {}
    for part in recipe.parts():
        try:
            reduced.append(Contestant(reduced_name(name, part), without_part(recipe, part)))
        except InvalidInput as error:
            reasons[part] = str(error)
    return reduced, reasons


def reduced_name(name: str, part: str) -> str:
    return f"{name} − {part}"


def worth_of(
    name: str,
    recipe: Recipe,
    scored: Mapping[str, Scores],
    reasons: Mapping[str, str],
    seed: int,
    measured: MetricSet = DEFAULT_METRICS,
) -> Ablation:
    """The gain from every part."""
    parts = []
    for part in (part for part in recipe.parts() if part not in reasons):
        reduced = reduced_name(name, part)
        comparisons = {metric: compare(name, reduced, scored, metric, seed) for metric in measured.metrics}
        test = comparisons[measured.tested]
        worth = {metric: round(item.difference, 6) for metric, item in comparisons.items()}
        parts.append(PartWorth(part, worth, test.better, test.worse, test.p))
    parts.sort(key=lambda item: -item.worth[measured.tested])
    return Ablation(name, (*parts, *(PartWorth(part, {}, kept=why) for part, why in reasons.items())))


# What is measured by reading the first hits: their mean relevance, and which offered answer they favour.

RELEVANCE = "relevance"
"""Mean relevance of the first five hits (F7): the shipped cross-encoder's chance, from 0 to 1, that a text answers."""

CHOICE = "choice"
"""The measure that says if the right one of the offered answers is nearest to the first five hits."""

PATIENCE = 600.0
"""Seconds that one question's texts may take."""

Values = dict[str, dict[str, float]]
"""For every contestant and question a value."""


def mean_relevance(
    questions: Sequence[Question], answers: Mapping[str, Sequence[Answer]], progress: bool = False
) -> Values:
    """Each text is read once for each question, whoever found it. A place that was left empty counts 0."""
    model = reranker("local")
    found: Values = {name: {} for name in answers}
    with bar("Judging relevance", len(questions), show=progress) as advance:
        for place, question in enumerate(questions):
            texts = list(dict.fromkeys(text for each in answers.values() for text in each[place].texts))
            scores = model.scores(question.text, [Passage(text, "") for text in texts], PATIENCE) if texts else []
            score_of = dict(zip(texts, scores, strict=True))
            for name, each in answers.items():
                found[name][question.id] = sum(score_of[text] for text in each[place].texts) / SHOWN
            advance(1)
    return found


def choose(
    questions: Sequence[Question],
    choices: Mapping[str, Choice],
    answers: Mapping[str, Sequence[Answer]],
    model: Embedder,
    progress: bool = False,
) -> tuple[Values, dict[str, float]]:
    """Says if each contestant's hits favour the right answer, and if the question alone does (no memory)."""
    found: Values = {name: {} for name in answers}
    alone: dict[str, float] = {}
    with bar("Choosing answers", len(questions), show=progress) as advance:
        for place, question in enumerate(questions):
            choice = choices[question.id]
            options = unit(model.embed(list(choice.options)))
            alone[question.id] = _favours(options, unit(model.embed([question.text])), choice.right)
            for name, each in answers.items():
                texts = list(each[place].texts)
                found[name][question.id] = _favours(options, unit(model.embed(texts)), choice.right) if texts else 0.0
            advance(1)
    return found, alone


def _favours(options: Matrix, texts: Matrix, right: int) -> float:
    """1 if the right option has the greatest mean cosine with the texts; a tie is lost."""
    near = (options @ texts.T).mean(axis=1)
    return float(all(near[right] > value for place, value in enumerate(near) if place != right))
