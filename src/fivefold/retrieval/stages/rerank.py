"""Reranking: a cross-encoder reads question and memory together, and its score joins the fused one (F5, E4)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Annotated

from fivefold.errors import FivefoldError, StoreClosed
from fivefold.models.rerankers import SCORES, reranker
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.retrieval.stages.noise import RERANKED, log_odds
from fivefold.text import passages
from fivefold.values.fields import About, Between
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import Passage

_log = logging.getLogger("fivefold")

_PACE: dict[str, float] = {}
"""Milliseconds a text has taken lately, by model."""

_MET: set[str] = set()
"""Models that have run before: the first run includes loading, which says nothing about their pace."""

FIRST_DEPTH = 10
"""How many are judged before the pace of a model is known."""


@dataclass(frozen=True, slots=True)
class CrossEncoder(Value):
    """`weight` is what a unit of log-odds adds to the fused score; `budget_ms` cuts the depth down to fit."""

    model: Annotated[
        str, About("local, sentence-transformers:NAME, fastembed:NAME, voyage:MODEL, cohere:MODEL or jina:MODEL")
    ] = "local"
    depth: Annotated[int, Between(1, 1_000), About("How many of the best it reads")] = 20
    weight: Annotated[
        float,
        Between(0, 100),
        About("What a unit of log-odds that a memory answers adds to the fused score on its scale of 0..1"),
    ] = 0.15
    budget_ms: Annotated[
        float, Between(0, 600_000), About("Reads fewer where the model was too slow for this of late; 0 sets no limit")
    ] = 60.0
    timeout_ms: Annotated[float, Between(1, 600_000), About("How long a hosted model may take")] = 2_000.0
    alone: Annotated[bool, About("Whether its score in 0..1 replaces the fused one (F5, E4)")] = False
    before: Annotated[bool, About("Whether a turn is read together with the end of the turn before it")] = True


def cross_encoder(pool: Pool, context: SearchContext, by: CrossEncoder) -> Pool:
    """Fused score, stretched to 0..1, + weight · log-odds that it answers, for the best; a failure leaves the order."""
    ranked = best_first(pool.candidates)
    if not ranked:
        return pool
    start = perf_counter()
    try:
        model = reranker(by.model)
        depth = _depth(model.pin, by)
        best = ranked[:depth]
        scores, computed = SCORES.of(model, context.query.to_read, _passages(best, context, by), by.timeout_ms / 1000)
    except StoreClosed:
        raise
    except Exception as error:
        if not isinstance(error, FivefoldError):
            _log.warning("reranking failed: %s", error)
        why = f"{type(error).__name__}: {error}"
        return pool.with_note(StageNote(RERANKED, "failed", why, by.model))
    _learn_pace(model.pin, computed, (perf_counter() - start) * 1000)
    note = StageNote(RERANKED, "done", f"read the best {len(best)}, {computed} of them for the first time", model.pin)
    return replace(pool.with_candidates(_blend(ranked, scores, by)), judge=by.model).with_note(note)


def describe_use(by: CrossEncoder) -> str:
    """Whether the model's score replaces the fused one or is added to it."""
    if by.alone:
        return "Its score in 0..1 replaces the fused one of the best; the others stay below; a failure leaves the order"
    return (
        "Fused score, stretched to 0..1, + weight · log-odds that it answers, for the best; a failure leaves the order"
    )


def _depth(pin: str, by: CrossEncoder) -> int:
    """As deep as the budget allows at the pace so far; without a budget there is no limit."""
    if not by.budget_ms:
        return by.depth
    pace = _PACE.get(pin)
    return min(by.depth, FIRST_DEPTH) if pace is None else max(1, min(by.depth, int(by.budget_ms / pace)))


def _learn_pace(pin: str, computed: int, ms: float) -> None:
    """Few texts say less than many, but always something, so that one slow moment does not last."""
    if not computed:
        return
    if pin in _MET:
        share = 0.2 * min(1.0, computed / FIRST_DEPTH)
        seen = ms / computed
        _PACE[pin] = (1 - share) * _PACE.get(pin, seen) + share * seen
    _MET.add(pin)


def _passages(best: list[Candidate], context: SearchContext, by: CrossEncoder) -> list[Passage]:
    """Each memory as the model reads it: who, when, what, and what was said just before."""
    before: dict[int, Memory] = {}
    if by.before:
        pairs = context.reader.sessions.neighbours([candidate.memory.row for candidate in best])
        by_row = {candidate.memory.row: candidate.memory for candidate in best}
        rows = {row: pair[0] for row, pair in pairs.items() if pair[0] is not None}
        fetched = by_row | context.reader.memories.fetch([row for row in rows.values() if row not in by_row])
        before = {row: fetched[other] for row, other in rows.items() if other in fetched}
    return [_passage(candidate.memory, before.get(candidate.memory.row)) for candidate in best]


def _passage(memory: Memory, before: Memory | None) -> Passage:
    return Passage(passages.attributed_text(memory, memory.content), before.content if before is not None else "")


def _blend(ranked: list[Candidate], scores: list[float], by: CrossEncoder) -> list[Candidate]:
    """What was not read counts as the worst that was, and so stays behind."""
    values = [candidate.score for candidate in ranked]
    low, span = min(values), max(values) - min(values)
    if by.alone:
        return _replace_scores(ranked, scores, low, span)
    odds = [log_odds(score) for score in scores]
    out = []
    for i, candidate in enumerate(ranked):
        fused = (candidate.score - low) / span if span > 0 else 1.0
        scaled = f"({candidate.score:.4f} − {low:.4f}) / {span:.4f} = {fused:.4f} fused" if span > 0 else "1.0000 fused"
        if i < len(odds):
            why = f"{scaled} + {by.weight:g} · {odds[i]:.4f}, the log-odds of {scores[i]:.4f} that it answers"
            out.append(candidate.with_step(RERANKED, fused + by.weight * odds[i], why))
        else:
            why = f"{scaled} + {by.weight:g} · {min(odds):.4f}, not read and so as the worst that was"
            out.append(candidate.with_step(RERANKED, fused + by.weight * min(odds), why))
    return out


def _replace_scores(ranked: list[Candidate], scores: list[float], low: float, span: float) -> list[Candidate]:
    """The model's score is the score; what was not read shares out the worst of those by its fused score."""
    out = []
    for i, candidate in enumerate(ranked):
        fused = (candidate.score - low) / span if span > 0 else 1.0
        if i < len(scores):
            out.append(candidate.with_step(RERANKED, scores[i], f"{scores[i]:.4f} that it answers"))
        else:
            why = f"{fused:.4f} fused · {min(scores):.4f}, not read and so below the worst that was"
            out.append(candidate.with_step(RERANKED, fused * min(scores), why))
    return out
