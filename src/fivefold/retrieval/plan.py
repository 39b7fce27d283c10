"""The plan: which routes run, how deep, with which weight, and why (R2). It reads no memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fivefold.retrieval.recipe import Recipe, RouteSpec
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.understand.demands import implied_types
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.values.filter_language import write_filter
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import Type
from fivefold.values.query import Query
from fivefold.values.recall_trace import COMPOSITE, Effort, Plan, RoutePlan, TypeHint
from fivefold.values.registry import Parts


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
    spec = recipe.fusion
    ranked = f"{spec.method} k={spec.k:g}{' in one statement' if spec.store else ''}"
    fusion = {"convex": f"convex over {spec.pool}", "composite": COMPOSITE}.get(spec.method, ranked)
    return Plan(recipe.name, k, routes, fusion, stages, effort, dict(by_effort or {}), write_filter(keep))


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


# Stage 2, after the parse: which types of memory the question implies, by its words and the namespace (R2, R9).

TYPE_CHECKS: Parts[Callable[[Query, Mapping[Type, str], Reader, float], dict[Type, str]]] = Parts(
    {"density": "fivefold.designs.recall:types_elsewhere"}
)
"""What else says that a type is the wrong one: most of what is asked about is in memories of other types (R2)."""


def optimize(
    query: Query, reader: Reader, settings: Settings, type_density: float = 0.0
) -> tuple[Query, tuple[TypeHint, ...]]:
    """The question with the types that narrow its search, and every hint with why it counts or is dropped.

    A type counts if the namespace has enough of it, and its memories speak of what is asked. Otherwise its filter would
    only be dropped again (R9), or leave out the answer.
    """
    least = max(1, settings.widen_below)
    words_of = {cue.value: cue.text for cue in reversed(query.cues) if cue.kind == "type"}
    implied = {name: words_of[name] for name in implied_types(query.cues)}
    stored = {name: words for name, words in implied.items() if reader.memories.has_type(name, least)}
    elsewhere = TYPE_CHECKS["density"](query, stored, reader, type_density) if stored and type_density else {}
    hints = []
    for name, words in implied.items():
        why = elsewhere.get(name, "") if name in stored else f"fewer than {least} memories have this type"
        hints.append(TypeHint(name, words, not why, why or f"{words!r} implies it"))
    return replace(query, type_hints=tuple(hint.type for hint in hints if hint.kept)), tuple(hints)
