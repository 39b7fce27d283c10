"""The routes of a plan run in parallel within a time budget. One that fails or is late loses only its own hits."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from fivefold.errors import EmbedderError, FivefoldError, ServerAway, StoreClosed
from fivefold.learning.adaptation import QueryDecay
from fivefold.models.embedders import Embedder, gives_tokens, read_question
from fivefold.namespace import Namespace
from fivefold.retrieval.fuse import rows_by_share
from fivefold.retrieval.plan import Weighed, horizon_of, weigh_results
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.request import RecallRequest
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.retrieval.routes.searches import DenseOptions, LexicalOptions, words
from fivefold.stores.interface import DensePreparation, VectorSpace
from fivefold.stores.records import Arm, Composite, FusedHit
from fivefold.values.filters import EVERYTHING
from fivefold.values.memory import Type
from fivefold.values.query import Query
from fivefold.values.recall_trace import Plan, RouteHit, RoutePlan, RouteRun
from fivefold.values.vectors import QuestionReading, Vector

# Routes in a line: one thread runs them while the model reads the question, more once it has read it.

Run = Callable[[], RouteRun]


class RouteLine:
    """Runs of routes that have begun, by name. Threads that run Python side by side only wait for each other."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Future[RouteRun], Run]] = deque()
        self._runs: dict[str, Future[RouteRun]] = {}

    def add(self, route: str, run: Run) -> None:
        self._runs[route] = future = Future[RouteRun]()
        self._waiting.append((future, run))

    def get(self, route: str) -> Future[RouteRun] | None:
        """The run of a route, if it is in the line."""
        return self._runs.get(route)

    def begin(self, threads: ThreadPoolExecutor) -> None:
        """One thread works off the line."""
        if self._waiting:
            threads.submit(self.work)

    def hurry(self, threads: ThreadPoolExecutor, patience_s: float = 0.0) -> None:
        """What still waits after that time gets a thread each: a route that takes long keeps no other waiting."""
        if self._waiting and patience_s:
            wait(list(self._runs.values())[-1:], timeout=patience_s)
        for _ in range(len(self._waiting)):
            threads.submit(self.work)

    def work(self) -> None:
        """Run what waits, one after the other."""
        while self._waiting:
            try:
                future, run = self._waiting.popleft()
            except IndexError:  # another thread was faster
                return
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(run())
                except BaseException as error:
                    future.set_exception(error)


# Routes that the store searches and fuses in one statement (D9, M3), with the runs it consists of.

_log = logging.getLogger("fivefold")


def search_in_store(plan: Plan, context: SearchContext, fusion: FusionSpec) -> list[RouteRun]:
    """One statement for all routes; a route that cannot run is named, and the others still answer."""
    start = perf_counter()
    able = [part for part in plan.routes if part.run and not _encoding_error(part, context)]
    reasons: dict[str, str] = {}
    try:
        if fusion.method == "composite":
            weighed, reasons = _composite(able, context, fusion)
        else:
            weighed = Weighed(_rrf(able, context, fusion))
    except (StoreClosed, ServerAway):
        raise
    except Exception as error:
        _log.warning("the routes failed: %s", error)
        failed = f"{type(error).__name__}: {error}"
        runs = [_outcome(part, [], context, start) for part in plan.routes]
        return [run if run.status == "skipped" else replace(run, status="failed", reason=failed) for run in runs]
    hits: dict[str, list[FusedHit]] = {}
    for item in weighed.hits:
        hits.setdefault(item.route, []).append(item)
    runs = [_outcome(part, hits.get(part.route, []), context, start) for part in plan.routes]
    return [replace(run, reason=_with_reason(run, reasons, weighed)) for run in runs]


def _outcome(part: RoutePlan, fused: Sequence[FusedHit], context: SearchContext, start: float) -> RouteRun:
    if not part.run:
        return RouteRun(part.route, "skipped", part.reason, 0, 0.0)
    ms = (perf_counter() - start) * 1000
    error = _encoding_error(part, context)
    if error is not None:
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, ms)
    ranked = sorted(fused, key=lambda item: item.rank)
    hits = tuple(RouteHit(item.row, item.score, factor=item.factor, contribution=item.contribution) for item in ranked)
    return RouteRun(part.route, "hits", part.reason, len(hits), ms, hits=hits)


def _with_reason(run: RouteRun, reasons: Mapping[str, str], weighed: Weighed) -> str:
    """What the run says, with the decay of the question and how its results were weighed."""
    if run.status != "hits":
        return run.reason
    return "; ".join(filter(None, (run.reason, reasons.get(run.route, ""), weighed.reason)))


def _encoding_error(part: RoutePlan, context: SearchContext) -> FivefoldError | None:
    """Why a route that compares vectors has no vector."""
    return context.question if ROUTES[part.search].encodes and isinstance(context.question, FivefoldError) else None


def _rrf(parts: Sequence[RoutePlan], context: SearchContext, fusion: FusionSpec) -> list[FusedHit]:
    arms = []
    for part in parts:
        field = part.options.field if isinstance(part.options, DenseOptions) else None
        sessions = isinstance(part.options, DenseOptions | LexicalOptions) and part.options.of == "sessions"
        arms.append(Arm(part.route, part.depth, part.weight, field, sessions))
    return context.reader.search.rrf(
        context.space, _vector(context), words(context.query), arms, fusion.k, context.keep
    )


def _composite(
    parts: Sequence[RoutePlan], context: SearchContext, fusion: FusionSpec
) -> tuple[Weighed, dict[str, str]]:
    """The shares of all candidates, and why recency decays as it does, by route."""
    by_search = {part.search: part for part in parts}
    dense, vector = by_search.get("dense"), _vector(context)
    if dense is None or context.space is None or vector is None:
        return Weighed([]), {}
    recency = by_search.get("recency")
    horizon = horizon_of(recency, context)
    how = Composite(
        depth=dense.depth,
        similarity=(dense.route, dense.weight),
        recency=_route_weight(recency),
        frequency=_route_weight(by_search.get("frequency")),
        decay=horizon.decay,
        now=context.query.now,
    )
    hits = context.reader.search.composite(context.space, vector, how, context.keep)
    weighed = weigh_results(hits, parts, context) if fusion.per_result else Weighed(hits)
    return weighed, {recency.route: _describe(horizon)} if recency and horizon.reason else {}


def _describe(horizon: QueryDecay) -> str:
    return f"{horizon.decay.describe()}, since {horizon.reason}"


def _route_weight(part: RoutePlan | None) -> tuple[str, float] | None:
    return None if part is None else (part.route, part.weight)


def _vector(context: SearchContext) -> Vector | None:
    return context.question.vector if isinstance(context.question, QuestionReading) else None


# The question as the model reads it. The model begins while the question is still being understood.

Outcome = QuestionReading | FivefoldError
"""A failing model fails the routes that need it, not the recall."""


class Encoding:
    """A question that a thread reads. The same thread then runs the routes that wait for the reading."""

    def __init__(self) -> None:
        self.reading: Future[Outcome] = Future()
        self.routes = RouteLine()

    def run(self, model: Embedder, text: str) -> None:
        if self.reading.set_running_or_notify_cancel():
            self.reading.set_result(_read(model, text))
            self.routes.work()


def begin_encoding(
    request: RecallRequest, namespace: Namespace, space: VectorSpace | None, threads: ThreadPoolExecutor
) -> Encoding | None:
    """Read the question as it was asked, which is mostly how it is meant; None where that is better left for later.

    Only a model with token vectors begins: another may be a server's, which is asked once.
    """
    if request.history or not any(ROUTES[spec.search].encodes for spec in request.recipe.routes):
        return None
    try:
        model, encoding = namespace.embedder_of(space), Encoding()
        if not gives_tokens(model):
            return None
        threads.submit(encoding.run, model, request.question)
    except (FivefoldError, RuntimeError):  # the engine was closed, or the routes that need the model will say
        return None
    return encoding


def encode_question(
    query: Query, planned: Plan, namespace: Namespace, space: VectorSpace | None, begun: Encoding | None = None
) -> Outcome | None:
    """The question as the model reads it, if a route needs that."""
    needed = any(part.run and ROUTES[part.search].encodes for part in planned.routes)
    if needed and begun is not None and query.to_read == query.text:
        return begun.reading.result()
    if begun is not None:
        begun.reading.cancel()
    if not needed:
        return None
    try:
        return _read(namespace.embedder_of(space), query.to_read)
    except FivefoldError as error:
        return error
    except Exception as error:
        return _failed(error)


def _read(model: Embedder, text: str) -> Outcome:
    try:
        return read_question(model, text)
    except FivefoldError as error:
        return error
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> EmbedderError:
    return EmbedderError(f"the question could not be encoded: {type(error).__name__}: {error}")


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
    runs = {
        route: _retrieve_outcome(part, futures[route], start, route in patient)
        for part in first
        if (route := part.route)
    }
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


def _retrieve_outcome(part: RoutePlan, future: Future[RouteRun], start: float, patient: bool) -> RouteRun:
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
