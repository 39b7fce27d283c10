"""Recipes: a declarative choice of routes, fusion, boosts and selection. A recipe is data; one engine runs them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from fivefold.values.fields import data_of, number
from fivefold.values.serialize import Json, Value

Method = Literal["rrf", "score-rrf", "convex", "composite"]
METHODS: tuple[Method, ...] = get_args(Method)
Unit = Literal["memory", "turn", "session"]

RACED = ("ditto", "memsense", "five-stage", "engram", "recall", "default")
"""The five source systems and our own recipe: what a benchmark races."""

STAGED = ("boosts", "rerank", "select")
"""The groups of stages, in the order in which they run."""

MAX_DEPTH = 4096
"""How deep a list may go."""


@dataclass(frozen=True, slots=True)
class RouteSpec(Value):
    """A route's share: how many hits it may bring, and how much each counts."""

    name: str
    search: str = ""
    """The kind of search; the name itself unless said otherwise."""
    depth: int = number(100, 1, MAX_DEPTH)
    depth_per_k: int = number(0, 0, 100)
    """The list goes deeper when more is asked for: at least this many hits for each of the k."""
    weight: float = number(1.0, 0, 1_000)
    by_intent: Mapping[str, float] = field(default_factory=dict, metadata={"low": 0, "high": 100})
    """What the weight is multiplied by when the question has this intent (E1)."""
    typed: bool = False
    """Whether the types a question implies narrow this route (R9)."""
    supports: bool = False
    """Whether its hits only speak for others, as a session does for its turns, and are no candidates themselves."""
    ids: tuple[str, ...] = ()
    options: Any = None
    """The constants of this kind of search."""


@dataclass(frozen=True, slots=True)
class FusionSpec(Value):
    """How the routes' lists become one; `pool` candidates go on to the later stages."""

    method: Method = "convex"
    k: float = number(60.0, 0, 10_000)
    pool: int = number(100, 1, MAX_DEPTH)
    pool_per_k: int = number(0, 0, 100)
    weights: Literal["fixed", "learned"] = "fixed"
    """Whether the weights of a composite are the routes' own or predicted from the question (D3)."""
    store: bool = False
    """Whether the store searches and fuses in one statement (D9, M3)."""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageSpec(Value):
    """A boost or a selection by name, with its constants."""

    name: str
    constants: Any
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe(Value):
    """A whole pipeline as a value."""

    name: str
    summary: str
    routes: tuple[RouteSpec, ...]
    fusion: FusionSpec
    boosts: tuple[StageSpec, ...] = ()
    rerank: tuple[StageSpec, ...] = ()
    select: tuple[StageSpec, ...] = ()
    optimize: bool = True
    """Whether routes that cannot help a question are skipped (R2)."""
    unit: Unit = "memory"
    """What is returned: memories as found, turns only, or one memory a session."""

    def to_dict(self) -> Json:
        return {"name": self.name, **recipe_data(self)}

    def parts(self) -> tuple[str, ...]:
        """What can be taken out or changed, as `routes.dense` or `boosts.decay`."""
        groups: dict[str, Sequence[RouteSpec | StageSpec]] = {
            "routes": self.routes,
            "boosts": self.boosts,
            "rerank": self.rerank,
            "select": self.select,
        }
        return tuple(f"{group}.{part.name}" for group, parts in groups.items() for part in parts)


def recipe_data(recipe: Recipe) -> dict[str, Any]:
    """The recipe as the plain data it is parsed from."""
    shown: dict[str, Any] = {"summary": recipe.summary, "unit": recipe.unit, "optimize": recipe.optimize}
    shown["routes"] = [
        {key: value for key, value in data_of(route).items() if key != "options"}
        | (data_of(route.options) if route.options is not None else {})
        for route in recipe.routes
    ]
    shown["fusion"] = {"method": recipe.fusion.method, **data_of(recipe.fusion)}
    for group in STAGED:
        parts: tuple[StageSpec, ...] = getattr(recipe, group)
        shown[group] = [{"name": part.name, **data_of(part.constants), "ids": list(part.ids)} for part in parts]
    return shown
