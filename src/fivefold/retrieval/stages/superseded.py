"""What has ended ranks below what replaced it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.demands import DemandKind
from fivefold.values.field_types import About, Between
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value

LOOKS_BACK: tuple[DemandKind, ...] = ("past", "window", "first", "last", "just now", "last time", "list", "count")
"""Demands that what has ended may meet as well as what holds."""


@dataclass(frozen=True, slots=True)
class Superseded(Value):
    """What is left of the score of a memory that has ended."""

    factor: Annotated[float, Between(0, 1), About("What is left of the score of a memory that has ended")] = 0.5
    past_stays: Annotated[
        bool, About("Whether nothing changes where the question asks for the past, a time or everything of a kind")
    ] = False


def superseded(pool: Pool, context: SearchContext, by: Superseded) -> Pool:
    """A memory that has ended stops winning; where something newer replaced it, that takes its place."""
    if by.past_stays and context.query.demand(*LOOKS_BACK) and not context.query.demand("current"):
        return pool
    if all(candidate.memory.is_current(context.query.now) for candidate in pool.candidates):
        return pool
    candidates = {candidate.memory.id: candidate for candidate in pool.candidates}
    memories = _with_successors({id: candidate.memory for id, candidate in candidates.items()}, context)
    factor = by.factor
    for old in pool.candidates:
        if old.memory.is_current(context.query.now):
            continue
        successor = _current_successor(old.memory, context.query.now, memories)
        why = f"× {factor:g}, ended {old.memory.valid_to:%d %b %Y}"
        if successor is not None:
            why = f"× {factor:g}, replaced by {successor.id}"
            new = candidates.get(successor.id)
            if new is None or old.score > new.score:
                new = new or Candidate(successor, (), 0.0)
                candidates[successor.id] = new.with_step("superseded", old.score, f"takes the place of {old.memory.id}")
        lowered = candidates[old.memory.id].with_step("superseded", lower_score(old.score, factor), why)
        candidates[old.memory.id] = lowered
    return pool.with_candidates(candidates.values())


def lower_score(score: float, factor: float) -> float:
    """The factor's share of a score, or of the way up from a negative one, which a cross-encoder may give."""
    return score * factor if score >= 0 else score - (1 - factor) * max(1.0, abs(score))


def _with_successors(memories: dict[str, Memory], context: SearchContext) -> dict[str, Memory]:
    """The memories and, of those that have ended, all that replaced them one after the other."""
    found, ended = dict(memories), list(memories.values())
    now, asked = context.query.now, set(memories)
    while ended:
        successors = {memory.superseded_by for memory in ended if memory.superseded_by and not memory.is_current(now)}
        wanted = sorted(id for id in successors if id not in asked)
        asked.update(wanted)
        newer = context.reader.memories.get_many(wanted) if wanted else {}
        found |= newer
        ended = list(newer.values())
    return found


def _current_successor(memory: Memory, now: datetime, memories: Mapping[str, Memory]) -> Memory | None:
    """What holds at the time of the question in place of `memory`, along the whole chain; None if it holds itself."""
    successor, seen = memory, {memory.id}
    while successor.superseded_by and not successor.is_current(now) and successor.superseded_by not in seen:
        seen.add(successor.superseded_by)
        newer = memories.get(successor.superseded_by)
        if newer is None or not newer.known_at(now):
            break
        successor = newer
    return successor if successor.id != memory.id else None
