"""The plan: which routes run, how deep, with which weight, and why. Making it touches no data."""

from __future__ import annotations

from fivefold.recall import Plan, Query, RoutePlan
from fivefold.recipe import Recipe
from fivefold.routes import ROUTES


def plan(query: Query, recipe: Recipe, k: int) -> Plan:
    """Routes that cannot help this question are skipped, with the reason."""
    routes = []
    for spec in recipe.routes:
        idle = ROUTES[spec.name].idle(query)
        depth = max(spec.depth, k)
        routes.append(RoutePlan(spec.name, idle is None, depth, spec.weight, idle or f"the {depth} best"))
    fusion = recipe.fusion
    told = f"{fusion.method} over {fusion.pool}" if fusion.method == "convex" else f"{fusion.method} k={fusion.k:g}"
    return Plan(recipe.name, k, tuple(routes), told, tuple(boost.name for boost in recipe.boosts))
