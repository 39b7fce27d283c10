"""Recipes: a declarative choice of routes, fusion and boosts. A recipe is data; one engine runs them all."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeVar, get_args

from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.values import Value

Method = Literal["rrf", "score-rrf", "convex"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class RouteSpec(Value):
    """A route's share: how many hits it may bring, and how much each counts."""

    name: str
    depth: int = 100
    weight: float = 1.0
    typed: bool = False
    """Whether the types a question implies narrow this route (R9)."""


@dataclass(frozen=True, slots=True)
class FusionSpec(Value):
    """How the routes' lists become one; `pool` candidates go on to the later stages."""

    method: Method = "convex"
    k: float = 60.0
    pool: int = 100


@dataclass(frozen=True, slots=True)
class BoostSpec(Value):
    """A boost by name with its constants."""

    name: str
    constants: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Recipe(Value):
    """A whole pipeline as a value."""

    name: str
    summary: str
    routes: tuple[RouteSpec, ...]
    fusion: FusionSpec
    boosts: tuple[BoostSpec, ...] = ()
    optimize: bool = True
    """Whether routes that cannot help a question are skipped (R2)."""


Spec = TypeVar("Spec", RouteSpec, FusionSpec)


@cache
def known_recipes() -> tuple[str, ...]:
    folder = resources.files("fivefold").joinpath("recipes")
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_recipe(name: str) -> Recipe:
    """The built-in recipe called `name`."""
    if not isinstance(name, str) or name not in known_recipes():
        raise UnknownRecipe(f"unknown recipe {name!r}; known are {', '.join(known_recipes())}")
    return _built_in(name)


@cache
def _built_in(name: str) -> Recipe:
    text = resources.files("fivefold").joinpath(f"recipes/{name}.toml").read_text("utf-8")
    return parse_recipe(name, tomllib.loads(text))


def parse_recipe(name: str, data: Mapping[str, Any]) -> Recipe:
    """Check and build a recipe; errors name the field."""
    from fivefold.boost import BOOSTS
    from fivefold.routes import ROUTES

    where = f"recipe {name!r}"
    _only(data, {"summary", "optimize", "routes", "fusion", "boosts"}, where)
    routes = tuple(_spec(RouteSpec, item, f"{where} routes[{i}]") for i, item in enumerate(data.get("routes", ())))
    if not routes:
        raise InvalidInput(f"{where}: routes is empty; name at least one of {', '.join(ROUTES)}")
    for i, route in enumerate(routes):
        if route.name not in ROUTES:
            raise InvalidInput(f"{where} routes[{i}].name: {route.name!r} is no route; known are {', '.join(ROUTES)}")
        if not (isinstance(route.depth, int) and 1 <= route.depth <= 4096 and route.weight >= 0):
            raise InvalidInput(f"{where} routes[{i}]: depth lies in 1..4096 and weight is not negative")
    fusion = _spec(FusionSpec, data.get("fusion", {}), f"{where} fusion")
    if fusion.method not in METHODS:
        raise InvalidInput(f"{where} fusion.method: {fusion.method!r} is unknown; known are {', '.join(METHODS)}")
    boosts = []
    for i, item in enumerate(data.get("boosts", ())):
        constants = dict(item)
        boost = constants.pop("name", None)
        if boost not in BOOSTS:
            raise InvalidInput(f"{where} boosts[{i}].name: {boost!r} is no boost; known are {', '.join(BOOSTS)}")
        boosts.append(BoostSpec(boost, constants))
    optimize = data.get("optimize", True)
    if not isinstance(optimize, bool):
        raise InvalidInput(f"{where}: optimize is true or false, not {optimize!r}")
    return Recipe(name, str(data.get("summary", "")), routes, fusion, tuple(boosts), optimize)


def _spec(kind: type[Spec], item: Mapping[str, Any], where: str) -> Spec:
    _only(item, {field.name for field in dataclasses.fields(kind)}, where)
    try:
        return kind(**item)
    except TypeError as error:
        raise InvalidInput(f"{where}: {error}") from None


def _only(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise InvalidInput(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}")
