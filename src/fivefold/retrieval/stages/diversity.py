"""Diversity: relevance against what is already chosen, duplicates last (M6); neighbours brought along (M7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import NoConstants, Pool, best_first
from fivefold.retrieval.stages.boosts import scale
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix


@dataclass(frozen=True, slots=True)
class Mmr(Value):
    """`lam` weighs relevance against redundancy; from `duplicate` on a candidate says nothing new."""

    lam: Annotated[float, Between(0, 1), About("Weighs relevance against redundancy")] = 0.78
    tags: Annotated[float, Between(0, 1), About("How much shared tags count as redundancy, next to the cosine")] = 0.35
    duplicate: Annotated[
        float, Between(0, 2), About("Redundancy from which on a candidate is dropped unless the list has room left")
    ] = 0.94
    pool: Annotated[int, Between(1, 4_096), About("How many of the best it looks at")] = 32
    pool_per_k: Annotated[int, Between(0, 100), About("At least this many for each of the k")] = 4
    scaled: Annotated[
        bool, About("Whether scores are stretched to 0..1 first, where a cosine can be weighed against them")
    ] = False


def mmr(pool: Pool, context: SearchContext, by: Mmr) -> Pool:
    """One after the other, the candidate with the greatest lam · score − (1 − lam) · redundancy."""
    ranked = best_first((scale(pool, context, NoConstants()) if by.scaled else pool).candidates)
    size = max(by.pool, by.pool_per_k * context.k)
    beyond = [(candidate, f"beyond the {size} best that selection looks at") for candidate in ranked[size:]]
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
    """Each turn of the answer brings along the turns just before and after it (M7)."""
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
