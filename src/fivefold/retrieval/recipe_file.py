"""Recipes from files: built-in names and TOML files become checked recipes, and overrides change one for a recall."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import STAGED, FusionSpec, Recipe, RouteSpec, StageSpec, recipe_data
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from fivefold.retrieval.understand.cues import INTENTS
from fivefold.values.fields import build, fields_of
from fivefold.values.validate import checked_name


@cache
def known_recipes() -> tuple[str, ...]:
    folder = resources.files("fivefold.retrieval").joinpath("recipes")
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_recipe(choice: str | os.PathLike[str] | Recipe, overrides: Mapping[str, object] | None = None) -> Recipe:
    """A built-in recipe by name, one of your own by the path of its TOML file, or a value; with overrides.

    An override names the field it changes by a path: `fusion.k`, `routes.dense.weight`, `boosts.decay.on`.
    """
    recipe = choice if isinstance(choice, Recipe) else _by_name(choice)
    return override(recipe, overrides) if overrides else recipe


def _by_name(choice: object) -> Recipe:
    if isinstance(choice, str) and choice in known_recipes():
        return _built_in(choice)
    if isinstance(choice, os.PathLike) or (isinstance(choice, str) and (choice.endswith(".toml") or "/" in choice)):
        return _from_file(Path(choice))
    raise UnknownRecipe(
        f"unknown recipe {choice!r}; known are {', '.join(known_recipes())}, or give the path of a .toml file"
    )


@cache
def _built_in(name: str) -> Recipe:
    text = resources.files("fivefold.retrieval").joinpath(f"recipes/{name}.toml").read_text("utf-8")
    return parse_recipe(name, tomllib.loads(text))


def _from_file(path: Path) -> Recipe:
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UnknownRecipe(f"recipe {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"recipe {str(path)!r} is no TOML: {error}") from None
    except ValueError:
        raise UnknownRecipe(f"{str(path)!r} is no path of a file") from None
    return parse_recipe(path.stem, read)


def parse_recipe(name: str, given: Mapping[str, Any]) -> Recipe:
    """Check and build a recipe; errors name the field. A part with `on = false` is left out."""
    where = f"recipe {name!r}"
    unknown = sorted(set(given) - {"summary", "optimize", "unit", "routes", "fusion", "boosts", "rerank", "select"})
    if unknown:
        raise InvalidInput(
            f"{where}: unknown field {unknown[0]!r}; known are boosts, fusion, optimize, rerank, "
            "routes, select, summary, unit"
        )
    tables = _tables(given, "routes", where)
    routes = tuple(_route(item, f"{where} {at}") for at, item in tables)
    if not routes:
        raise InvalidInput(f"{where}: routes is empty; name at least one of {', '.join(ROUTES.names())}")
    recipe = build(
        Recipe,
        {
            "name": name,
            "summary": given.get("summary", ""),
            "routes": routes,
            "fusion": build(FusionSpec, given.get("fusion", {}), f"{where} fusion"),
            **{group: _stages(given, group, where) for group in STAGED},
            **{key: given[key] for key in ("optimize", "unit") if key in given},
        },
        where,
    )
    _check_whole(recipe, where, [at for at, _ in tables])
    return recipe


def _tables(given: Mapping[str, Any], group: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """The tables of a group that are on, each with where it stands."""
    tables = given.get(group, ())
    if not isinstance(tables, list | tuple) or not all(isinstance(item, Mapping) for item in tables):
        raise InvalidInput(f"{where}: {group} is a list of tables, each beginning with [[{group}]]")
    live = []
    for i, item in enumerate(tables):
        on = item.get("on", True)
        if not isinstance(on, bool):
            raise InvalidInput(f"{where} {group}[{i}].on: true or false is wanted, not {on!r}")
        if on:
            live.append((f"{group}[{i}]", {key: value for key, value in item.items() if key != "on"}))
    return live


def _route(item: dict[str, Any], where: str) -> RouteSpec:
    search = item.get("search") or item.get("name")
    if not isinstance(search, str) or search not in ROUTES:
        wrong = "search" if item.get("search") else "name"
        raise InvalidInput(f"{where}.{wrong}: {search!r} is no route; known are {', '.join(ROUTES.names())}")
    kind = ROUTES[search].options
    own = set(fields_of(kind))
    known = set(fields_of(RouteSpec)) - {"options"}
    unknown = sorted(set(item) - known - own)
    if unknown:
        raise InvalidInput(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known | own))}")
    options = build(kind, {key: value for key, value in item.items() if key in own}, where)
    spec = build(RouteSpec, {key: value for key, value in item.items() if key in known} | {"search": search}, where)
    return RouteSpec(**{**{name: getattr(spec, name) for name in fields_of(RouteSpec)}, "options": options})


def _stages(given: Mapping[str, Any], group: str, where: str) -> tuple[StageSpec, ...]:
    return tuple(_stage(group, item, f"{where} {at}") for at, item in _tables(given, group, where))


def _stage(group: str, item: dict[str, Any], where: str) -> StageSpec:
    name = item.pop("name", None)
    ids = item.pop("ids", ())
    if not isinstance(name, str) or name not in STAGES or STAGES[name].group != group:
        known = [key for key in STAGES.names() if STAGES[key].group == group]
        raise InvalidInput(f"{where}.name: {name!r} is unknown; known are {', '.join(known)}")
    return build(StageSpec, {"name": name, "constants": build(STAGES[name].constants, item, where), "ids": ids}, where)


def _check_whole(recipe: Recipe, where: str, places: Sequence[str]) -> None:
    """What no single field can tell."""
    for group in ("routes", *STAGED):
        names = [part.name for part in getattr(recipe, group)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise InvalidInput(f"{where} {group}: {twice!r} is there twice; give each its own name")
    composite = recipe.fusion.method == "composite"
    for at, route in zip(places, recipe.routes, strict=True):
        checked_name(route.name or " ", f"{where} {at}.name")
        if "." in route.name:
            raise InvalidInput(f"{where} {at}.name: a name is a text without dots, not {route.name!r}")
        stray = sorted(set(route.by_intent) - {"what", *INTENTS})
        if stray:
            known = ", ".join(("what", *INTENTS))
            raise InvalidInput(f"{where} {at}.by_intent: {stray[0]!r} is no intent; known are {known}")
    for at, route in zip(places, recipe.routes, strict=True):
        if ROUTES[route.search].of_candidates and not composite:
            raise InvalidInput(f'{where} {at}: {route.search!r} needs fusion.method = "composite"')
        if recipe.fusion.store and not composite and (route.search not in {"dense", "lexical"} or route.typed):
            raise InvalidInput(f"{where} {at}: fusion.store takes untyped dense and lexical routes")
    if composite and [route.search for route in recipe.routes if not ROUTES[route.search].of_candidates] != ["dense"]:
        raise InvalidInput(f"{where} fusion.method: a composite scores the candidates of exactly one dense route")
    if recipe.fusion.weights == "learned" and not composite:
        raise InvalidInput(f'{where} fusion.weights: learned weights need fusion.method = "composite"')
    if composite and not recipe.fusion.store:
        raise InvalidInput(f"{where} fusion.store: a composite is scored in the store; set it to true")
    if recipe.fusion.store and recipe.fusion.method not in {"rrf", "composite"}:
        raise InvalidInput(f"{where} fusion.store: a store fuses by rrf or composite")


def override(recipe: Recipe, overrides: Mapping[str, object]) -> Recipe:
    """The recipe with some of its data changed, checked again."""
    shown = recipe_data(recipe)
    for path, value in overrides.items():
        _put(shown, path, value, recipe)
    return parse_recipe(recipe.name, shown)


def without_part(recipe: Recipe, part: str) -> Recipe:
    """The recipe without one of its `parts()`."""
    return override(recipe, {f"{part}.on": False})


def _put(shown: dict[str, Any], path: str, value: object, recipe: Recipe) -> None:
    group, _, rest = path.partition(".")
    place: Any = shown
    if group in {"routes", *STAGED}:
        part, _, rest = rest.partition(".")
        place = next((item for item in shown[group] if item["name"] == part), None)
        if place is None or not rest:
            parts = ", ".join(recipe.parts())
            raise InvalidInput(
                f"{path!r} changes nothing in recipe {recipe.name!r}; its parts are {parts}, then a field"
            )
    elif group == "fusion" and rest:
        place = shown["fusion"]
    elif rest or group not in {"summary", "optimize", "unit"}:
        raise InvalidInput(
            f"{path!r} changes nothing; a change begins with routes.NAME, fusion, boosts.NAME, rerank.NAME, "
            "select.NAME, or is unit or optimize"
        )
    else:
        rest = group
    *inner, last = rest.split(".")
    for key in inner:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise InvalidInput(f"{path!r}: {key!r} is no table")
    place[last] = value
