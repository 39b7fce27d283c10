"""A chance for each hit that it answers, and one for the recall that anything stored does.

Scores order candidates of one question; a chance can be compared between questions. It is a logistic model over what
is known about a hit in absolute terms, first of all what the reader says of it, fitted on everyday lives and checked on
others (`training/fusion/chances.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Annotated

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, best_first, scores_of
from fivefold.retrieval.stages.memory_words import words_of
from fivefold.values.field_types import About, Between
from fivefold.values.query import Query
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

RECALL_SIGNALS = ("one", "best", "second", "next")
"""What the chance of a recall is read from: the log-odds of its two likeliest hits, and the second highest that the
reader gives."""

SIGNALS = (
    "one",
    "answers",
    "further",
    "late",
    "dense",
    "words",
    "margin",
    "lead",
    "decided",
    "undecided",
    "window",
    "person",
    "stranger",
    "several",
    "advice",
    "state",
    "ended",
)
"""What a chance is read from, in its order; `one` is 1 for every hit."""

JUDGED = 10
"""How many hits get a chance at least."""

READ = 2_000
"""Characters of a memory whose words are compared."""


@dataclass(frozen=True, slots=True)
class ChanceConstants(Value):
    """The weights of the logistic model, and from which chance on something counts as found."""

    weights: Annotated[Mapping[str, float], Between(-100, 100), About("The weight of each signal of a hit")] = field(
        default_factory=dict
    )
    recall: Annotated[
        Mapping[str, float], Between(-100, 100), About("For the whole recall: the weight of each of its signals")
    ] = field(default_factory=dict)
    found: Annotated[float, Between(0, 1), About("The least chance of a recall that counts as found")] = 0.5


def chance(pool: Pool, context: SearchContext, by: ChanceConstants) -> Pool:
    """The best hits with their chances; the note has that of the recall."""
    ranked = best_first(pool.candidates)
    judged = ranked[: max(JUDGED, context.k)]
    if not judged:
        return replace(pool, chance=0.0, found=False)
    signals = signal_table(judged, context, pool.answers)
    odds = signals @ np.array([by.weights.get(name, 0.0) for name in SIGNALS])
    whole = probability(
        float(recall_signals(signals, odds) @ np.array([by.recall.get(name, 0.0) for name in RECALL_SIGNALS]))
    )
    note = f"{whole:.0%} that one of them answers, and from {by.found:.0%} on it counts as found"
    each = _bounded([probability(value) for value in odds.tolist()], whole)
    chances = [one.with_chance(value) for one, value in zip(judged, each, strict=True)]
    return replace(
        pool.with_candidates([*chances, *ranked[len(judged) :]]), chance=whole, found=whole >= by.found
    ).with_note(StageNote("chance", "done", note))


def _bounded(each: Sequence[float], whole: float) -> list[float]:
    """No hit is likelier than that any one answers; a hit that is alone is as likely as that."""
    return [whole] if len(each) == 1 else [min(whole, value) for value in each]


def probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def recall_signals(table: Matrix, odds: Vector) -> Vector:
    """A value for each of `RECALL_SIGNALS`, from the signals of the hits and their log-odds."""
    ordered = np.sort(odds)[::-1]
    heard = np.sort(table[table[:, SIGNALS.index("further")] == 0, SIGNALS.index("answers")])[::-1]
    return np.array([1.0, ordered[0], ordered[:2][-1], heard[:2][-1] if heard.size else 0.0])


def signal_table(
    candidates: Sequence[Candidate], context: SearchContext, answers: Mapping[int, float] | None = None
) -> Matrix:
    """A row for each candidate, best first, a column for each of `SIGNALS`; `answers` is what the reader says."""
    heard = answers or {}
    query = context.query
    late, dense = _scores(candidates, "late"), _scores(candidates, "dense")
    sums = np.array([3 * log(max(one.score, 1e-9)) for one in candidates])
    demand = query.demand("window", "just now", "last time")
    meets = np.array([float(any(item.route in ("window", "turns") for item in one.evidence)) for one in candidates])
    decides = float(demand is not None and demand.decides)
    named = _mentions(candidates, query)
    columns = {
        "one": np.ones(len(candidates)),
        "answers": np.array([heard.get(one.memory.row, 0.0) for one in candidates]),
        "further": np.array([float(one.memory.row not in heard) for one in candidates]),
        "late": late,
        "dense": dense,
        "words": _words(candidates, query),
        "margin": sums - sums.max(),
        "lead": np.full(len(candidates), sums[0] - sums[1] if len(sums) > 1 else 0.0) * (sums == sums.max()),
        "decided": decides * meets,
        "undecided": decides * (1 - meets),
        "window": meets * (1 - decides),
        "person": np.maximum(named, 0),
        "stranger": np.maximum(-named, 0),
        "several": np.full(len(candidates), float(query.demand("list", "count", "negation") is not None)),
        "advice": np.full(len(candidates), float(query.demand("suggestion") is not None)),
        "state": np.full(len(candidates), float(query.demand("current", "past") is not None)),
        "ended": np.array([float(not one.memory.is_current(query.now)) for one in candidates])
        * float(query.demand("current") is not None),
    }
    return np.stack([columns[name] for name in SIGNALS], axis=1)


def _scores(candidates: Sequence[Candidate], route: str) -> Vector:
    found = scores_of(candidates, route)
    floor = min((score for score in found if score is not None), default=0.0)
    return np.array([floor if score is None else score for score in found], dtype=np.float32)


def _words(candidates: Sequence[Candidate], query: Query) -> Vector:
    """The share of the question's words that a memory has."""
    asked = set(query.lexemes)
    if not asked:
        return np.zeros(len(candidates), dtype=np.float32)
    shares = [len(asked & words_of(one.memory.content[:READ])) / len(asked) for one in candidates]
    return np.array(shares, dtype=np.float32)


def _mentions(candidates: Sequence[Candidate], query: Query) -> Vector:
    """1 where a memory has all names of the question, −1 where it has none of them, 0 without names."""
    names = [[meaning.name.casefold().split()[0] for meaning in ref.meanings[:3]] for ref in query.entities]
    if not names:
        return np.zeros(len(candidates), dtype=np.float32)
    texts = [f"{one.memory.speaker or ''} {one.memory.content[:READ]}".casefold() for one in candidates]
    shares = [sum(any(name in text for name in ref) for ref in names) / len(names) for text in texts]
    return 2 * np.array(shares, dtype=np.float32) - 1
