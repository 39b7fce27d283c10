"""Noise for variation, and a threshold against answers that are none (E6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.fields import number
from fivefold.values.ids import content_hash
from fivefold.values.serialize import Value

RERANKED = "cross-encoder"
"""The step by which a candidate shows that a cross-encoder has judged it."""


@dataclass(frozen=True, slots=True)
class Noise(Value):
    """Gaussian of this width. Drawn from the recall's id, or from `seed` and the question where it must not vary."""

    sigma: float = number(0.02, 0, 10)
    seed: int | None = None


def noise(pool: Pool, context: SearchContext, by: Noise) -> Pool:
    """score + N(0, sigma), the same for the same recall id and memory."""
    if by.sigma == 0:
        return pool
    drawn = context.recall_id if by.seed is None else f"{by.seed}:{context.query.text}"
    moved = []
    for candidate in pool.candidates:
        seed = int.from_bytes(content_hash(drawn, candidate.memory.id)[:8])
        chance = float(np.random.default_rng(seed).normal(0.0, by.sigma))
        moved.append(candidate.with_step("noise", candidate.score + chance, f"{chance:+.4f}, drawn for this recall"))
    return pool.with_candidates(moved)


@dataclass(frozen=True, slots=True)
class Threshold(Value):
    """The least score of an answer."""

    least: float = number(0.0, -1e6, 1e6)


def threshold(pool: Pool, context: SearchContext, by: Threshold) -> Pool:
    """Only what a cross-encoder has judged is held against it: fused scores lie on another scale."""
    return pool.without(
        [
            (candidate, f"below the least score of {by.least:g}")
            for candidate in pool.candidates
            if candidate.score < by.least and any(step.stage == RERANKED for step in candidate.steps)
        ],
        "threshold",
    )
