"""Every built-in recipe as tests want them: without what chance or a busy machine decides."""

from __future__ import annotations

from fivefold.recipe import Recipe, known_recipes, load_recipe


def steady(name: str) -> Recipe:
    """The recipe without the stage that draws noise (E6), and reranked to a depth that no clock decides."""
    recipe = load_recipe(name)
    if "rerank.cross_encoder" in recipe.parts():
        recipe = load_recipe(recipe, {"rerank.cross_encoder.budget_ms": 0})
    return recipe.without("select.noise") if "select.noise" in recipe.parts() else recipe


def steady_recipes() -> list[Recipe]:
    return [steady(name) for name in known_recipes()]
