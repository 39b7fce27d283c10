"""A chance for each hit that it answers, and one for the recall that anything stored does.

Scores order candidates of one question; a chance can be compared between questions. It is a logistic model over what
is known about a hit in absolute terms, first of all what the reader says of it. It was fitted on lives, talk and chats
together (`training/fusion/chances.py`). A lower place never has a higher chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Annotated

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, are_short, best_first, is_talk, scores_of
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

HIT_TERMS = ("one", "answers", "unread", "dense", "margin", "lead", "decided", "messages")
"""What the chance of a hit is read from; `one` is 1 for every hit.

- `answers`: the log-odds that the reader gives; `unread`: 1 if it has not read the hit
- `dense`: the cosine; `margin`: how far its sum is below the best; `lead`: of the best, how far it is ahead
- `decided`: 1 if it meets a time that alone decides, −1 if it does not
- `messages`: 1 for long messages and talk between people, of which the reader knows little; then it is not asked
"""

RECALL_TERMS = ("one", "best", "next", "messages")
"""What the chance of a recall is read from: the log-odds of its likeliest hit, and the reader's second best."""


@dataclass(frozen=True, slots=True)
class ChanceConstants(Value):
    """The weights of the logistic model, and from which chance on something counts as found."""

    weights: Annotated[Mapping[str, float], Between(-100, 100), About("The weight of each term of a hit")] = field(
        default_factory=dict
    )
    recall: Annotated[
        Mapping[str, float], Between(-100, 100), About("For the whole recall: the weight of each of its terms")
    ] = field(default_factory=dict)
    found: Annotated[float, Between(0, 1), About("The least chance of a recall that counts as found")] = 0.5


def chance(pool: Pool, context: SearchContext, by: ChanceConstants) -> Pool:
    """The candidates with their chances; the note has that of the recall."""
    ranked = best_first(pool.candidates)
    if not ranked:
        return replace(pool, chance=0.0, found=False)
    table = chance_table(ranked, context, pool.answers)
    odds = table @ np.array([by.weights.get(name, 0.0) for name in HIT_TERMS])
    weights = np.array([by.recall.get(name, 0.0) for name in RECALL_TERMS])
    whole = probability(float(recall_terms(table, odds) @ weights))
    note = f"{whole:.0%} that one of them answers, and from {by.found:.0%} on it counts as found"
    each = _falling([probability(value) for value in odds.tolist()], whole)
    chances = [one.with_chance(value) for one, value in zip(ranked, each, strict=True)]
    found = replace(pool.with_candidates(chances), chance=whole, found=whole >= by.found)
    return found.with_note(StageNote("chance", "done", note))


def _falling(each: Sequence[float], whole: float) -> list[float]:
    """Chances that never rise from one place to the next, by averaging those that do; none is above the recall's.

    If a recall has one candidate, its chance is the recall's.
    """
    if len(each) == 1:
        return [whole]
    runs: list[tuple[float, int]] = []
    for value in each:
        mean, size = value, 1
        while runs and runs[-1][0] < mean:
            before, count = runs.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        runs.append((mean, size))
    return [min(whole, mean) for mean, size in runs for _ in range(size)]


def probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def recall_terms(table: Matrix, odds: Vector) -> Vector:
    """A value for each of `RECALL_TERMS`, from the terms of the hits and their log-odds."""
    unread, messages = table[:, HIT_TERMS.index("unread")], table[:, HIT_TERMS.index("messages")]
    read = np.sort(table[(unread == 0) & (messages == 0), HIT_TERMS.index("answers")])[::-1]
    return np.array([1.0, odds.max(), read[:2][-1] if read.size else 0.0, messages[0]])


def chance_table(
    candidates: Sequence[Candidate], context: SearchContext, answers: Mapping[int, float] | None = None
) -> Matrix:
    """A row for each candidate, best first, a column for each of `HIT_TERMS`; `answers` is what the reader says."""
    memories = [one.memory for one in candidates]
    messages = is_talk(memories) or not are_short(memories)
    read = {} if messages else answers or {}
    found = scores_of(candidates, "dense")
    floor = min((score for score in found if score is not None), default=0.0)
    sums = np.array([3 * log(max(one.score, 1e-9)) for one in candidates])
    demand = context.query.demand("window", "just now", "last time")
    decides = demand is not None and demand.decides
    meets = [any(item.route in ("window", "turns") for item in one.evidence) for one in candidates]
    best, second = (sums.max(), np.sort(sums)[-2]) if len(sums) > 1 else (sums[0], sums[0])
    columns = {
        "one": np.ones(len(candidates)),
        "answers": np.array([read.get(one.memory.row, 0.0) for one in candidates]),
        "unread": np.array([float(not messages and one.memory.row not in read) for one in candidates]),
        "dense": np.array([floor if score is None else score for score in found]),
        "margin": sums - best,
        "lead": (best - second) * (sums == best),
        "decided": np.array([(1.0 if met else -1.0) if decides else 0.0 for met in meets]),
        "messages": np.full(len(candidates), float(messages)),
    }
    return np.stack([columns[name] for name in HIT_TERMS], axis=1)
