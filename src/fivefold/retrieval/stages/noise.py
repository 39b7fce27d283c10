"""Noise for variation, and a threshold that gates out garbage (E6)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Annotated

import numpy as np

from fivefold.errors import FivefoldError
from fivefold.learning.reranker import search_kinds
from fivefold.models.rerankers import SCORES, reranker
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.fields import About, Between
from fivefold.values.ids import content_hash
from fivefold.values.recall_trace import StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import Passage

RERANKED = "cross-encoder"
"""The step by which a candidate shows that a cross-encoder has judged it."""

WORDLESS = Passage("-", "")
"""A memory that says nothing. Hosted models refuse a text without any character."""

TIMEOUT_S = 2.0
"""Seconds that a model may take for it."""


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
    """What the best of the memories that a cross-encoder read must reach, so that anything is returned."""

    least: Annotated[
        float, Between(0, 1), About("The least score of the best memory read; below it nothing is returned")
    ] = 0.0
    strange: Annotated[
        float,
        Between(0, 1_000),
        About(
            "If no candidate shares a word with the question: how many times the odds of a memory without words the "
            "best must have; 0 asks for nothing"
        ),
    ] = 0.0


def threshold(pool: Pool, context: SearchContext, by: Threshold) -> Pool:
    """All candidates or none, by the best score that a cross-encoder gave: fused scores are on another scale (E6).

    It gives words that it does not know a middling score over any memory. Therefore a question that shares no word with
    the candidates is compared with what the model says of a memory without words.
    """
    # what was not read has less than the worst that was, so that the maximum is of a memory that was read
    read = [step.after for one in pool.candidates for step in one.steps if step.stage == RERANKED]
    if not read or not pool.judge:
        return pool
    best, why = max(read), ""
    if best < by.least:
        why = f"the best memory read has {best:.4f}, below the least score of {by.least:g}"
    elif by.strange and _is_strange(pool, context):
        try:
            (empty,), _ = SCORES.of(reranker(pool.judge), context.query.to_read, [WORDLESS], TIMEOUT_S)
        except FivefoldError as error:
            return pool.with_note(StageNote("threshold", "failed", f"{type(error).__name__}: {error}", pool.judge))
        if log_odds(best) - log_odds(empty) < log(by.strange):
            why = (
                f"no word in common, and the best memory read has {best:.4f}, less than {by.strange:g} times the odds "
                f"of a memory without words, {empty:.4f}"
            )
    return pool.without([(candidate, why) for candidate in pool.candidates], "threshold") if why else pool


def _is_strange(pool: Pool, context: SearchContext) -> bool:
    """Whether the question has words that were searched for, and no candidate has any of them."""
    kinds = search_kinds(context.plan)
    routes = {item.route for one in pool.candidates for item in one.evidence}
    return (
        bool(context.query.lexemes) and "lexical" in kinds.values() and all(kinds[name] != "lexical" for name in routes)
    )


def log_odds(score: float) -> float:
    """ln(p / (1 − p)), kept finite."""
    chance = min(1 - 1e-6, max(1e-6, score))
    return log(chance / (1 - chance))
