"""Fusion: the routes' lists become one list of candidates that keeps every route's share as evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from fivefold.retrieval.protocols import SearchContext
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.routes.searches import DenseOptions, LexicalOptions, words
from fivefold.stores.records import Arm, FusedHit
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import (
    SHOWN_TOP,
    Candidate,
    Evidence,
    FusedRows,
    Plan,
    RouteHit,
    RoutePlan,
    RouteRun,
    TopHit,
    later,
)
from fivefold.values.registry import Parts
from fivefold.values.vectors import QuestionReading


@dataclass(frozen=True, slots=True)
class Shares:
    """What each hit of a list adds to the fused score. The arithmetic is written out when it is looked at."""

    hits: Sequence[RouteHit]
    contributions: Sequence[float]
    arithmetic: Callable[[int], str]


Formula = Callable[[Sequence[RouteHit], str, float, float, int], Shares]


def rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> Shares:
    """weight / (k + rank), rank from 1: M3 with k 15, F3 and E2 with k 60."""
    return Shares(
        hits,
        [
            weight * hit.factor / (k + rank) if hit.contribution is None else hit.contribution
            for rank, hit in enumerate(hits, 1)
        ],
        lambda i: f"{weight * hits[i].factor:g} / ({k:g} + {i + 1})",
    )


def convex(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> Shares:
    """weight · (score − floor) / (best − floor), best first.

    The floor is what a memory that is not on the list may have scored: the lowest of a list cut off at its depth or of
    one that scores what others found, and nothing (0) on a list that was not cut. A list of equals counts in full.
    """
    high = max((hit.score for hit in hits), default=0.0)
    low = min((hit.score for hit in hits), default=0.0)
    if len(hits) < depth and not ROUTES[route].rescores:
        low = min(0.0, low)
    span = high - low
    return Shares(
        hits,
        [weight * hit.factor * ((hit.score - low) / span if span > 0 else 1.0) for hit in hits],
        lambda i: (
            f"{weight * hits[i].factor:g} · " + (f"({hits[i].score:.4g} − {low:.4g}) / {span:.4g}" if span > 0 else "1")
        ),
    )


StoreSearch = Callable[[Sequence[RoutePlan], SearchContext, FusionSpec], tuple[Sequence[FusedHit], Mapping[str, str]]]
"""Searches all routes in one statement of the store (D9, M3); by route, what else there is to say of it."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """A way to make one list of many: what a hit adds to it, and where the store or a model takes part."""

    shares: Formula
    in_store: StoreSearch | None = None
    weigh: Callable[[SearchContext], SearchContext] | None = None
    """Predicts the weights of the plan from the question."""


def _rrf_in_store(
    parts: Sequence[RoutePlan], context: SearchContext, fusion: FusionSpec
) -> tuple[Sequence[FusedHit], Mapping[str, str]]:
    arms = []
    for part in parts:
        field = part.options.field if isinstance(part.options, DenseOptions) else None
        sessions = isinstance(part.options, DenseOptions | LexicalOptions) and part.options.of == "sessions"
        arms.append(Arm(part.route, part.depth, part.weight, field, sessions))
    vector = context.question.vector if isinstance(context.question, QuestionReading) else None
    return context.reader.search.rrf(context.space, vector, words(context.query), arms, fusion.k, context.keep), {}


FUSIONS: Parts[Fusion] = Parts(
    {
        "rrf": Fusion(rrf, _rrf_in_store),
        "convex": Fusion(convex),
        "score-rrf": "fivefold.designs.recall:SCORE_RRF",
        "composite": "fivefold.designs.ditto:COMPOSITE",
    }
)


@dataclass(frozen=True, slots=True)
class Fused:
    """The candidates, by row the scores of routes that only support others, and all that the routes brought."""

    candidates: list[Candidate]
    supporting: dict[int, float]
    rows: FusedRows


Fetch = Callable[[Sequence[int], Sequence[int]], tuple[dict[int, Memory], dict[int, str]]]
"""The memories at some rows, and only the ids of those at others."""


def fuse(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec, fetch: Fetch) -> Fused:
    """The best `pool` candidates; one that was forgotten while the recall ran is no longer there to fetch."""
    supports = {part.route for part in plan.routes if part.supports}
    shares = _shares([run for run in runs if run.route not in supports], plan, spec)
    fused = _sums(shares.values())
    ranked, size = sorted(fused, key=lambda row: (-fused[row], row)), max(spec.pool, spec.pool_per_k * plan.k, plan.k)
    best = ranked[:size]
    memories, ids = fetch(best, ranked[size:])
    evidence = _evidence(shares, {row for row in best if row in memories}, plan)
    candidates = [Candidate(memories[row], tuple(evidence[row]), fused[row]) for row in best if row in memories]
    supporting = _sums(_shares([run for run in runs if run.route in supports], plan, spec).values())
    ids.update((row, memory.id) for row, memory in memories.items())
    return Fused(candidates, supporting, FusedRows(fused, ids, size))


def rows_by_share(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec) -> list[int]:
    """The rows that these routes found, in the order in which they are fused."""
    supports = {part.route for part in plan.routes if part.supports}
    fused = _sums(_shares([run for run in runs if run.route not in supports], plan, spec).values())
    return sorted(fused, key=lambda row: (-fused[row], row))


def _shares(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec) -> dict[str, Shares]:
    """By route, what each of its hits adds to the fused score."""
    planned = {part.route: part for part in plan.routes}
    return {
        run.route: FUSIONS[spec.method].shares(run.hits, part.search, part.weight, spec.k, part.depth)
        for run in runs
        if (part := planned[run.route])
    }


def _sums(shares: Iterable[Shares]) -> dict[int, float]:
    """By row, the sum of what the routes add."""
    added: dict[int, list[float]] = {}
    for of_route in shares:
        for hit, contribution in zip(of_route.hits, of_route.contributions, strict=True):
            added.setdefault(hit.row, []).append(contribution)
    return {row: math.fsum(parts) for row, parts in added.items()}


def _evidence(shares: Mapping[str, Shares], rows: Set[int], plan: Plan) -> dict[int, list[Evidence]]:
    """By row, its place in each route that found it and what that added."""
    weights = {part.route: part.weight for part in plan.routes}
    found: dict[int, list[Evidence]] = {row: [] for row in rows}
    for route, of_route in shares.items():
        weight = weights[route]
        for i, hit in enumerate(of_route.hits):
            if hit.row in rows:
                found[hit.row].append(
                    Evidence(
                        route,
                        i + 1,
                        hit.score,
                        weight * hit.factor,
                        of_route.contributions[i],
                        later(of_route.arithmetic, i),
                        hit.note,
                    )
                )
    return found


def name_top_hits(runs: Sequence[RouteRun], candidates: Sequence[Candidate]) -> list[RouteRun]:
    """The runs with their first hits named, now that their memories are at hand."""
    memories, named = {candidate.memory.row: candidate.memory for candidate in candidates}, []
    for run in runs:
        top = tuple(
            TopHit(memories[hit.row].id, hit.score, memories[hit.row].content, hit.note)
            for hit in run.hits[:SHOWN_TOP]
            if hit.row in memories
        )
        named.append(replace(run, top=top) if top else run)
    return named
