"""The routes of a plan, run in parallel. One that fails costs its own hits, not the answer."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from fivefold.errors import StoreClosed
from fivefold.recall import Plan, RoutePlan, RouteRun
from fivefold.routes import ROUTES, Sight

_log = logging.getLogger("fivefold")


def retrieve(plan: Plan, sight: Sight, pool: ThreadPoolExecutor) -> list[RouteRun]:
    """One run a route, in the plan's order. The first runs here, the others beside it."""
    running = [part for part in plan.routes if part.run]
    futures = {part.route: pool.submit(_run, part, sight) for part in running[1:]}
    done = {part.route: _run(part, sight) for part in running[:1]}
    done |= {route: future.result() for route, future in futures.items()}
    return [done.get(part.route) or RouteRun(part.route, "skipped", part.reason, 0, 0.0) for part in plan.routes]


def _run(part: RoutePlan, sight: Sight) -> RouteRun:
    start = perf_counter()
    try:
        hits = tuple(ROUTES[part.route].search(sight, part.depth))
    except StoreClosed:
        raise
    except Exception as error:
        _log.warning("route %s failed: %s", part.route, error)
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, _ms(start))
    return RouteRun(part.route, "hits", part.reason, len(hits), _ms(start), hits)


def _ms(start: float) -> float:
    return (perf_counter() - start) * 1000
