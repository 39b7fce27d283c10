"""Five-stage SQLite pipeline: a curve by which scores fade with age (F4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fivefold.retrieval.protocols import Pool, SearchContext, Stage
from fivefold.values.fields import About
from fivefold.values.memory import Type
from fivefold.values.query import Decay, age_in_days
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class DecayByType(Value):
    """One curve for all, or another for some types: conversations age, reference material does not (F4)."""

    all: Annotated[
        Decay,
        About(
            "The curve for all types: a table of curve, half_life_days and floor",
            left_out="exponential, 90 days, floor 0",
        ),
    ] = field(default_factory=lambda: Decay("exponential", 90.0))
    types: Annotated[
        Mapping[Type, Decay], About('Other curves for some types, as in { procedure = { curve = "none" } }')
    ] = field(default_factory=dict)


def decay(pool: Pool, context: SearchContext, by: DecayByType) -> Pool:
    """score × what age leaves of it."""
    decayed = []
    for candidate in pool.candidates:
        curve = by.types.get(candidate.memory.type, by.all)
        age = age_in_days(candidate.memory.event_at, context.query.now)
        left = curve.left(age)
        decayed.append(
            candidate.with_step("decay", candidate.score * left, f"× {left:.4f}, {age:.0f} d old, {curve.describe()}")
        )
    return pool.with_candidates(decayed)


DECAY = Stage(decay, DecayByType, "boosts", rests="there is nothing to fade")
