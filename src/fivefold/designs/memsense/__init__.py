"""Memsense: stored quality, sessions first, diverse answers, neighbours beside them (M1–M8)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np

from fivefold.retrieval.protocols import NoConstants, Pool, SearchContext, Stage, best_first
from fivefold.retrieval.stages.selection import scale
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate, Support
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix


@dataclass(frozen=True, slots=True)
class MemoryScore(Value):
    """The weight of the stored quality."""

    weight: Annotated[float, Between(0, 10), About("score + weight · memory_score")] = 0.1


def memory_score(pool: Pool, context: SearchContext, by: MemoryScore) -> Pool:
    """score + weight · memory_score, a stored quality in 0..1 (M4)."""
    return pool.with_candidates(
        candidate.with_step(
            "memory score",
            candidate.score + by.weight * candidate.memory.memory_score,
            f"+ {by.weight:g} · {candidate.memory.memory_score:.3f}",
        )
        for candidate in pool.candidates
    )


@dataclass(frozen=True, slots=True)
class SessionFirst(Value):
    """Support is `share` of the best turn's fused score, and never more than `most`."""

    share: Annotated[
        float, Between(0, 10), About("Share of its best turn's fused score that a session memory gains")
    ] = 0.6
    most: Annotated[float, Between(0, 10), About("Maximum gain")] = 0.12
    notes: Annotated[bool, About("Keeps notes, which are part of no session, next to the sessions")] = False


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


@dataclass(frozen=True, slots=True)
class Mmr(Value):
    """`lam` weighs relevance against redundancy; from `duplicate` on a candidate says nothing new."""

    lam: Annotated[float, Between(0, 1), About("Weighs relevance against redundancy")] = 0.78
    tags: Annotated[float, Between(0, 1), About("The weight of shared tags as redundancy, next to the cosine")] = 0.35
    duplicate: Annotated[
        float, Between(0, 2), About("Redundancy from which on a candidate is dropped unless the list has room left")
    ] = 0.94
    pool: Annotated[int, Between(1, 4_096), About("Number of the best candidates that it compares")] = 32
    pool_per_k: Annotated[int, Between(0, 100), About("At least this many for each of the k")] = 4
    scaled: Annotated[bool, About("Stretches scores to 0..1 first, to weigh a cosine against them")] = False


def mmr(pool: Pool, context: SearchContext, by: Mmr) -> Pool:
    """One after the other, the candidate with the greatest lam · score − (1 − lam) · redundancy."""
    ranked = best_first((scale(pool, context, NoConstants()) if by.scaled else pool).candidates)
    size = max(by.pool, by.pool_per_k * context.k)
    beyond = [(candidate, f"beyond the {size} best that selection compares") for candidate in ranked[size:]]
    pool = pool.with_candidates(ranked).without(beyond, "mmr")
    alike = redundancy(pool.candidates, _vectors(pool.candidates, context), by.tags)
    scores = np.array([candidate.score for candidate in pool.candidates])
    left = list(range(len(scores)))
    nearest = np.zeros(len(scores))
    twin = np.zeros(len(scores), dtype=int)
    selection: list[Candidate] = []
    copies: list[tuple[int, float, int]] = []
    while left:
        value = by.lam * scores[left] - (1 - by.lam) * nearest[left]
        pick = left.pop(int(np.argmax(value)))
        candidate = pool.candidates[pick]
        if selection and nearest[pick] >= by.duplicate:
            copies.append((pick, float(nearest[pick]), int(twin[pick])))
            continue
        after = by.lam * candidate.score - (1 - by.lam) * float(nearest[pick])
        why = f"{by.lam:g} · {candidate.score:.4f} − {1 - by.lam:.4g} · {nearest[pick]:.4f} redundancy"
        selection.append(candidate.with_step("mmr", after, why))
        closer = alike[pick] > nearest
        nearest, twin = np.maximum(nearest, alike[pick]), np.where(closer, pick, twin)
    room = max(0, context.k - len(selection))
    last = min((candidate.score for candidate in selection), default=0.0)
    for place, alike_to, _ in copies[:room]:
        candidate = pool.candidates[place]
        after = min(last, by.lam * candidate.score - (1 - by.lam) * alike_to)
        selection.append(candidate.with_step("mmr", after, f"{alike_to:.4f} redundancy; nothing else is left"))
    dropped = [
        (pool.candidates[place], f"says what {pool.candidates[of].memory.id} says, redundancy {alike_to:.4f}")
        for place, alike_to, of in copies[room:]
    ]
    return pool.without(dropped, "mmr").with_candidates(selection)


def redundancy(candidates: list[Candidate], vectors: Matrix, tags: float) -> Matrix:
    """max(cosine, tags · Jaccard of the tags) of each two."""
    alike: Matrix = np.maximum(vectors @ vectors.T, 0.0)
    tagged = [i for i, candidate in enumerate(candidates) if candidate.memory.tags]
    for i, j in combinations(tagged, 2):
        shared = tags * jaccard(candidates[i].memory.tags, candidates[j].memory.tags)
        alike[i, j] = alike[j, i] = max(alike[i, j], shared)
    return alike


def jaccard(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    together = set(one) | set(other)
    return len(set(one) & set(other)) / len(together) if together else 0.0


def _vectors(candidates: list[Candidate], context: SearchContext) -> Matrix:
    """A row a candidate; zeros for one without a vector, which is then like nothing."""
    if context.space is None or not candidates:
        return np.zeros((len(candidates), 1), dtype=np.float32)
    vectors = context.reader.search.vectors(context.space, [candidate.memory.row for candidate in candidates])
    matrix = np.zeros((len(candidates), context.space.dimension), dtype=np.float32)
    for i, candidate in enumerate(candidates):
        if candidate.memory.row in vectors:
            matrix[i] = vectors[candidate.memory.row]
    return matrix


def neighbours(pool: Pool, context: SearchContext, by: NoConstants) -> Pool:
    """Each turn of the answer brings the turns just before and after it (M7)."""
    first = [candidate for candidate in best_first(pool.candidates)[: context.k] if candidate.memory.kind == "turn"]
    pairs = context.reader.sessions.neighbours([candidate.memory.row for candidate in first])
    memories = context.reader.memories.fetch(
        sorted({row for pair in pairs.values() for row in pair if row is not None})
    )
    brought = {
        candidate.memory.row: tuple(
            memories[row]
            for row in pairs.get(candidate.memory.row, ())
            if row in memories and memories[row].known_at(context.query.now)
        )
        for candidate in first
    }
    return pool.with_candidates(
        replace(candidate, neighbours=beside) if (beside := brought.get(candidate.memory.row)) else candidate
        for candidate in pool.candidates
    )


MEMORY_SCORE = Stage(memory_score, MemoryScore, "boosts", rests="there is nothing to raise")
SESSION_FIRST = Stage(session_first, SessionFirst, "boosts", rests="no session memory was found")
MMR = Stage(mmr, Mmr, "select", rests="there is nothing to choose from")
NEIGHBOURS = Stage(neighbours, NoConstants, "select", rests="no turn of the answer has neighbours")
