"""Routes that the store searches and fuses in one statement (D9, M3), with the runs it consists of."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from fivefold.errors import FivefoldError, ServerAway, StoreClosed
from fivefold.learning.query_decay import QueryDecay, decay_for
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.retrieval.routes.dense import DenseOptions
from fivefold.retrieval.routes.lexical import LexicalOptions, words
from fivefold.retrieval.routes.signals import RecencyOptions
from fivefold.stores.queries import Arm, Composite, FusedHit
from fivefold.values.decay import Decay
from fivefold.values.reading import QuestionReading
from fivefold.values.recall_trace import Plan, RouteHit, RoutePlan, RouteRun
from fivefold.values.vectors import Vector

_log = logging.getLogger("fivefold")


def search_in_store(plan: Plan, context: SearchContext, fusion: FusionSpec) -> list[RouteRun]:
    """One statement for all routes; a route that cannot run is named, and the others still answer."""
    start = perf_counter()
    able = [part for part in plan.routes if part.run and not _encoding_error(part, context)]
    try:
        fused = _composite(able, context) if fusion.method == "composite" else _rrf(able, context, fusion)
    except (StoreClosed, ServerAway):
        raise
    except Exception as error:
        _log.warning("the routes failed: %s", error)
        failed = f"{type(error).__name__}: {error}"
        runs = [_outcome(part, [], context, start) for part in plan.routes]
        return [run if run.status == "skipped" else replace(run, status="failed", reason=failed) for run in runs]
    hits: dict[str, list[FusedHit]] = {}
    for item in fused:
        hits.setdefault(item.route, []).append(item)
    return [_outcome(part, hits.get(part.route, []), context, start) for part in plan.routes]


def _outcome(part: RoutePlan, fused: Sequence[FusedHit], context: SearchContext, start: float) -> RouteRun:
    if not part.run:
        return RouteRun(part.route, "skipped", part.reason, 0, 0.0)
    ms = (perf_counter() - start) * 1000
    error = _encoding_error(part, context)
    if error is not None:
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, ms)
    ranked = sorted(fused, key=lambda item: item.rank)
    hits = tuple(RouteHit(item.row, item.score, contribution=item.contribution) for item in ranked)
    return RouteRun(part.route, "hits", _reason(part, context), len(hits), ms, hits=hits)


def _reason(part: RoutePlan, context: SearchContext) -> str:
    horizon = _horizon(part, context) if part.search == "recency" else None
    return (
        f"{part.reason}; {horizon.decay.describe()}, since {horizon.reason}"
        if horizon and horizon.reason
        else part.reason
    )


def _encoding_error(part: RoutePlan, context: SearchContext) -> FivefoldError | None:
    """Why a route that compares vectors has no vector."""
    return context.question if ROUTES[part.search].encodes and isinstance(context.question, FivefoldError) else None


def _rrf(parts: Sequence[RoutePlan], context: SearchContext, fusion: FusionSpec) -> list[FusedHit]:
    arms = []
    for part in parts:
        field = part.options.field if isinstance(part.options, DenseOptions) else None
        sessions = isinstance(part.options, LexicalOptions) and part.options.of == "sessions"
        arms.append(Arm(part.route, part.depth, part.weight, field, sessions))
    return context.reader.search.rrf(
        context.space, _vector(context), words(context.query), arms, fusion.k, context.keep
    )


def _composite(parts: Sequence[RoutePlan], context: SearchContext) -> list[FusedHit]:
    by_search = {part.search: part for part in parts}
    dense, vector = by_search.get("dense"), _vector(context)
    if dense is None or context.space is None or vector is None:
        return []
    recency = by_search.get("recency")
    decay = _horizon(recency, context).decay
    how = Composite(
        depth=dense.depth,
        similarity=(dense.route, dense.weight),
        recency=_route_weight(recency),
        frequency=_route_weight(by_search.get("frequency")),
        decay=decay,
        now=context.query.now,
    )
    return context.reader.search.composite(context.space, vector, how, context.keep)


def _horizon(recency: RoutePlan | None, context: SearchContext) -> QueryDecay:
    """The recipe's curve, or one that fits the question's own horizon (D12)."""
    if recency is None:
        return QueryDecay(Decay(), "")
    options: RecencyOptions = recency.options
    return decay_for(context.query, span_days=0.0) if options.per_query else QueryDecay(options, "")


def _route_weight(part: RoutePlan | None) -> tuple[str, float] | None:
    return None if part is None else (part.route, part.weight)


def _vector(context: SearchContext) -> Vector | None:
    return context.question.vector if isinstance(context.question, QuestionReading) else None
