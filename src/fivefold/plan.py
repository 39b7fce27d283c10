"""The plan: which routes run, how deep, with which weight, and why. The optimizer of R2; it reads no memories."""

from __future__ import annotations

from fivefold.recall import Plan, Query, RoutePlan
from fivefold.recipe import Recipe
from fivefold.routes import ROUTES
from fivefold.settings import Settings


def plan(query: Query, recipe: Recipe, k: int, settings: Settings) -> Plan:
    """Routes that cannot help this question are skipped, with the reason."""
    routes = []
    for spec in recipe.routes:
        route = ROUTES[spec.name]
        idle = route.unable(query) or (route.idle(query) if recipe.optimize else None)
        depth = max(spec.depth, k)
        types = query.type_hints if spec.typed else ()
        told = f"the {depth} best" + (f" of type {' or '.join(types)}" if types else "")
        told = ", ".join(filter(None, (told, route.bound(query, settings))))
        weight = settings.weight(spec.name, spec.weight)
        routes.append(RoutePlan(spec.name, idle is None, depth, weight, idle or told, types, settings.route_budget_ms))
    fusion = recipe.fusion
    told = f"{fusion.method} over {fusion.pool}" if fusion.method == "convex" else f"{fusion.method} k={fusion.k:g}"
    return Plan(recipe.name, k, tuple(routes), told, tuple(boost.name for boost in recipe.boosts))
