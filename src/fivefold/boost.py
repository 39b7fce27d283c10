"""Boosts: later looks at a candidate that raise or lower its score. A new one is one function and one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fivefold.recall import Candidate, Query
from fivefold.recipe import BoostSpec

Boost = Callable[[Candidate, Query, Mapping[str, float]], Candidate]


def superseded(candidate: Candidate, query: Query, constants: Mapping[str, float]) -> Candidate:
    """A memory that something newer replaced keeps its history and stops winning."""
    memory = candidate.memory
    if memory.superseded_by is None or memory.current(query.now):
        return candidate
    factor = constants.get("factor", 0.5)
    return candidate.stepped(
        "superseded", candidate.score * factor, f"× {factor:g}, replaced by {memory.superseded_by}"
    )


BOOSTS: dict[str, Boost] = {"superseded": superseded}


def boost(candidates: list[Candidate], query: Query, specs: tuple[BoostSpec, ...]) -> list[Candidate]:
    """Every boost of the recipe, in its order, on every candidate."""
    for spec in specs:
        apply = BOOSTS[spec.name]
        candidates = [apply(candidate, query, spec.constants) for candidate in candidates]
    return candidates
