"""The plan: which routes run, how deep, with which weight, and why (R2). It reads no memories."""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.retrieval.recipe import FusionSpec, Recipe, RouteSpec
from fivefold.retrieval.routes import ROUTES
from fivefold.settings import Settings
from fivefold.values.filter_language import write_filter
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import COMPOSITE, Effort, Plan, RoutePlan


def plan(
    query: Query,
    recipe: Recipe,
    k: int,
    settings: Settings,
    effort: Effort = "normal",
    by_effort: Mapping[str, object] | None = None,
    keep: Filter = EVERYTHING,
) -> Plan:
    """Routes that cannot help this question are skipped, with the reason; `by_effort` has changed the recipe."""
    routes = tuple(_route(spec, query, recipe, k, settings) for spec in recipe.routes)
    staged = (*recipe.boosts, *recipe.rerank, *recipe.select)
    stages = tuple(stage.name for stage in staged if stage.runs_at(effort))
    fusion, changes = _describe_fusion(recipe.fusion), dict(by_effort or {})
    return Plan(recipe.name, k, routes, fusion, stages, effort, changes, write_filter(keep))


def _route(spec: RouteSpec, query: Query, recipe: Recipe, k: int, settings: Settings) -> RoutePlan:
    route = ROUTES[spec.search]
    skip_reason = route.skip_reason(query, recipe.optimize)
    if recipe.unit == "turn" and route.finds_sessions(spec.options) and not spec.supports:
        skip_reason = "it finds sessions, and only turns are wanted"
    depth = max(spec.depth, spec.depth_per_k * k, 1 if route.of_candidates else k)
    types = query.type_hints if spec.typed else ()
    reason = f"the {depth} best" + (f" of type {' or '.join(types)}" if types else "")
    reason = ", ".join(filter(None, (reason, route.describe_limits(query, settings))))
    if route.of_candidates:
        reason = "scored over the candidates of the dense route"
    weight = settings.weight(spec.name, spec.weight)
    if recipe.fusion.method == "composite":
        learned = recipe.fusion.weights == "learned"
        reason += ", weight predicted from the question" if learned else f", weight {weight:g}"
    if query.intent in spec.by_intent:
        weight *= spec.by_intent[query.intent]
        reason += f", × {spec.by_intent[query.intent]:g} since it asks {query.intent}"
    return RoutePlan(
        spec.name,
        skip_reason is None,
        depth,
        weight,
        skip_reason or reason,
        types,
        settings.route_budget_ms,
        spec.search,
        spec.supports,
        spec.options,
    )


def _describe_fusion(fusion: FusionSpec) -> str:
    if fusion.method == "convex":
        return f"convex over {fusion.pool}"
    if fusion.method == "composite":
        return COMPOSITE
    return f"{fusion.method} k={fusion.k:g}" + (" in one statement" if fusion.store else "")
