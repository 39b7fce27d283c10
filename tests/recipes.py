"""Every built-in recipe as tests want them: the ones with chance in them held steady."""

from __future__ import annotations

from fivefold.recipe import Recipe, known_recipes, load_recipe


def steady(name: str) -> Recipe:
    """The recipe without the stage that draws noise (E6)."""
    recipe = load_recipe(name)
    return recipe.without("select.noise") if "select.noise" in recipe.parts() else recipe


def steady_recipes() -> list[Recipe]:
    return [steady(name) for name in known_recipes()]
