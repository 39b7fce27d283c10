"""Every candidate of a recall with its place in each route, read off the trace when somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fivefold.values.recall_trace import Candidate, Dropped, FusedRows, Plan, RoutePlace, RouteRun, TracedCandidate


def trace_candidates(
    plan: Plan, routes: Iterable[RouteRun], ranked: Sequence[Candidate], dropped: Sequence[Dropped], fused: FusedRows
) -> tuple[TracedCandidate, ...]:
    """The answer by rank, then what stages dropped, then what the fusion left behind, best first."""
    places = _places(plan, routes)
    rows = {id: row for row, id in fused.ids.items()}
    hits = [
        TracedCandidate(one.memory.id, rank, one.score, "", "", tuple(places.get(one.memory.row, ())))
        for rank, one in enumerate(ranked, 1)
    ]
    left = [
        TracedCandidate(one.id, None, one.score, one.stage, one.reason, tuple(places.get(rows.get(one.id, -1), ())))
        for one in dropped
    ]
    seen = {one.id for one in (*hits, *left)}
    return (*hits, *left, *_beyond_pool(fused, places, seen))


def _places(plan: Plan, routes: Iterable[RouteRun]) -> dict[int, list[RoutePlace]]:
    """By row; a route that only supports others brings no candidates."""
    supports = {part.route for part in plan.routes if part.supports}
    places: dict[int, list[RoutePlace]] = {}
    for run in routes:
        if run.route not in supports:
            for rank, hit in enumerate(run.hits, 1):
                places.setdefault(hit.row, []).append(RoutePlace(run.route, rank, hit.score))
    return places


def _beyond_pool(fused: FusedRows, places: dict[int, list[RoutePlace]], seen: set[str]) -> Iterator[TracedCandidate]:
    """What the routes brought and no stage has seen."""
    ranked = sorted(fused.scores, key=lambda row: (-fused.scores[row], row))
    for rank, row in enumerate(ranked, 1):
        id = fused.ids.get(row)
        if id is not None and id not in seen:
            reason = f"rank {rank} of {len(ranked)}, beyond the {fused.pool} that go on"
            yield TracedCandidate(id, None, fused.scores[row], "fuse", reason, tuple(places.get(row, ())))
