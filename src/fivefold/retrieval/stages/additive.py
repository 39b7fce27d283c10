"""The ranker: the weighted sum of the terms of each candidate, compared with the best of them."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Annotated, Any

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.terms import TERMS, term_table
from fivefold.values.field_types import About, Between
from fivefold.values.later import later
from fivefold.values.serialize import Value
from fivefold.values.vectors import Vector

ADDITIVE = "additive"

MAX_NAMED = 6
"""How many parts of a sum its explanation names: those that set the candidate apart from the others most."""

MIN_NAMED = 0.01
"""Smaller parts are not named."""

SOFTNESS = 3.0
"""A sum that is less by this much leaves about a third of the score, so that later stages still see the rest."""

AdditiveConstants: type[Any] = make_dataclass(
    "AdditiveConstants",
    [(term.name, Annotated[float, Between(0, 100), About(f"{term.about} ({term.heading})")], 0.0) for term in TERMS],
    bases=(Value,),
    namespace={"__doc__": "A weight for each term.", "__module__": __name__},
    frozen=True,
    slots=True,
)


def additive(pool: Pool, context: SearchContext, by: Any) -> Pool:
    """e^((sum − best sum) / softness): 1 for the best, and less the further its sum is from that."""
    if not pool.candidates:
        return pool
    weights = np.array([getattr(by, term.name) for term in TERMS], dtype=np.float32)
    parts = term_table(pool, context) * weights
    sums = parts.sum(axis=1, dtype=np.float64)
    best, totals = float(sums.max()), sums.tolist()
    scores = np.exp((sums - best) / SOFTNESS).tolist()
    apart = parts - parts.mean(axis=0)
    explained = set(np.argsort(-sums, kind="stable")[: 2 * context.k].tolist())
    return pool.with_candidates(
        candidate.with_step(ADDITIVE, scores[i], later(_why, totals[i], best, apart[i] if i in explained else None))
        for i, candidate in enumerate(pool.candidates)
    )


def _why(total: float, best: float, apart: Vector | None) -> str:
    why = f"e^(({total:.2f} − {best:.2f}) / {SOFTNESS:g})"
    if apart is None:
        return why
    largest = np.argsort(-np.abs(apart), kind="stable")[:MAX_NAMED].tolist()
    named = [i for i in largest if abs(apart[i]) >= MIN_NAMED]
    parts = ", ".join(f"{TERMS[i].name.replace('_', ' ')} {apart[i]:+.2f}" for i in named)
    return f"{why}; compared with the mean candidate: {parts}"
