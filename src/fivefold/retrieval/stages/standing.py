"""Standing instructions that apply to a request are among its hits, whatever else is more alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.standing import STANDING
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.values.fields import About, Between
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class StandingPlaces(Value):
    """How many instructions have a place of their own, and how near to the request they must be."""

    places: Annotated[int, Between(0, 100), About("How many of them are among the hits at least")] = 3
    cosine: Annotated[float, Between(-1, 1), About("The least cosine of one that applies")] = 0.2


def standing(pool: Pool, context: SearchContext, by: StandingPlaces) -> Pool:
    """The nearest instructions that would be left out get the score of the last hit."""
    found = [
        (item.score, one)
        for one in pool.candidates
        for item in one.evidence
        if item.route == STANDING and item.score >= by.cosine
    ]
    if not found or len(pool.candidates) <= context.k:
        return pool
    nearest = sorted(found, key=lambda pair: (-pair[0], pair[1].memory.id))[: by.places]
    last = best_first(pool.candidates)[max(0, context.k - by.places - 1)].score
    behind = {one.memory.id for _, one in nearest if one.score < last}
    if not behind:
        return pool
    return pool.with_candidates(
        one.with_step(STANDING, last, "a standing instruction that applies") if one.memory.id in behind else one
        for one in pool.candidates
    )
