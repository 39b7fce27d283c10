"""Support: the turns next to a turn, and how well its session answers, raise its score.

An answer is often the turn next to the one that shares the question's words, and rarely in a session that is about
something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.values.field_types import About, Between
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class SupportConstants(Value):
    """Shares of what is added: of the better neighbour, of the session's own score, of the session's best turn."""

    neighbour: Annotated[float, Between(0, 10), About("Share of the better turn next to it")] = 0.3
    session: Annotated[float, Between(0, 10), About("Share of its session's own score")] = 1.0
    best_turn: Annotated[float, Between(0, 10), About("Share of its session's best turn")] = 0.2
    alone: Annotated[
        float,
        Between(0, 10),
        About("What a memory outside any session gets instead of all that, as a share of its own score"),
    ] = 0.7
    reach: Annotated[
        int, Between(0, 4_096), About("How many of the best candidates support the turns next to them")
    ] = 32


def support(pool: Pool, context: SearchContext, by: SupportConstants) -> Pool:
    """A turn next to a strong candidate becomes one; sessions that answer well speak for their turns."""
    candidates = {candidate.memory.row: candidate for candidate in pool.candidates}
    neighbours = _neighbour_scores(best_first(candidates.values())[: by.reach], context) if by.neighbour else {}
    fresh = context.reader.memories.fetch([row for row in neighbours if row not in candidates])
    now = context.query.now
    candidates |= {row: Candidate(memory, (), 0.0) for row, memory in fresh.items() if memory.known_at(now)}
    best: dict[str, float] = {}
    for candidate in candidates.values():
        if candidate.memory.session_id:
            best[candidate.memory.session_id] = max(best.get(candidate.memory.session_id, 0.0), candidate.score)
    rows = context.reader.sessions.memory_rows(list(best)) if pool.supporting else {}
    sessions = {session: pool.supporting.get(row, 0.0) for session, row in rows.items()}
    supported = [
        _add_support(candidate, neighbours.get(row, 0.0), sessions, best, by)
        if candidate.memory.session_id
        else _stand_alone(candidate, by)
        for row, candidate in candidates.items()
    ]
    return pool.with_candidates([*supported, *_sessions_alone(pool, context, set(rows.values()), by)])


def _sessions_alone(pool: Pool, context: SearchContext, tried: set[int], by: SupportConstants) -> list[Candidate]:
    """Where sessions are asked for: those that answer well as a whole and by none of their turns."""
    if context.unit != "session":
        return []
    rows = sorted((row for row in pool.supporting if row not in tried), key=lambda row: (-pool.supporting[row], row))
    memories = context.reader.memories.fetch(rows[: context.k])
    return [
        Candidate(memory, (), 0.0).with_step(
            "support", by.session * pool.supporting[row], f"+ {by.session:g} · {pool.supporting[row]:.4f} as a session"
        )
        for row, memory in memories.items()
        if memory.known_at(context.query.now)
    ]


def _neighbour_scores(strong: list[Candidate], context: SearchContext) -> dict[int, float]:
    """Rows next to a strong candidate, each with the better score of its two neighbours."""
    pairs = context.reader.sessions.neighbours([candidate.memory.row for candidate in strong])
    scores: dict[int, float] = {}
    for candidate in strong:
        for row in pairs.get(candidate.memory.row, ()):
            if row is not None:
                scores[row] = max(scores.get(row, 0.0), candidate.score)
    return scores


def _add_support(
    candidate: Candidate,
    neighbour: float,
    sessions: Mapping[str, float],
    best: Mapping[str, float],
    by: SupportConstants,
) -> Candidate:
    assert candidate.memory.session_id is not None
    own, turn = sessions.get(candidate.memory.session_id, 0.0), best[candidate.memory.session_id]
    added = by.neighbour * neighbour + by.session * own + by.best_turn * turn
    why = (
        f"+ {by.neighbour:g} · {neighbour:.4f} the turn next to it + {by.session:g} · {own:.4f} its session "
        f"+ {by.best_turn:g} · {turn:.4f} its session's best turn"
    )
    return candidate.with_step("support", candidate.score + added, why)


def _stand_alone(candidate: Candidate, by: SupportConstants) -> Candidate:
    """Without this, what was said in passing would beat every note."""
    own = candidate.score
    return candidate.with_step("support", own + by.alone * own, f"+ {by.alone:g} · {own:.4f}, it stands alone")
