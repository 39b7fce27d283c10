"""How good a ranking is: recall, all, hit, precision, nDCG and MRR of every question, by ir-measures.

`recall@k` is R@k, the share of a question's gold found. `all@k` says whether that is the whole of it, `hit@k` is
Success@k, `precision@k` is P@k, the share of the first k that is gold (F7), `ndcg@k` is nDCG@k as trec_eval counts it,
and `mrr` is RR@20, so that it does not depend on the depth.

`recall_any@k`, `recall_all@k` and `ndcg_any@k` are LongMemEval's names. The first two are `hit@k` and `all@k`; the last
discounts the second place no more than the first, as LongMemEval's script does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING

from fivefold.bench.data import Question
from fivefold.errors import MissingExtra

if TYPE_CHECKING:
    from ir_measures import Measure

LISTED = (
    *("recall@5", "recall@10", "recall@20", "all@5", "all@10", "hit@5", "hit@10"),
    *("precision@5", "precision@10", "ndcg@10", "mrr"),
)
"""What every results file holds."""

KINDS = ("recall", "all", "hit", "precision", "ndcg")
"""What every further depth adds."""

NDCG_ANY = "ndcg_any@"
"""How the names of the one measure begin that ir-measures does not have."""

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
    measures = {name: _measure(name) for name in names if not name.startswith(NDCG_ANY)}
    values = _values(questions, rankings, set(measures.values()))

    def value(item: Question, name: str) -> float:
        if name in measures:
            return _metric_value(name, values.get((item.id, str(measures[name])), 0.0))
        return ndcg_any(rankings.get(item.id, ()), item.relevant, int(name.removeprefix(NDCG_ANY)))

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


def require_measures() -> None:
    """Say what to install before a long run, not after it."""
    try:
        import ir_measures  # noqa: F401
    except ImportError:
        raise MissingExtra("scoring a benchmark", "bench") from None


def _measure(name: str) -> Measure:
    require_measures()
    from ir_measures import RR, P, R, Success, nDCG

    kind, _, k = name.partition("@")
    if kind == "mrr":
        return RR @ DEPTH
    recall = {"recall": R, "all": R, "recall_all": R, "hit": Success, "recall_any": Success}
    return {**recall, "precision": P, "ndcg": nDCG}[kind] @ int(k)


def _values(questions: Sequence[Question], rankings: Rankings, measures: set[Measure]) -> dict[tuple[str, str], float]:
    from ir_measures import iter_calc

    gold = {question.id: dict.fromkeys(question.relevant, 1) for question in questions}
    run = {question.id: gains(ranking) for question in questions if (ranking := rankings.get(question.id))}
    if not run:
        return {}
    return {(each.query_id, str(each.measure)): each.value for each in iter_calc(list(measures), gold, run)}


def _metric_value(name: str, value: float) -> float:
    """`all@k` is 1 where R@k is 1, else 0."""
    return float(value > 1 - 1e-9) if name.startswith(("all@", "recall_all@")) else value
