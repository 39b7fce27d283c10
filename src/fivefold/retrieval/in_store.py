"""Routes that the store searches and fuses in one statement (D9, M3), seen as the runs they are made of."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from fivefold.errors import FivefoldError, ServerAway, StoreClosed
from fivefold.learning.query_decay import Horizon, horizon
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.routes import ROUTES, Sight
from fivefold.retrieval.routes.dense import DenseOptions
from fivefold.retrieval.routes.lexical import LexicalOptions, words
from fivefold.retrieval.routes.signals import RecencyOptions
from fivefold.stores.protocol import Arm, Composite, Fused
from fivefold.values.decay import Decay
from fivefold.values.recall import Plan, RouteHit, RoutePlan, RouteRun, Vector

_log = logging.getLogger("fivefold")


def search_together(plan: Plan, sight: Sight, fusion: FusionSpec) -> list[RouteRun]:
    """One statement for all routes; what it cannot run is named, the rest still answers."""
    start = perf_counter()
    able = [part for part in plan.routes if part.run and not _unencoded(part, sight)]
    try:
        found = _composite(able, sight) if fusion.method == "composite" else _rrf(able, sight, fusion)
    except (StoreClosed, ServerAway):
        raise
    except Exception as error:
        _log.warning("the routes failed: %s", error)
        failed = f"{type(error).__name__}: {error}"
        runs = [_outcome(part, [], sight, start) for part in plan.routes]
        return [run if run.status == "skipped" else replace(run, status="failed", reason=failed) for run in runs]
    hits: dict[str, list[Fused]] = {}
    for item in found:
        hits.setdefault(item.route, []).append(item)
    return [_outcome(part, hits.get(part.route, []), sight, start) for part in plan.routes]


def _outcome(part: RoutePlan, found: Sequence[Fused], sight: Sight, start: float) -> RouteRun:
    if not part.run:
        return RouteRun(part.route, "skipped", part.reason, 0, 0.0)
    ms = (perf_counter() - start) * 1000
    error = _unencoded(part, sight)
    if error is not None:
        return RouteRun(part.route, "failed", f"{type(error).__name__}: {error}", 0, ms)
    ranked = sorted(found, key=lambda item: item.rank)
    hits = tuple(RouteHit(item.row, item.score, given=item.contribution) for item in ranked)
    return RouteRun(part.route, "hits", _reason(part, sight), len(hits), ms, hits=hits)


def _reason(part: RoutePlan, sight: Sight) -> str:
    chosen = _horizon(part, sight) if part.search == "recency" else None
    return f"{part.reason}; {chosen.decay.told()}, since {chosen.reason}" if chosen and chosen.reason else part.reason


def _unencoded(part: RoutePlan, sight: Sight) -> FivefoldError | None:
    """Why a route that compares vectors has none to compare."""
    return sight.vector if ROUTES[part.search].encodes and isinstance(sight.vector, FivefoldError) else None


def _rrf(parts: Sequence[RoutePlan], sight: Sight, fusion: FusionSpec) -> list[Fused]:
    arms = []
    for part in parts:
        field = part.options.field if isinstance(part.options, DenseOptions) else None
        sessions = isinstance(part.options, LexicalOptions) and part.options.of == "sessions"
        arms.append(Arm(part.route, part.depth, part.weight, field, sessions))
    return sight.reader.rrf(sight.space, _vector(sight), words(sight.query), arms, fusion.k)


def _composite(parts: Sequence[RoutePlan], sight: Sight) -> list[Fused]:
    by_search = {part.search: part for part in parts}
    dense, vector = by_search.get("dense"), _vector(sight)
    if dense is None or sight.space is None or vector is None:
        return []
    recency = by_search.get("recency")
    decay = _horizon(recency, sight).decay
    how = Composite(
        depth=dense.depth,
        similarity=(dense.route, dense.weight),
        recency=_weighed(recency),
        frequency=_weighed(by_search.get("frequency")),
        decay=decay,
        now=sight.query.now,
    )
    return sight.reader.composite(sight.space, vector, how)


def _horizon(recency: RoutePlan | None, sight: Sight) -> Horizon:
    """The recipe's curve, or one that fits the question's own horizon (D12)."""
    if recency is None:
        return Horizon(Decay(), "")
    options: RecencyOptions = recency.options
    return horizon(sight.query, span_days=0.0) if options.per_query else Horizon(options, "")


def _weighed(part: RoutePlan | None) -> tuple[str, float] | None:
    return None if part is None else (part.route, part.weight)


def _vector(sight: Sight) -> Vector | None:
    return None if isinstance(sight.vector, FivefoldError) else sight.vector
