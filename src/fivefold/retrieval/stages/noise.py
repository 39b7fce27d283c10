"""Noise for variation, and a threshold that leaves out weak answers (E6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.field_types import About, Between
from fivefold.values.ids import content_hash
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value

RERANKED = "cross-encoder"
"""The step by which a candidate shows that a cross-encoder has judged it."""


@dataclass(frozen=True, slots=True)
class Noise(Value):
    """Gaussian of this width. Drawn from the recall's id, or from `seed` and the question where it must not vary."""

    sigma: Annotated[float, Between(0, 10), About("Width of the Gaussian")] = 0.02
    seed: Annotated[
        int | None, About("Makes it the same for the same question; without one it is drawn for each recall")
    ] = None


def noise(pool: Pool, context: SearchContext, by: Noise) -> Pool:
    """score + N(0, sigma), the same for the same recall id and memory."""
    if by.sigma == 0:
        return pool
    seed_text = context.recall_id if by.seed is None else f"{by.seed}:{context.query.text}"
    noisy = []
    for candidate in pool.candidates:
        seed = int.from_bytes(content_hash(seed_text, candidate.memory.id)[:8])
        chance = float(np.random.default_rng(seed).normal(0.0, by.sigma))
        noisy.append(candidate.with_step("noise", candidate.score + chance, f"{chance:+.4f}, drawn for this recall"))
    return pool.with_candidates(noisy)


@dataclass(frozen=True, slots=True)
class Threshold(Value):
    """The least score of an answer."""

    least: Annotated[
        float,
        Between(-1e6, 1e6),
        About("The least score of an answer; applies only to what a cross-encoder has judged"),
    ] = 0.0


def threshold(pool: Pool, context: SearchContext, by: Threshold) -> Pool:
    """Only what a cross-encoder said is compared with it: fused scores are on another scale, and noise varies."""
    weak = [candidate for candidate in pool.candidates if _judged(candidate, by.least) < by.least]
    return pool.without([(candidate, f"below the least score of {by.least:g}") for candidate in weak], "threshold")


def _judged(candidate: Candidate, unjudged: float) -> float:
    """The score that a cross-encoder gave, or `unjudged` where it did not judge."""
    return next((step.after for step in reversed(candidate.steps) if step.stage == RERANKED), unjudged)
