"""Fusion: the routes' lists become one list of candidates that keeps every route's share as evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fivefold.retrieval.recipe import FusionSpec, Method
from fivefold.retrieval.routes import ROUTES
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import SHOWN_TOP, Candidate, Evidence, Plan, RouteHit, RouteRun, TopHit


@dataclass(frozen=True, slots=True)
class Part:
    """One hit's share in the fused score, and its arithmetic, written out only when needed."""

    hit: RouteHit
    rank: int
    contribution: float
    arithmetic: Callable[[], str]


Formula = Callable[[Sequence[RouteHit], str, float, float, int], list[Part]]


def rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> list[Part]:
    """weight / (k + rank), rank from 1: M3 with k 15, F3 and E2 with k 60."""
    return [
        Part(
            hit,
            rank,
            weight * hit.factor / (k + rank) if hit.contribution is None else hit.contribution,
            lambda rank=rank, w=weight * hit.factor: f"{w:g} / ({k:g} + {rank})",  # type: ignore[misc]
        )
        for rank, hit in enumerate(hits, 1)
    ]


def score_rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> list[Part]:
    """weight · √score / (k + rank), the score mapped into 0..1 first (R10)."""
    shares = ROUTES[route].normalize([hit.score for hit in hits])
    return [
        Part(
            hit,
            rank,
            weight * hit.factor * math.sqrt(share) / (k + rank),
            lambda rank=rank, share=share, w=weight * hit.factor: (  # type: ignore[misc]
                f"{w:g} · √{share:.4f} / ({k:g} + {rank})"
            ),
        )
        for rank, (hit, share) in enumerate(zip(hits, shares, strict=True), 1)
    ]


def convex(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> list[Part]:
    """weight · (score − floor) / (best − floor), best first.

    The floor is what a memory that is not on the list may have scored: the lowest of a list cut off at its depth or of
    one that scores what others found, and nothing (0) on a list that was not cut. A list of equals counts in full.
    """
    if not hits:
        return []
    high = max(hit.score for hit in hits)
    low = min(hit.score for hit in hits)
    if len(hits) < depth and not ROUTES[route].rescores:
        low = min(0.0, low)
    span = high - low
    return [
        Part(
            hit,
            rank,
            weight * hit.factor * ((hit.score - low) / span if span > 0 else 1.0),
            lambda score=hit.score, w=weight * hit.factor: (  # type: ignore[misc]
                f"{w:g} · ({score:.4g} − {low:.4g}) / {span:.4g}" if span > 0 else f"{w:g} · 1"
            ),
        )
        for rank, hit in enumerate(hits, 1)
    ]


def composite(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> list[Part]:
    """weight · score (D1); the store has computed it."""
    return [
        Part(
            hit,
            rank,
            hit.contribution if hit.contribution is not None else weight * hit.score,
            lambda score=hit.score: f"{weight:g} · {score:.4f}",  # type: ignore[misc]
        )
        for rank, hit in enumerate(hits, 1)
    ]


FORMULAS: dict[Method, Formula] = {"rrf": rrf, "score-rrf": score_rrf, "convex": convex, "composite": composite}


@dataclass(frozen=True, slots=True)
class Fused:
    """The candidates, and by row the scores of routes that only support others."""

    candidates: list[Candidate]
    supporting: dict[int, float]


def fuse(
    runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec, fetch: Callable[[Sequence[int]], dict[int, Memory]]
) -> Fused:
    """The best `pool` candidates; one that was forgotten while the recall ran is no longer there to fetch."""
    parts, supporting = _shares(runs, plan, spec)
    fused = {row: math.fsum([share.contribution for _, share in shares]) for row, shares in parts.items()}
    best = sorted(fused, key=lambda row: (-fused[row], row))[: max(spec.pool, spec.pool_per_k * plan.k, plan.k)]
    memories = fetch(best)
    weights = {part.route: part.weight for part in plan.routes}
    candidates = [
        Candidate(
            memories[row], tuple([_evidence(route, share, weights[route]) for route, share in parts[row]]), fused[row]
        )
        for row in best
        if row in memories
    ]
    return Fused(candidates, supporting)


def rows_by_share(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec) -> list[int]:
    """The rows that these routes found, in the order in which they are fused."""
    only_support = {part.route for part in plan.routes if part.supports}
    parts, _ = _shares([run for run in runs if run.route not in only_support], plan, spec)
    fused = {row: math.fsum([share.contribution for _, share in shares]) for row, shares in parts.items()}
    return sorted(fused, key=lambda row: (-fused[row], row))


def _shares(
    runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec
) -> tuple[dict[int, list[tuple[str, Part]]], dict[int, float]]:
    """By row, what each route adds to a candidate; and what routes that only support others give."""
    planned = {part.route: part for part in plan.routes}
    formula = FORMULAS[spec.method]
    parts: dict[int, list[tuple[str, Part]]] = {}
    supporting: dict[int, float] = {}
    for run in runs:
        part = planned[run.route]
        for share in formula(run.hits, part.search, part.weight, spec.k, part.depth):
            if part.supports:
                supporting[share.hit.row] = supporting.get(share.hit.row, 0.0) + share.contribution
            else:
                parts.setdefault(share.hit.row, []).append((run.route, share))
    return parts, supporting


def name_top_hits(run: RouteRun, candidates: Sequence[Candidate]) -> RouteRun:
    """The run with its first hits named, now that their memories are at hand."""
    memories = {candidate.memory.row: candidate.memory for candidate in candidates}
    top = [
        TopHit(memories[hit.row].id, hit.score, memories[hit.row].content, hit.note)
        for hit in run.hits[:SHOWN_TOP]
        if hit.row in memories
    ]
    return replace(run, top=tuple(top))


def _evidence(route: str, part: Part, weight: float) -> Evidence:
    return Evidence(
        route, part.rank, part.hit.score, weight * part.hit.factor, part.contribution, part.arithmetic(), part.hit.note
    )
