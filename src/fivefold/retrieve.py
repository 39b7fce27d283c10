"""The routes of a plan, run in parallel within a time budget. One that fails or is late costs its own hits only."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from time import perf_counter

from fivefold.errors import StoreClosed
from fivefold.recall import Plan, RouteHit, RoutePlan, RouteRun
from fivefold.routes import ROUTES, Sight
from fivefold.stores.base import Filter

_log = logging.getLogger("fivefold")


def retrieve(plan: Plan, sight: Sight, pool: ThreadPoolExecutor) -> list[RouteRun]:
    """One run a route, in the plan's order."""
    start = perf_counter()
    futures = {part.route: pool.submit(_run, part, sight) for part in plan.routes if part.run}
    return [
        _outcome(part, futures[part.route], start) if part.run else RouteRun(part.route, "skipped", part.reason, 0, 0.0)
        for part in plan.routes
    ]


def _outcome(part: RoutePlan, future: Future[RouteRun], start: float) -> RouteRun:
    """The route's run, or that it was late: it may go on, but this answer does not wait for it."""
    left = part.budget_ms / 1000 - (perf_counter() - start)
    try:
        return future.result(timeout=max(0.0, left))
    except Late:
        future.cancel()
        _log.warning("route %s took over %d ms and was left out", part.route, part.budget_ms)
        return RouteRun(part.route, "late", f"not done after {part.budget_ms} ms", 0, _ms(start))


def _run(part: RoutePlan, sight: Sight) -> RouteRun:
    start = perf_counter()
    try:
        hits, why = _search(part, sight)
    except StoreClosed:
        raise
    except Exception as error:
        _log.warning("route %s failed: %s", part.route, error)
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, _ms(start))
    return RouteRun(part.route, "hits", why, len(hits), _ms(start), hits=tuple(hits))


def _search(part: RoutePlan, sight: Sight) -> tuple[list[RouteHit], str]:
    """Search among the implied types first; too few of those, and the filter is dropped (R9)."""
    route = ROUTES[part.route]
    hits = route.search(sight, part.depth, Filter(part.types))
    if not part.types or len(hits) >= sight.settings.widen_below:
        return hits, part.reason
    wide = route.search(sight, part.depth, Filter())
    return wide, f"only {len(hits)} of type {' or '.join(part.types)}, so all types were searched"


def _ms(start: float) -> float:
    return (perf_counter() - start) * 1000
