"""The turns next to the strongest candidates become candidates too: an answer often follows what was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.values.field_types import About, Between
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class NextTurns(Value):
    """How many of the best bring the turns before and after them."""

    reach: Annotated[int, Between(0, 4_096), About("How many of the best candidates bring the turns next to them")] = 16


def next_turns(pool: Pool, context: SearchContext, by: NextTurns) -> Pool:
    """They have a score of nothing yet."""
    known = {candidate.memory.row for candidate in pool.candidates}
    strong = [candidate.memory.row for candidate in best_first(pool.candidates)[: by.reach]]
    pairs = context.reader.sessions.neighbours(strong)
    rows = dict.fromkeys(row for pair in pairs.values() for row in pair if row is not None and row not in known)
    fresh = context.reader.memories.fetch(list(rows))
    now = context.query.now
    added = [Candidate(memory, (), 0.0) for memory in fresh.values() if memory.known_at(now)]
    return pool.with_candidates([*pool.candidates, *added])
