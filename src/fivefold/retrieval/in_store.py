"""Routes that the store searches and fuses in one statement (D9, M3), with the runs it consists of."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter

from fivefold.errors import FivefoldError, ServerAway, StoreClosed
from fivefold.learning.query_decay import QueryDecay
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.retrieval.routes.dense import DenseOptions
from fivefold.retrieval.routes.lexical import LexicalOptions, words
from fivefold.retrieval.signal_models import Weighed, horizon_of, weigh_results
from fivefold.stores.queries import Arm, Composite, FusedHit
from fivefold.values.reading import QuestionReading
from fivefold.values.recall_trace import Plan, RouteHit, RoutePlan, RouteRun
from fivefold.values.vectors import Vector

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
