"""Fusion: the routes' lists become one list of candidates, every route's share kept as evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fivefold.memory import Memory
from fivefold.recall import Candidate, Evidence, Plan, RouteHit, RouteRun
from fivefold.recipe import FusionSpec, Method
from fivefold.routes import ROUTES


@dataclass(frozen=True, slots=True)
class Part:
    """One hit's share in the fused score, and the arithmetic that gave it, written out only when shown."""

    hit: RouteHit
    rank: int
    contribution: float
    told: Callable[[], str]


Formula = Callable[[Sequence[RouteHit], str, float, float], list[Part]]


def rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float) -> list[Part]:
    """weight / (k + rank), rank from 1: M3 with k 15, F3 and E2 with k 60."""
    return [
        Part(hit, rank, weight / (k + rank), lambda rank=rank: f"{weight:g} / ({k:g} + {rank})")  # type: ignore[misc]
        for rank, hit in enumerate(hits, 1)
    ]


def score_rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float) -> list[Part]:
    """weight · √score / (k + rank), the score mapped into 0..1 first (R10)."""
    shares = ROUTES[route].share([hit.score for hit in hits])
    return [
        Part(
            hit, rank, weight * math.sqrt(share) / (k + rank),
            lambda rank=rank, share=share: f"{weight:g} · √{share:.4f} / ({k:g} + {rank})",  # type: ignore[misc]
        )
        for rank, (hit, share) in enumerate(zip(hits, shares, strict=True), 1)
    ]  # fmt: skip


def convex(hits: Sequence[RouteHit], route: str, weight: float, k: float) -> list[Part]:
    """weight · (score − min) / (max − min) over the route's own list; a list of equals counts in full."""
    if not hits:
        return []
    low, high = min(hit.score for hit in hits), max(hit.score for hit in hits)
    span = high - low
    return [
        Part(
            hit, rank, weight * ((hit.score - low) / span if span > 0 else 1.0),
            lambda score=hit.score: (  # type: ignore[misc]
                f"{weight:g} · ({score:.4f} − {low:.4f}) / {span:.4f}" if span > 0 else f"{weight:g} · 1"
            ),
        )
        for rank, hit in enumerate(hits, 1)
    ]  # fmt: skip


FORMULAS: dict[Method, Formula] = {"rrf": rrf, "score-rrf": score_rrf, "convex": convex}


def fuse(
    runs: Sequence[RouteRun],
    plan: Plan,
    spec: FusionSpec,
    fetch: Callable[[Sequence[int]], dict[int, Memory]],
) -> list[Candidate]:
    """The best `pool` candidates; one that was forgotten while the recall ran is no longer there to fetch."""
    weights = {part.route: part.weight for part in plan.routes}
    formula = FORMULAS[spec.method]
    found: dict[int, list[tuple[str, Part]]] = {}
    for run in runs:
        for part in formula(run.hits, run.route, weights[run.route], spec.k):
            found.setdefault(part.hit.row, []).append((run.route, part))
    fused = {row: math.fsum(part.contribution for _, part in parts) for row, parts in found.items()}
    best = sorted(fused, key=lambda row: (-fused[row], row))[: max(spec.pool, plan.k)]
    memories = fetch(best)
    return [
        Candidate(
            memories[row],
            tuple(_evidence(route, part, weights[route]) for route, part in found[row]),
            fused[row],
        )
        for row in best
        if row in memories
    ]


def _evidence(route: str, part: Part, weight: float) -> Evidence:
    return Evidence(route, part.rank, part.hit.score, weight, part.contribution, part.told(), part.hit.note)
