"""Support: the turns next to a turn, and how well its session answers, raise its score.

An answer is often the turn next to the one that shares the question's words, and rarely in a session that is about
something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate, Support
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


# Session first: where session memories are found they are the answer, and their turns support them (M5).


@dataclass(frozen=True, slots=True)
class SessionFirst(Value):
    """Support is `share` of the best turn's fused score, and never more than `most`."""

    share: Annotated[
        float, Between(0, 10), About("Share of its best turn's fused score that a session memory gains")
    ] = 0.6
    most: Annotated[float, Between(0, 10), About("The most that it gains")] = 0.12
    notes: Annotated[bool, About("Whether notes, which are part of no session, stay next to the sessions")] = False


def session_first(pool: Pool, context: SearchContext, by: SessionFirst) -> Pool:
    """score + min(most, share · best turn); without a session memory the ranking stays as it is.

    In a namespace that answers with turns the session memories are left out instead.
    """
    sessions = [candidate for candidate in pool.candidates if candidate.memory.kind == "session"]
    if context.settings.answer_with == "turns":
        return pool.without([(session, "this namespace answers with turns") for session in sessions], "session first")
    if not sessions:
        return pool
    turns: defaultdict[str | None, list[Candidate]] = defaultdict(list)
    for candidate in pool.candidates:
        if candidate.memory.kind == "turn":
            turns[candidate.memory.session_id].append(candidate)
    supported = {
        session.memory.id: _sessions_add_support(session, turns[session.memory.session_id], by) for session in sessions
    }
    stay = {"session", "note"} if by.notes else {"session"}
    others = [
        (other, "session memories answer; turns only support them")
        for other in pool.candidates
        if other.memory.kind not in stay
    ]
    pool = pool.without(others, "session first")
    return pool.with_candidates(supported.get(candidate.memory.id, candidate) for candidate in pool.candidates)


def _sessions_add_support(session: Candidate, turns: list[Candidate], by: SessionFirst) -> Candidate:
    best = max(turns, key=lambda turn: (turn.fused, turn.memory.id), default=None)
    if best is None:
        return replace(session, support=Support(session.fused, 0.0, 0, {}))
    support = min(by.most, by.share * best.fused)
    why = f"+ min({by.most:g}, {by.share:g} · {best.fused:.4f}), its best of {len(turns)} turns found"
    routes = {item.route: item.rank for item in best.evidence}
    supported = session.with_step("session first", session.score + support, why)
    return replace(supported, support=Support(session.fused, support, len(turns), routes))
