"""The search of a recall, overlapped in threads: routes run side by side while a model still reads the question.

A route that fails or is late loses only its own hits.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from fivefold.errors import EmbedderError, FivefoldError, ServerAway, StoreClosed
from fivefold.models.embedders import Embedder, gives_tokens, read_question
from fivefold.namespace import Namespace
from fivefold.retrieval.plan import RecallRequest
from fivefold.retrieval.protocols import SearchContext
from fivefold.retrieval.recipe import FusionSpec, Recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.routes.searches import DenseOptions, LexicalOptions, words
from fivefold.stores.interface import Reader
from fivefold.stores.records import Arm, DensePreparation, FusedHit, VectorSpace
from fivefold.text.passages import LATE_FACETS
from fivefold.values.filters import EVERYTHING
from fivefold.values.memory import Memory, Type
from fivefold.values.recall_trace import (
    SHOWN_TOP,
    Candidate,
    Findings,
    FusedRows,
    Plan,
    RouteHit,
    RoutePlan,
    RouteRun,
    RouteShares,
    TopHit,
    later,
    new_candidate,
)
from fivefold.values.registry import Parts
from fivefold.values.vectors import QuestionReading

# Fusion: the routes' lists become one list of candidates that keeps every route's share as evidence.


@dataclass(frozen=True, slots=True)
class Shares:
    """The part that each hit of a list adds to the fused score. The arithmetic is written out when it is looked at."""

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
    scores = [hit.score for hit in hits]
    high, low = max(scores, default=0.0), min(scores, default=0.0)
    if len(hits) < depth and not ROUTES[route].rescores:
        low = min(0.0, low)
    span = high - low
    return Shares(
        hits,
        [weight * hit.factor * ((hit.score - low) / span) for hit in hits]
        if span > 0
        else [weight * hit.factor * 1.0 for hit in hits],
        lambda i: (
            f"{weight * hits[i].factor:g} · " + (f"({hits[i].score:.4g} − {low:.4g}) / {span:.4g}" if span > 0 else "1")
        ),
    )


StoreSearch = Callable[[Sequence[RoutePlan], SearchContext, FusionSpec], tuple[Sequence[FusedHit], Mapping[str, str]]]
"""Searches all routes in one statement of the store (D9, M3); by route, what else there is to say of it."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """A way to make one list of many: the part that a hit adds to it, and the function by which the store or a model
    takes part."""

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
class FusedList:
    """The candidates, by row the scores of routes that only support others, and all that the routes brought."""

    candidates: list[Candidate]
    supporting: dict[int, float]
    rows: FusedRows


Fetch = Callable[[Sequence[int], Sequence[int]], tuple[dict[int, Memory], dict[int, str]]]
"""The memories at some rows, and only the ids of those at others."""


Known = dict[str, tuple[Sequence[RouteHit], Shares]]
"""The shares that were worked out before, by route, with the hits they are of."""


def fuse(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec, fetch: Fetch, known: Known | None = None) -> FusedList:
    """The best `pool` candidates; one that was forgotten while the recall ran is no longer there to fetch."""
    supports = {part.route for part in plan.routes if part.supports}
    shares = _shares([run for run in runs if run.route not in supports], plan, spec, known)
    fused = _sums(shares.values())
    ranked, size = _by_sum(fused), max(spec.pool, spec.pool_per_k * plan.k, plan.k)
    best = ranked[:size]
    memories, ids = fetch(best, ranked[size:])
    weights = {part.route: part.weight for part in plan.routes}
    lists = [
        RouteShares(route, weights[route], one.hits, one.contributions, one.arithmetic) for route, one in shares.items()
    ]
    write, found = Findings.evidence, Findings(lists)
    candidates = [new_candidate(memories[row], later(write, found, row), fused[row]) for row in best if row in memories]
    supporting = _sums(_shares([run for run in runs if run.route in supports], plan, spec).values())
    ids.update((row, memory.id) for row, memory in memories.items())
    return FusedList(candidates, supporting, FusedRows(fused, ids, size))


def rows_by_share(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec, known: Known) -> list[int]:
    """The rows that these routes found, in the order in which they are fused."""
    supports = {part.route for part in plan.routes if part.supports}
    fused = _sums(_shares([run for run in runs if run.route not in supports], plan, spec, known).values())
    return _by_sum(fused)


def _by_sum(fused: Mapping[int, float]) -> list[int]:
    """The rows, best first, the smaller of equals first: the second sort leaves equals as they are."""
    return sorted(sorted(fused), key=fused.__getitem__, reverse=True)


def _shares(runs: Sequence[RouteRun], plan: Plan, spec: FusionSpec, known: Known | None = None) -> dict[str, Shares]:
    """By route, what each of its hits adds to the fused score; of those in `known`, what was worked out before."""
    planned, known, shares = {part.route: part for part in plan.routes}, {} if known is None else known, {}
    for run in runs:
        hits, part = run.hits, planned[run.route]
        if run.route not in known or known[run.route][0] is not hits:
            of_route = FUSIONS[spec.method].shares(hits, part.search, part.weight, spec.k, part.depth)
            known[run.route] = hits, of_route
        shares[run.route] = known[run.route][1]
    return shares


def _sums(shares: Iterable[Shares]) -> dict[int, float]:
    """By row, the sum of what the routes add."""
    added: dict[int, list[float]] = {}
    for of_route in shares:
        for hit, contribution in zip(of_route.hits, of_route.contributions, strict=True):
            added.setdefault(hit.row, []).append(contribution)
    return {row: math.fsum(parts) for row, parts in added.items()}


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


PATIENCE_S = 0.002
"""Seconds that the routes without a reading may run one after the other once the others run too."""

Answer = TypeVar("Answer")

Outcome = QuestionReading | FivefoldError
"""A failing model fails the routes that need it, not the recall."""

_log = logging.getLogger("fivefold")


class RouteLine:
    """Routes in a line, by name. Threads that run Python side by side only wait for each other.

    So one thread runs them while the model reads the question, and more once it has read it.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Future[RouteRun], Callable[[], RouteRun]]] = deque()
        self._runs: dict[str, Future[RouteRun]] = {}

    def add(self, route: str, run: Callable[[], RouteRun]) -> None:
        self._runs[route] = future = Future[RouteRun]()
        self._waiting.append((future, run))

    def get(self, route: str) -> Future[RouteRun] | None:
        return self._runs.get(route)

    def begin(self, threads: ThreadPoolExecutor) -> None:
        """One thread works off the line."""
        if self._waiting:
            threads.submit(self.work)

    def hurry(self, threads: ThreadPoolExecutor, patience_s: float = 0.0) -> None:
        """Gives each run that still waits after that time a thread, so that a slow route keeps no other waiting."""
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


@dataclass(frozen=True, slots=True)
class PendingRoutes:
    """Routes that have begun: those without a reading, and those of the thread that reads, with what was prepared."""

    free: RouteLine = field(default_factory=RouteLine)
    reading: RouteLine = field(default_factory=RouteLine)
    prepared: dict[str, DensePreparation] = field(default_factory=dict)


class Search:
    """One recall in threads. From the start a model reads the question as it was asked, mostly as it is meant.

    Routes that need no reading begin once they are planned; the others follow in the thread that reads.
    """

    def __init__(
        self, request: RecallRequest, namespace: Namespace, reader: Reader, threads: ThreadPoolExecutor
    ) -> None:
        self.space: VectorSpace | None = reader.search.vector_space()
        self._namespace, self._threads = namespace, threads
        self._pending, self._fusion = PendingRoutes(), request.recipe.fusion
        self.shares: Known = {}
        self._ahead = self._read_ahead(request)

    def _read_ahead(self, request: RecallRequest) -> Future[Outcome] | None:
        """Only a model with token vectors begins: another may be a server's, which is asked once."""
        if request.history or not any(ROUTES[spec.search].encodes for spec in request.recipe.routes):
            return None
        ahead = Future[Outcome]()
        try:
            model = self._namespace.embedder_of(self.space)
            if not gives_tokens(model):
                return None
            self._threads.submit(self._read_then_run, ahead, model, request.question)
        except (FivefoldError, RuntimeError):  # the engine was closed, or the routes that need the model will say
            return None
        return ahead

    def _read_then_run(self, ahead: Future[Outcome], model: Embedder, text: str) -> None:
        if ahead.set_running_or_notify_cancel():
            ahead.set_result(_read(lambda: model, text))
            self._pending.reading.work()

    def begin(self, context: SearchContext, fusion: FusionSpec) -> None:
        """Begin the routes of the plan that need no reading, and have those that need it follow the reading."""
        self._fusion = fusion
        if fusion.store:
            return
        assert context.plan is not None
        ahead = self._ahead if context.query.to_read == context.query.text else None
        for part in context.plan.routes:
            if not part.run or ROUTES[part.search].rescores:
                continue
            if not ROUTES[part.search].encodes:
                self._pending.free.add(part.route, partial(_run, part, context))
            elif ahead:
                self._pending.prepared[part.route] = _prepare(part, context)
                self._pending.reading.add(part.route, partial(_run_once_read, part, context, ahead))
        _unless_closed(lambda: self._pending.free.begin(self._threads))

    def read_question(self, context: SearchContext) -> Outcome | None:
        """The question as the model reads it, if a route of the plan needs that."""
        assert context.plan is not None
        needed = any(part.run and ROUTES[part.search].encodes for part in context.plan.routes)
        if self._ahead is not None:
            if needed and context.query.to_read == context.query.text:
                return self._ahead.result()
            self._ahead.cancel()
        return _read(partial(self._namespace.embedder_of, self.space), context.query.to_read) if needed else None

    def run(self, context: SearchContext) -> list[RouteRun]:
        """One run a route, in the plan's order; all types are searched if too few of the implied ones are found (R9).

        Called again, it searches anew.
        """
        plan, pending, self._pending = context.plan, self._pending, PendingRoutes()
        assert plan is not None
        prepared = {
            part.route: pending.prepared.get(part.route) or _prepare(part, context) for part in plan.routes if part.run
        }
        patient = {route for route, done in prepared.items() if done.scans}
        runs = self._runs(plan, context, patient, pending)
        if few := _too_few(plan, runs, context):
            wide = replace(plan, routes=tuple(replace(part, types=()) for part in plan.routes))
            narrowed = {part.route for part in plan.routes if _types_of(part, context)}
            runs = [
                replace(run, reason=few) if run.route in narrowed and run.status == "hits" else run
                for run in self._runs(wide, context, patient, PendingRoutes())
            ]
        notes = {route: done.note for route, done in prepared.items()}
        return [
            replace(run, reason="; ".join(filter(None, (run.reason, note))))
            if (note := notes.get(run.route)) and run.status == "hits"
            else run
            for run in runs
        ]

    def _runs(
        self, plan: Plan, context: SearchContext, patient: Collection[str], pending: PendingRoutes
    ) -> list[RouteRun]:
        """Every route once, by the store in one statement or in lines; those in `patient` have the time they need."""
        start = perf_counter()
        if self._fusion.store:
            together = _unless_closed(lambda: self._threads.submit(search_in_store, plan, context, self._fusion))
            budget = max((part.budget_ms for part in plan.routes), default=0)
            found = _in_time(together, None if patient else budget / 1000)
            if found is None:
                _log.warning("the routes took over %d ms and were left out", budget)
                found = [_late(part, budget, start) if part.run else _skipped(part) for part in plan.routes]
            return found
        searching = [part for part in plan.routes if part.run and not ROUTES[part.search].rescores]
        futures = {part.route: pending.reading.get(part.route) or pending.free.get(part.route) for part in searching}
        for part in searching:
            if futures[part.route] is None:
                pending.reading.add(part.route, partial(_run, part, context))
                futures[part.route] = pending.reading.get(part.route)
        _unless_closed(lambda: pending.reading.hurry(self._threads))
        _unless_closed(lambda: pending.free.hurry(self._threads, PATIENCE_S))
        runs: dict[str, RouteRun] = {}
        for part in searching:
            future, left = futures[part.route], part.budget_ms / 1000 - (perf_counter() - start)
            assert future is not None
            run = _in_time(future, None if part.route in patient else max(0.0, left))
            if run is None:
                _log.warning("route %s took over %d ms and was left out", part.route, part.budget_ms)
            runs[part.route] = run or _late(part, part.budget_ms, start)
        for part in plan.routes:
            if not part.run:
                runs[part.route] = _skipped(part)
            elif part.route not in runs:
                rows = rows_by_share(list(runs.values()), plan, self._fusion, self.shares)
                runs[part.route] = _run(part, replace(context, candidates=rows))
        return [runs[part.route] for part in plan.routes]


def _run_once_read(part: RoutePlan, context: SearchContext, ahead: Future[Outcome]) -> RouteRun:
    return _run(part, replace(context, question=ahead.result()))


def _run(part: RoutePlan, context: SearchContext) -> RouteRun:
    """Search among the implied types, or among all that the filter allows."""
    start, route = perf_counter(), ROUTES[part.search]
    if unavailable := route.unavailable(context):
        return RouteRun(part.route, "skipped", unavailable, 0, 0.0)
    allowed = EVERYTHING if part.supports else context.keep
    types = _types_of(part, context)
    try:
        hits = route.search(context, part.depth, replace(allowed, types=types) if types else allowed, part.options)
    except (StoreClosed, ServerAway):
        raise  # no route can answer
    except Exception as error:
        _log.warning("route %s failed: %s", part.route, error)
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, _ms(start))
    return RouteRun(part.route, "hits", part.reason, len(hits), _ms(start), hits=tuple(hits))


def _types_of(part: RoutePlan, context: SearchContext) -> tuple[Type, ...]:
    """The implied types that the filter allows. A route that only supports others' hits brings no candidates."""
    allowed = EVERYTHING if part.supports else context.keep
    return tuple(type for type in part.types if not allowed.types or type in allowed.types)


def _too_few(plan: Plan, runs: Sequence[RouteRun], context: SearchContext) -> str:
    """Why the whole search runs once more over all types: a route found too few of the implied ones (R9)."""
    for part, run in zip(plan.routes, runs, strict=True):
        types = _types_of(part, context)
        if types and run.status == "hits" and run.found < context.settings.widen_below:
            return f"only {run.found} of type {' or '.join(types)} by {part.route}, so all types were searched"
    return ""


def search_in_store(plan: Plan, context: SearchContext, fusion: FusionSpec) -> list[RouteRun]:
    """One statement for all routes (D9, M3); a route that cannot run is named, and the others still answer."""
    start, error = perf_counter(), context.question if isinstance(context.question, FivefoldError) else None
    unread = {part.route for part in plan.routes if error is not None and ROUTES[part.search].encodes}
    hits: dict[str, list[FusedHit]] = {}
    failed = ""
    try:
        search = FUSIONS[fusion.method].in_store
        assert search is not None
        found, reasons = search(
            [part for part in plan.routes if part.run and part.route not in unread], context, fusion
        )
        for item in found:
            hits.setdefault(item.route, []).append(item)
    except (StoreClosed, ServerAway):
        raise
    except Exception as broken:
        _log.warning("the routes failed: %s", broken)
        failed = f"{type(broken).__name__}: {broken}"
    runs = []
    for part in plan.routes:
        if not part.run:
            runs.append(_skipped(part))
        elif failed or part.route in unread:
            runs.append(RouteRun(part.route, "failed", failed or f"{type(error).__name__}: {error}", 0, _ms(start)))
        else:
            ranked = sorted(hits.get(part.route, ()), key=lambda item: item.rank)
            rows = tuple(
                RouteHit(one.row, one.score, factor=one.factor, contribution=one.contribution) for one in ranked
            )
            reason = "; ".join(filter(None, (part.reason, reasons.get(part.route))))
            runs.append(RouteRun(part.route, "hits", reason, len(rows), _ms(start), hits=rows))
    return runs


def searches_facets(recipe: Recipe) -> bool:
    """True if a route reads vectors that are made when a recipe first asks for them."""
    fields = {field for spec in recipe.routes for field in ROUTES[spec.search].vector_fields(spec.options)}
    return not fields.isdisjoint(LATE_FACETS)


def _prepare(part: RoutePlan, context: SearchContext) -> DensePreparation:
    """Has the store load what the route needs, which takes nothing off its time."""
    space, fields = context.space, ROUTES[part.search].vector_fields(part.options)
    if space is None:
        return DensePreparation()
    try:
        done = [context.reader.search.prepare_dense(space, where) for where in fields]
    except (StoreClosed, ServerAway):
        raise
    except Exception:  # the route fails with the same error and names it
        return DensePreparation()
    return DensePreparation("; ".join(one.note for one in done if one.note), any(one.scans for one in done))


def _read(model: Callable[[], Embedder], text: str) -> Outcome:
    try:
        return read_question(model(), text)
    except FivefoldError as error:
        return error
    except Exception as error:
        return EmbedderError(f"the question could not be encoded: {type(error).__name__}: {error}")


def _unless_closed(begin: Callable[[], Answer]) -> Answer:
    try:
        return begin()
    except RuntimeError:  # the engine was closed since the recall began
        raise StoreClosed("this engine was closed; open the store again") from None


def _in_time(future: Future[Answer], seconds: float | None) -> Answer | None:
    """The answer, or None if it is late: it may go on, but this recall does not wait for it."""
    try:
        return future.result(timeout=seconds)
    except Late:
        future.cancel()
        return None


def _late(part: RoutePlan, budget_ms: int, start: float) -> RouteRun:
    return RouteRun(part.route, "late", f"not done after {budget_ms} ms", 0, _ms(start))


def _skipped(part: RoutePlan) -> RouteRun:
    return RouteRun(part.route, "skipped", part.reason, 0, 0.0)


def _ms(start: float) -> float:
    return (perf_counter() - start) * 1000
