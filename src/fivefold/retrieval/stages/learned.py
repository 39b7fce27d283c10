"""The learned reranker: what use has taught about this namespace corrects the order of the best (E5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fivefold.learning.reranker import BLEND, STEP, feature_rows, search_kinds
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import StageNote
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class LearnedConstants(Value):
    """How many of the best are looked at, and how much the model counts compared with their order.

    Not many more than are shown: feedback says nothing about memories far below.
    """

    top: Annotated[int, Between(1, 4_096), About("How many of the best it looks at")] = 20
    blend: Annotated[float, Between(0, 1), About("How much the model counts next to their order")] = BLEND


def learned(pool: Pool, context: SearchContext, by: LearnedConstants) -> Pool:
    """The best in a new order over the scores they span; nothing changes where no model is switched on."""
    model = context.learned
    if model is None or model.ranker is None or len(pool.candidates) < 2:
        return pool
    ranked = best_first(pool.candidates)
    best, rest = ranked[: by.top], ranked[by.top :]
    rows = feature_rows(best, context.query.now, search_kinds(context.plan))
    scores, verdicts, positions = model.ranker.blend(rows[:, 0], rows[:, 1:], by.blend)
    low = best[-1].score
    span = best[0].score - low or 1.0  # equal scores: only the model orders them
    reordered = [
        candidate.with_step(
            STEP,
            low + span * float(score),
            f"{low:.4f} + {span:.4f} · ({by.blend:g} · {word:.4f} by {model.name} + {1 - by.blend:.4g} · {place:.4f})",
        )
        for candidate, score, word, place in zip(best, scores, verdicts, positions, strict=True)
    ]
    note = StageNote(STEP, "done", f"moved the best {len(best)} by what was used before", model.name)
    return pool.with_candidates([*reordered, *rest]).with_note(note)
