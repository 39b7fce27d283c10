"""Association: modern Hopfield retrieval, which completes a cue to the pattern it belongs to (E7).

One step of attention ranks exactly like the cosines it is made from. Here the state is updated and the search
repeated from where it has moved to, so that memories are found which resemble what the question recalls rather than
the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fivefold.models.embedders import Matrix, unit
from fivefold.retrieval.routes.base import BaseRoute, SearchContext
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import Vector, VectorField


@dataclass(frozen=True, slots=True)
class AssociativeOptions:
    """`sharpness` is the inverse temperature: low blends many patterns, high holds on to the nearest one."""

    sharpness: Annotated[float, Between(0.1, 1_000), About("Low blends many memories, high keeps to the nearest")] = (
        16.0
    )
    steps: Annotated[int, Between(1, 20), About("Updates of the state at most; it stops when nothing moves")] = 3
    patterns: Annotated[
        int,
        Between(2, 4_096),
        About("How many of the nearest memories it attends to at each step, which bounds the cost"),
    ] = 256


class Associative(BaseRoute):
    """Scores are cosines between the settled state and the memory."""

    encodes = True
    options = AssociativeOptions

    def vector_fields(self, options: AssociativeOptions) -> tuple[VectorField, ...]:
        return ("full",)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: AssociativeOptions) -> list[RouteHit]:
        if context.space is None:
            return []
        state = context.question_vector()
        for _ in range(options.steps):
            patterns = context.reader.search.patterns(context.space, "full", state, options.patterns, keep)
            if not len(patterns):
                return []
            previous, state = state, attend(patterns, state, options.sharpness)
            if float(previous @ state) > SETTLED:
                break
        return context.reader.search.dense(context.space, "full", state, depth, keep)

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]


SETTLED = 1 - 1e-6
"""The cosine from which on an update has not moved the state."""


def attend(patterns: Matrix, state: Vector, sharpness: float) -> Vector:
    """One update: the patterns' mean, weighted by the softmax of their nearness to the state, at unit length."""
    nearness = sharpness * (patterns @ state)
    weights = np.exp(nearness - nearness.max())
    blend: Vector = unit(((weights / weights.sum()) @ patterns)[None, :])[0]
    return blend
