"""The routes of a plan run in parallel within a time budget. One that fails or is late loses only its own hits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from fivefold.errors import ServerAway, StoreClosed
from fivefold.retrieval.encode import Encoding
from fivefold.retrieval.fuse import rows_by_share
from fivefold.retrieval.in_store import search_in_store
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.route_line import RouteLine
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.stores.protocol import DensePreparation
from fivefold.values.filters import EVERYTHING
from fivefold.values.memory import Type
from fivefold.values.recall_trace import Plan, RouteHit, RoutePlan, RouteRun

_log = logging.getLogger("fivefold")

Answer = TypeVar("Answer")


PATIENCE_S = 0.002
"""How long the routes without a reading may run one after the other once the others run too."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Routes that have begun: those without a reading, and those of the thread that reads, with what was prepared."""

    free: RouteLine = field(default_factory=RouteLine)
    encoded: RouteLine = field(default_factory=RouteLine)
    prepared: dict[str, DensePreparation] = field(default_factory=dict)


def begin_routes(
    plan: Plan, context: SearchContext, pool: ThreadPoolExecutor, fusion: FusionSpec, encoding: Encoding | None = None
) -> Begun:
    """Begin the routes that need no reading of the question, and have those that need it follow the reading."""
    if fusion.store or fusion.weights == "learned":  # the plan is not complete yet
        return Begun()
    follows = encoding is not None and context.query.to_read == context.query.text
    begun = Begun(encoded=encoding.routes if encoding and follows else RouteLine())
    for part in plan.routes:
        if not part.run or ROUTES[part.search].rescores:
            continue
        if not ROUTES[part.search].encodes:
            begun.free.add(part.route, partial(_run, part, context))
        elif encoding and follows:
            begun.prepared[part.route] = _prepare(part, context)
            begun.encoded.add(part.route, partial(_run_encoded, part, context, encoding))
    _unless_closed(lambda: begun.free.begin(pool))
    return begun


def retrieve(
    plan: Plan, context: SearchContext, pool: ThreadPoolExecutor, fusion: FusionSpec, begun: Begun | None = None
) -> list[RouteRun]:
    """One run a route, in the plan's order: side by side, or by the store in one statement."""
    known = begun or Begun()
    prepared = {
        part.route: known.prepared.get(part.route) or _prepare(part, context) for part in plan.routes if part.run
    }
    patient = {route for route, done in prepared.items() if done.scans}
    runs = _runs(plan, context, pool, fusion, patient, known)
    if few := _too_few(plan, runs, context):
        wide = replace(plan, routes=tuple(replace(part, types=()) for part in plan.routes))
        narrowed = {part.route for part in plan.routes if _types_of(part, context)}
        runs = [
            replace(run, reason=few) if run.route in narrowed and run.status == "hits" else run
            for run in _runs(wide, context, pool, fusion, patient, Begun())
        ]
    return [_with_note(run, prepared[run.route].note) if run.route in prepared else run for run in runs]


def _too_few(plan: Plan, runs: Sequence[RouteRun], context: SearchContext) -> str:
    """Why the whole search runs once more over all types: a route found too few of the implied ones (R9)."""
    for part, run in zip(plan.routes, runs, strict=True):
        types = _types_of(part, context)
        if types and run.status == "hits" and run.found < context.settings.widen_below:
            return f"only {run.found} of type {' or '.join(types)} by {part.route}, so all types were searched"
    return ""


def _types_of(part: RoutePlan, context: SearchContext) -> tuple[Type, ...]:
    """The implied types that the filter allows. A route that only supports others' hits brings no candidates."""
    allowed = EVERYTHING if part.supports else context.keep
    return tuple(type for type in part.types if not allowed.types or type in allowed.types)


def _prepare(part: RoutePlan, context: SearchContext) -> DensePreparation:
    """What the store loads first takes nothing off the time of a route."""
    space, fields = context.space, ROUTES[part.search].vector_fields(part.options)
    if space is None:
        return DensePreparation()
    try:
        done = [context.reader.search.prepare_dense(space, where) for where in fields]
    except (StoreClosed, ServerAway):
        raise
    except Exception:  # the route meets the same and says so
        return DensePreparation()
    return DensePreparation("; ".join(one.note for one in done if one.note), any(one.scans for one in done))


def _with_note(run: RouteRun, note: str) -> RouteRun:
    return replace(run, reason="; ".join(filter(None, (run.reason, note)))) if note and run.status == "hits" else run


def _runs(
    plan: Plan,
    context: SearchContext,
    pool: ThreadPoolExecutor,
    fusion: FusionSpec,
    patient: Collection[str],
    begun: Begun,
) -> list[RouteRun]:
    """The routes named in `patient` have all the time they need."""
    start = perf_counter()
    if fusion.store:
        together = _begin(pool, partial(search_in_store, plan, context, fusion))
        return _in_time(plan, together, start, bool(patient))
    first = [part for part in plan.routes if part.run and not ROUTES[part.search].rescores]
    futures = {
        part.route: begun.encoded.get(part.route)
        or begun.free.get(part.route)
        or _begin(pool, partial(_run, part, context))
        for part in first
    }
    _unless_closed(lambda: begun.encoded.hurry(pool))
    _unless_closed(lambda: begun.free.hurry(pool, PATIENCE_S))
    runs = {route: _outcome(part, futures[route], start, route in patient) for part in first if (route := part.route)}
    for part in plan.routes:
        if part.route not in runs:
            runs[part.route] = (
                _rescore(part, list(runs.values()), plan, context, fusion) if part.run else _skipped(part)
            )
    return [runs[part.route] for part in plan.routes]


def _rescore(
    part: RoutePlan, runs: Sequence[RouteRun], plan: Plan, context: SearchContext, fusion: FusionSpec
) -> RouteRun:
    """A route that scores what the others found, in the order in which they would be fused."""
    unavailable = ROUTES[part.search].unavailable(context)
    if unavailable:
        return RouteRun(part.route, "skipped", unavailable, 0, 0.0)
    return _run(part, replace(context, candidates=rows_by_share(runs, plan, fusion)))


def _begin(pool: ThreadPoolExecutor, work: Callable[[], Answer]) -> Future[Answer]:
    return _unless_closed(lambda: pool.submit(work))


def _unless_closed(begin: Callable[[], Answer]) -> Answer:
    try:
        return begin()
    except RuntimeError:  # the engine was closed since the recall began
        raise StoreClosed("this engine was closed; open the store again") from None


def _in_time(plan: Plan, together: Future[list[RouteRun]], start: float, patient: bool) -> list[RouteRun]:
    budget = max((part.budget_ms for part in plan.routes), default=0)
    try:
        return together.result(timeout=None if patient else budget / 1000)
    except Late:
        together.cancel()
        _log.warning("the routes took over %d ms and were left out", budget)
        return [
            RouteRun(part.route, "late", f"not done after {budget} ms", 0, _ms(start)) if part.run else _skipped(part)
            for part in plan.routes
        ]


def _skipped(part: RoutePlan) -> RouteRun:
    return RouteRun(part.route, "skipped", part.reason, 0, 0.0)


def _outcome(part: RoutePlan, future: Future[RouteRun], start: float, patient: bool) -> RouteRun:
    """The route's run, or that it was late: it may go on, but this answer does not wait for it."""
    left = part.budget_ms / 1000 - (perf_counter() - start)
    try:
        return future.result(timeout=None if patient else max(0.0, left))
    except Late:
        future.cancel()
        _log.warning("route %s took over %d ms and was left out", part.route, part.budget_ms)
        return RouteRun(part.route, "late", f"not done after {part.budget_ms} ms", 0, _ms(start))


def _run_encoded(part: RoutePlan, context: SearchContext, encoding: Encoding) -> RouteRun:
    return _run(part, replace(context, question=encoding.reading.result()))


def _run(part: RoutePlan, context: SearchContext) -> RouteRun:
    start = perf_counter()
    try:
        hits, why = _search(part, context)
    except (StoreClosed, ServerAway):
        raise  # no route can answer
    except Exception as error:
        _log.warning("route %s failed: %s", part.route, error)
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, _ms(start))
    return RouteRun(part.route, "hits", why, len(hits), _ms(start), hits=tuple(hits))


def _search(part: RoutePlan, context: SearchContext) -> tuple[list[RouteHit], str]:
    """Search among the implied types, or among all that the filter allows."""
    allowed = EVERYTHING if part.supports else context.keep
    types = _types_of(part, context)
    narrowed = replace(allowed, types=types) if types else allowed
    return ROUTES[part.search].search(context, part.depth, narrowed, part.options), part.reason


def _ms(start: float) -> float:
    return (perf_counter() - start) * 1000
