"""Late interaction over the fused candidates: a further share of their score, token by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fivefold.errors import FivefoldError
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.late_scores import LateScore, late_scores
from fivefold.retrieval.stages.base import Pool
from fivefold.values.field_types import About, Between
from fivefold.values.recall_trace import Candidate, Evidence, StageNote
from fivefold.values.serialize import Value

LATE = "late"


@dataclass(frozen=True, slots=True)
class LateConstants(Value):
    """`weight` is what the best candidate gets; the worst gets nothing."""

    weight: Annotated[
        float, Between(0, 100), About("What the best match adds to the fused score; the worst adds 0")
    ] = 0.6


def late(pool: Pool, context: SearchContext, by: LateConstants) -> Pool:
    """Fused score + weight · (score − lowest) / (highest − lowest). Without token vectors the order stays."""
    if isinstance(context.question, FivefoldError) or context.question is None:
        return pool.with_note(StageNote(LATE, "off", "the question was not read by a model"))
    if context.space is None or not context.space.tokens:
        return pool.with_note(StageNote(LATE, "off", "the namespace has no token vectors"))
    scores = late_scores(context, [candidate.memory.row for candidate in pool.candidates])
    if not scores:
        return pool
    values = sorted((found.score for found in scores.values()), reverse=True)
    low, span = values[-1], values[0] - values[-1]
    rank_of = {row: rank for rank, row in enumerate(sorted(scores, key=lambda row: (-scores[row].score, row)), 1)}
    judged = [
        _with_late(candidate, found, rank_of[candidate.memory.row], low, span, by.weight)
        if (found := scores.get(candidate.memory.row))
        else candidate
        for candidate in pool.candidates
    ]
    return pool.with_candidates(judged)


def _with_late(candidate: Candidate, found: LateScore, rank: int, low: float, span: float, weight: float) -> Candidate:
    share = (found.score - low) / span if span > 0 else 1.0
    arithmetic = f"{weight:g} · ({found.score:.4g} − {low:.4g}) / {span:.4g}" if span > 0 else f"{weight:g} · 1"
    evidence = Evidence(LATE, rank, found.score, weight, weight * share, arithmetic)
    return candidate.with_evidence(evidence, found.match(candidate.memory.content))
