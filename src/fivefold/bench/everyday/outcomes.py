"""What became of each question, and the figures over many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fivefold.bench.data import Question
from fivefold.bench.everyday.lives import KINDS, NEVER
from fivefold.bench.runner import Answer

K = 10
"""Memories asked for with each question."""

DEPTHS = (1, 3, 5, 10)
HITS = tuple(f"hit@{depth}" for depth in DEPTHS)
COVER = "cover@10"

COMPLETE = frozenset({"window", "list", "count", "event_date", "negation"})
"""Kinds of question whose answer is several memories, all of which should be found."""

NOWHERE = 99
"""The place of what is not among the first ten."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answered question.

    `rank` is the place of the first expected memory, `cover` the share of them among ten, `fresh` whether one stands
    above every stale memory, `found` whether the recall says that something answers. `right` says of each hit whether
    it is expected.
    """

    question: str
    life: str
    kind: str
    rank: int
    cover: float
    fresh: bool | None
    found: bool | None
    right: tuple[bool, ...]
    chances: tuple[float, ...]

    def scores(self) -> dict[str, float]:
        """The figures of this one question."""
        hits = {f"hit@{depth}": float(self.rank <= depth) for depth in DEPTHS}
        return {**hits, COVER: self.cover, "found": float(self.found is not False)}


Figures = Mapping[str, float | None]
"""Figures by name; None where there is no question to measure it by, or the recipe does not say."""


def outcome(question: Question, answer: Answer) -> Outcome:
    """How a question was answered."""
    ids = answer.ranking[:K]
    rank, stale = _place(ids, question.relevant), _place(ids, question.stale)
    expected = frozenset(question.relevant)
    return Outcome(
        question=question.id,
        life=question.namespace,
        kind=question.category,
        rank=rank,
        cover=len(expected & set(ids)) / len(expected) if expected else 0.0,
        fresh=rank < stale if question.stale else None,
        found=answer.found,
        right=tuple(id in expected for id in ids),
        chances=answer.chances[:K],
    )


def _place(ids: Sequence[str], wanted: Iterable[str]) -> int:
    return min((ids.index(id) + 1 for id in wanted if id in ids), default=NOWHERE)


def overall_figures(outcomes: Sequence[Outcome]) -> Figures:
    """Hits over all that can be answered, freshness, completeness, and whether the word "no" is said where it should.

    `never` is the share of questions never answered that are recognised, `refused` that of the others wrongly refused.
    """
    answerable = [each for each in outcomes if each.kind != NEVER]
    never = [each for each in outcomes if each.kind == NEVER and each.found is not None]
    saying = [each for each in answerable if each.found is not None]
    return {
        **_hits(answerable),
        "cover": _mean((each for each in answerable if each.kind in COMPLETE), lambda each: each.cover),
        "fresh": _mean((each for each in answerable if each.fresh is not None), lambda each: bool(each.fresh)),
        "window": _mean((each for each in answerable if each.kind == "window"), lambda each: each.cover),
        "list": _mean((each for each in answerable if each.kind == "list"), lambda each: each.cover),
        "never": _mean(never, lambda each: each.found is False),
        "refused": _mean(saying, lambda each: each.found is False),
    }


def figures_by_kind(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Hits and coverage of each kind of question that was asked."""
    by_kind = {kind: [each for each in outcomes if each.kind == kind] for kind in KINDS}
    return {
        kind: {"n": len(each), **_hits(each), COVER: _mean(each, lambda one: one.cover)}
        for kind, each in by_kind.items()
        if each
    }


def _hits(outcomes: Sequence[Outcome]) -> Figures:
    scores = [each.scores() for each in outcomes]
    return {name: sum(each[name] for each in scores) / len(scores) if scores else None for name in HITS}


def _mean(outcomes: Iterable[Outcome], value: Callable[[Outcome], float]) -> float | None:
    values = [float(value(each)) for each in outcomes]
    return sum(values) / len(values) if values else None
