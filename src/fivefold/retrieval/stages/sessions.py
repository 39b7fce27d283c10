"""Session first: where session memories are found they are the answer, and their turns support them (M5)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.field_types import About, Between
from fivefold.values.recall_trace import Candidate, Support
from fivefold.values.serialize import Value


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
    supported = {session.memory.id: _add_support(session, turns[session.memory.session_id], by) for session in sessions}
    stay = {"session", "note"} if by.notes else {"session"}
    others = [
        (other, "session memories answer; turns only support them")
        for other in pool.candidates
        if other.memory.kind not in stay
    ]
    pool = pool.without(others, "session first")
    return pool.with_candidates(supported.get(candidate.memory.id, candidate) for candidate in pool.candidates)


def _add_support(session: Candidate, turns: list[Candidate], by: SessionFirst) -> Candidate:
    best = max(turns, key=lambda turn: (turn.fused, turn.memory.id), default=None)
    if best is None:
        return replace(session, support=Support(session.fused, 0.0, 0, {}))
    support = min(by.most, by.share * best.fused)
    why = f"+ min({by.most:g}, {by.share:g} · {best.fused:.4f}), its best of {len(turns)} turns found"
    routes = {item.route: item.rank for item in best.evidence}
    supported = session.with_step("session first", session.score + support, why)
    return replace(supported, support=Support(session.fused, support, len(turns), routes))
