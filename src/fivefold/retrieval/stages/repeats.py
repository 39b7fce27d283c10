"""Of two memories that say nearly the same, the newest answers for both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.superseded import LOOKS_BACK
from fivefold.values.field_types import About, Between
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value

STAGE = "repeats"


@dataclass(frozen=True, slots=True)
class Repeats(Value):
    """Near-duplicates were linked when they were written: in numbers, names and dates they agree."""

    shared: Annotated[
        float, Between(0, 1), About("The share of common words from which the newest stands for the other")
    ] = 0.75


def repeats(pool: Pool, context: SearchContext, by: Repeats) -> Pool:
    """The older of two linked near-duplicates is left out; the newest has the better score of both.

    Nothing changes where the question asks for a time, an order or every occurrence, or where sessions are wanted.
    """
    if context.unit == "session" or context.query.demand(*LOOKS_BACK):
        return pool
    candidates = {candidate.memory.id: candidate for candidate in pool.candidates}
    left: list[tuple[Candidate, str]] = []
    for newer, older in list(_pairs(candidates, context, by)):
        if newer in candidates and older in candidates:
            gone = candidates.pop(older)
            left.append((gone, f"{newer} says nearly the same, and is newer"))
            candidates[newer] = _standing_for(candidates[newer], gone)
    return pool.without(left, STAGE).with_candidates(candidates.values()) if left else pool


def _pairs(candidates: dict[str, Candidate], context: SearchContext, by: Repeats) -> Iterator[tuple[str, str]]:
    """The ids of linked near-duplicates that both hold, the newest pair first."""
    latest = sorted(candidates.values(), key=lambda one: (one.memory.event_at, one.memory.row), reverse=True)
    links = context.reader.memories.links([one.memory.row for one in latest])
    for candidate in latest:
        for link in links.get(candidate.memory.row, ()):
            older = candidates.get(link.target)
            if link.relation != "repeats" or link.chance < by.shared or older is None or older.memory.pinned:
                continue
            if _holds(candidate.memory, context) and _holds(older.memory, context):
                yield link.source, link.target


def _holds(memory: Memory, context: SearchContext) -> bool:
    return memory.superseded_by is None and memory.is_current(context.query.now)


def _standing_for(newer: Candidate, older: Candidate) -> Candidate:
    chances = [chance for chance in (newer.chance, older.chance) if chance is not None]
    best = newer.with_step(STAGE, max(newer.score, older.score), f"stands for {older.memory.id} too")
    return replace(best, chance=max(chances, default=None))
