"""Every built-in recipe without what chance or a busy machine decides."""

from __future__ import annotations

from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe, without_part

UNHURRIED_MS = 600_000
"""A time-out that no test meets."""


def steady(name: str) -> Recipe:
    """The recipe without the stage that draws noise (E6), and reranked to a depth that no clock decides."""
    recipe = load_recipe(name)
    if "rerank.cross_encoder" in recipe.parts():
        patient = {"rerank.cross_encoder.budget_ms": 0, "rerank.cross_encoder.timeout_ms": UNHURRIED_MS}
        recipe = load_recipe(recipe, patient)
    return without_part(recipe, "select.noise") if "select.noise" in recipe.parts() else recipe


def steady_recipes() -> list[Recipe]:
    return [steady(name) for name in known_recipes()]


def steady_with(part: str) -> list[Recipe]:
    """Those that have this part, such as `routes.graph`."""
    return [recipe for recipe in steady_recipes() if part in recipe.parts()]
