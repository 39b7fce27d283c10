"""Recipes as a client may name them: a known name with overrides, never a file, never another model."""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe

STILL: dict[str, object] = {"select.noise.sigma": 0}
"""What makes a recipe with noise answer the same each time."""


def recipe_named(name: str, overrides: Mapping[str, object] | None = None, still: bool = False) -> Recipe:
    """The recipe of that name with its changes; `still`, without noise unless a change asks for it."""
    if name not in known_recipes():
        raise UnknownRecipe(f"unknown recipe {name!r}; known are {', '.join(known_recipes())}")
    own = load_recipe(name)
    if still and any(stage.name == "noise" for stage in own.select):
        own = load_recipe(own, STILL)
    changed = load_recipe(own, overrides)
    if _models(changed) - _models(own):
        raise InvalidInput(
            "a change cannot choose another model: models run where, and with what, the server was given"
        )
    return changed


def _models(recipe: Recipe) -> set[str]:
    stages = (*recipe.boosts, *recipe.rerank, *recipe.select)
    return {model for stage in stages if isinstance(model := getattr(stage.constants, "model", None), str)}
