"""Recipes as a client may name them: a known name with overrides, never a file, never another model."""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import STAGED, Recipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe

MOST = {"depth": 500, "depth_per_k": 16, "pool": 500, "pool_per_k": 16}
"""What a change may set of routes and fusion, or what the recipe itself has."""

MOST_READ = {"depth": 40, "depth_per_k": 16, "pool": 200, "pool_per_k": 16}
"""The same of stages, which look closer: they read texts with a model, or compare each with each."""

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
    _check_sizes(own, changed)
    return changed


def _check_sizes(own: Recipe, changed: Recipe) -> None:
    """A change may not make the server read far more than any recipe does."""
    usual = _sizes(own)
    for path, size in _sizes(changed).items():
        most = max(usual.get(path, 0), (MOST_READ if path.startswith(STAGED) else MOST)[path.rpartition(".")[2]])
        if size > most:
            raise InvalidInput(f"{path} is {size:,}, a change may set at most {most:,} on a server")


def _sizes(recipe: Recipe) -> dict[str, int]:
    """The constants of a recipe that decide how much it reads, by their path."""
    parts: list[tuple[str, object]] = [(f"routes.{route.name}", route) for route in recipe.routes]
    parts.append(("fusion", recipe.fusion))
    parts += [(f"{group}.{stage.name}", stage.constants) for group in STAGED for stage in getattr(recipe, group)]
    values = {f"{path}.{name}": getattr(part, name, None) for path, part in parts for name in MOST}
    return {path: value for path, value in values.items() if isinstance(value, int)}


def _models(recipe: Recipe) -> set[str]:
    stages = (*recipe.boosts, *recipe.rerank, *recipe.select)
    return {model for stage in stages if isinstance(model := getattr(stage.constants, "model", None), str)}
