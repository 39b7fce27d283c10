"""Fusion: the routes' lists become one list of candidates that keeps every route's share as evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import overload

from fivefold.retrieval.recipe import FusionSpec, Method
from fivefold.retrieval.routes import ROUTES
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import (
    SHOWN_TOP,
    Candidate,
    Evidence,
    FusedRows,
    Plan,
    RouteHit,
    RouteRun,
    TopHit,
    later,
)


@dataclass(frozen=True, slots=True)
class Part:
    """One hit's share in the fused score, and its arithmetic."""

    hit: RouteHit
    rank: int
    contribution: float
    arithmetic: str


@dataclass(frozen=True, slots=True)
class Shares(Sequence[Part]):
    """What each hit of a list adds to the fused score. Parts are made, and written out, when they are looked at."""

    hits: Sequence[RouteHit]
    contributions: Sequence[float]
    arithmetic: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Part: ...
    @overload
    def __getitem__(self, place: slice) -> list[Part]: ...
    def __getitem__(self, place: int | slice) -> Part | list[Part]:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        return Part(self.hits[place], place + 1, self.contributions[place], self.arithmetic(place))


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


def score_rrf(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> Shares:
    """weight · √score / (k + rank), the score mapped into 0..1 first (R10)."""
    shares = ROUTES[route].normalize([hit.score for hit in hits])
    return Shares(
        hits,
        [
            weight * hit.factor * math.sqrt(share) / (k + rank)
            for rank, (hit, share) in enumerate(zip(hits, shares, strict=True), 1)
        ],
        lambda i: f"{weight * hits[i].factor:g} · √{shares[i]:.4f} / ({k:g} + {i + 1})",
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


def composite(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> Shares:
    """weight · score (D1); the store has computed it."""
    return Shares(
        hits,
        [hit.contribution if hit.contribution is not None else weight * hit.score for hit in hits],
        lambda i: f"{weight * hits[i].factor:g} · {hits[i].score:.4f}",
    )


FORMULAS: dict[Method, Formula] = {"rrf": rrf, "score-rrf": score_rrf, "convex": convex, "composite": composite}


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
    ranked, size = _best_first(fused), max(spec.pool, spec.pool_per_k * plan.k, plan.k)
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
    return _best_first(_sums(_shares([run for run in runs if run.route not in supports], plan, spec).values()))


def _best_first(fused: Mapping[int, float]) -> list[int]:
    return sorted(fused, key=lambda row: (-fused[row], row))


def _shares(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec) -> dict[str, Shares]:
    """By route, what each of its hits adds to the fused score."""
    planned = {part.route: part for part in plan.routes}
    return {
        run.route: FORMULAS[spec.method](run.hits, part.search, part.weight, spec.k, part.depth)
        for run in runs
        if (part := planned[run.route])
    }


def _sums(shares: Iterable[Shares]) -> dict[int, float]:
    """By row, the sum of what the routes add."""
    added: dict[int, list[float]] = {}
    for of_route in shares:
        for hit, contribution in zip(of_route.hits, of_route.contributions, strict=True):
            if hit.row in added:
                added[hit.row].append(contribution)
            else:
                added[hit.row] = [contribution]
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
    memories = {candidate.memory.row: candidate.memory for candidate in candidates}
    return [_with_top(run, memories) for run in runs]


def _with_top(run: RouteRun, memories: Mapping[int, Memory]) -> RouteRun:
    top = tuple(
        TopHit(memories[hit.row].id, hit.score, memories[hit.row].content, hit.note)
        for hit in run.hits[:SHOWN_TOP]
        if hit.row in memories
    )
    return replace(run, top=top) if top else run
