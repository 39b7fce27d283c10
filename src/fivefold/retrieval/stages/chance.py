"""A chance for each hit that it answers, and one for the recall that anything stored does.

Scores order candidates of one question; a chance can be compared between questions. It is a logistic model over what
is known about a hit in absolute terms, fitted on everyday lives and checked on others (`training/ranking`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Annotated

import numpy as np

from fivefold.models.answers import shipped
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.late_scores import late_scores
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.text.lexemes import lexemes
from fivefold.values.field_types import About, Between
from fivefold.values.query import Query
from fivefold.values.reading import QuestionReading
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

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
    "ended",
)
"""What a chance is read from, in its order; `one` is 1 for every hit."""

JUDGED = 10
"""How many hits get a chance at least."""

READ_BY_MODEL = 4
"""How many of the best the answer model reads."""

READ = 2_000
"""Characters of a memory whose words are compared."""


@dataclass(frozen=True, slots=True)
class ChanceConstants(Value):
    """The weights of the logistic model, and from which chance on something counts as found."""

    weights: Annotated[Mapping[str, float], Between(-100, 100), About("The weight of each signal of a hit")] = field(
        default_factory=dict
    )
    recall: Annotated[
        Mapping[str, float],
        Between(-100, 100),
        About("For the whole recall: `one`, the log-odds of the `best` and the `second` hit, and signals of the best"),
    ] = field(default_factory=dict)
    found: Annotated[float, Between(0, 1), About("The least chance of a recall that counts as found")] = 0.5


def chance(pool: Pool, context: SearchContext, by: ChanceConstants) -> Pool:
    """The best hits with their chances; the note has that of the recall."""
    ranked = best_first(pool.candidates)
    judged = ranked[: max(JUDGED, context.k)]
    if not judged:
        return replace(pool, chance=0.0, found=False)
    signals = signal_table(judged, context)
    odds = signals @ np.array([by.weights.get(name, 0.0) for name in SIGNALS])
    best = dict(zip(SIGNALS, signals[0].tolist(), strict=True))
    ordered = sorted(odds.tolist(), reverse=True)
    best |= {"best": ordered[0], "second": ordered[1] if len(ordered) > 1 else ordered[0]}
    alone = probability(sum(weight * best[name] for name, weight in by.recall.items() if name in best))
    whole = max(alone, probability(ordered[0]))  # one of them answers at least as likely as the likeliest does
    note = f"{whole:.0%} that one of them answers, and from {by.found:.0%} on it counts as found"
    chances = [replace(one, chance=probability(value)) for one, value in zip(judged, odds.tolist(), strict=True)]
    return replace(
        pool.with_candidates([*chances, *ranked[len(judged) :]]), chance=whole, found=whole >= by.found
    ).with_note(StageNote("chance", "done", note))


def probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def signal_table(candidates: Sequence[Candidate], context: SearchContext) -> Matrix:
    """A row for each candidate, best first, a column for each of `SIGNALS`."""
    query = context.query
    late, dense = _scores(candidates, "late"), _scores(candidates, "dense")
    sums = np.array([3 * log(max(one.score, 1e-9)) for one in candidates])
    demand = query.demand("window", "just now", "last time")
    meets = np.array([float(any(item.route in ("window", "turns") for item in one.evidence)) for one in candidates])
    decides = float(demand is not None and demand.decides)
    named = _mentions(candidates, query)
    columns = {
        "one": np.ones(len(candidates)),
        "answers": _answers(candidates, context, late, dense),
        "further": np.array([float(place >= READ_BY_MODEL) for place in range(len(candidates))]),
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
        "ended": np.array([float(not one.memory.is_current(query.now)) for one in candidates])
        * float(query.demand("current") is not None),
    }
    return np.stack([columns[name] for name in SIGNALS], axis=1)


def _scores(candidates: Sequence[Candidate], route: str) -> Vector:
    found = [next((item.score for item in one.evidence if item.route == route), None) for one in candidates]
    floor = min((score for score in found if score is not None), default=0.0)
    return np.array([floor if score is None else score for score in found], dtype=np.float32)


def _answers(candidates: Sequence[Candidate], context: SearchContext, late: Vector, dense: Vector) -> Vector:
    """The log-odds of the answer model; 0 where the embedder is not the one it knows."""
    model, question = shipped(), context.question
    if model is None or context.space is None or model.pin != context.space.embedder:
        return np.zeros(len(candidates), dtype=np.float32)
    if not isinstance(question, QuestionReading):
        return np.zeros(len(candidates), dtype=np.float32)
    best = candidates[:READ_BY_MODEL]
    found = late_scores(context, [one.memory.row for one in best])
    tokens = [found[one.memory.row].tokens if one.memory.row in found else b"" for one in best]
    judged = model.logits(question, tokens, late[: len(best)], dense[: len(best)])
    further = np.zeros(len(candidates) - len(best), dtype=np.float32)
    return np.concatenate([np.clip(judged, -12, 12), further])


def _words(candidates: Sequence[Candidate], query: Query) -> Vector:
    """The share of the question's words that a memory has."""
    asked = set(query.lexemes)
    if not asked:
        return np.zeros(len(candidates), dtype=np.float32)
    shares = [len(asked & set(lexemes(one.memory.content[:READ]))) / len(asked) for one in candidates]
    return np.array(shares, dtype=np.float32)


def _mentions(candidates: Sequence[Candidate], query: Query) -> Vector:
    """1 where a memory has all names of the question, −1 where it has none of them, 0 without names."""
    names = [[meaning.name.casefold().split()[0] for meaning in ref.meanings[:3]] for ref in query.entities]
    if not names:
        return np.zeros(len(candidates), dtype=np.float32)
    texts = [f"{one.memory.speaker or ''} {one.memory.content[:READ]}".casefold() for one in candidates]
    shares = [sum(any(name in text for name in ref) for ref in names) / len(names) for text in texts]
    return 2 * np.array(shares, dtype=np.float32) - 1
