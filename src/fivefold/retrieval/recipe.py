"""Recipes: a declarative choice of routes, fusion, boosts and selection. A recipe is data; one engine runs them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from fivefold.values.fields import About, Between, data_of
from fivefold.values.query import NamePrior, Yesterday
from fivefold.values.recall_trace import EFFORTS, Effort
from fivefold.values.serialize import Json, Value

Method = Literal["rrf", "score-rrf", "convex", "composite"]
METHODS: tuple[Method, ...] = get_args(Method)
Unit = Literal["memory", "turn", "session"]

RACED = ("ditto", "memsense", "five-stage", "engram", "recall", "default")
"""The five source systems and our own recipe: what a benchmark races."""

WHOLE = ("summary", "unit", "optimize", "yesterday", "type_density", "name_prior")
"""The fields of the recipe itself, besides its parts."""

GROUPS = ("boosts", "rerank", "select")
"""The groups of stages, in the order in which they run."""

MAX_DEPTH = 4096
"""Maximum depth of a list."""


@dataclass(frozen=True, slots=True)
class RouteSpec(Value):
    """A route of a recipe: its search, the number of its hits and their weight."""

    name: Annotated[str, About("The name of the route in traces and overrides")]
    search: Annotated[str, About("The kind of search", left_out="the name")] = ""
    depth: Annotated[int, Between(1, MAX_DEPTH), About("Maximum number of its hits")] = 100
    depth_per_k: Annotated[
        int, Between(0, 100), About("Searches deeper for a larger k: at least this many hits for each of the k")
    ] = 0
    weight: Annotated[float, Between(0, 1_000), About("The weight of its hits")] = 1.0
    by_intent: Annotated[
        Mapping[str, float],
        Between(0, 100),
        About("Factor of the weight if the question asks why, when, who, how or what (E1)"),
    ] = field(default_factory=dict)
    typed: Annotated[
        bool, About("Narrows it to the types that a question implies; if hits are too few, all types are searched (R9)")
    ] = False
    supports: Annotated[
        bool, About("Uses its hits only to support others, as a session supports its turns, not as candidates")
    ] = False
    ids: Annotated[tuple[str, ...], About("The requirements it comes from; shown, not used")] = ()
    options: Any = None
    """The constants of this kind of search."""


@dataclass(frozen=True, slots=True)
class FusionSpec(Value):
    """Makes one list of the routes' lists; `pool` candidates go on to the later stages."""

    method: Annotated[Method, About("The formula")] = "convex"
    k: Annotated[float, Between(0, 10_000), About("Constant that is added to a rank, for the two rrf methods")] = 60.0
    pool: Annotated[int, Between(1, MAX_DEPTH), About("Number of candidates that go on to the later stages")] = 100
    pool_per_k: Annotated[int, Between(0, 100), About("At least this many for each of the k")] = 0
    weights: Annotated[
        Literal["fixed", "learned"],
        About("The weights of a composite: the routes' own, or predicted from the question (D3)"),
    ] = "fixed"
    per_result: Annotated[
        bool, About("Gives each result of a composite its own weights, by attention over all candidates (D12)")
    ] = False
    store: Annotated[bool, About("Searches and fuses in one statement of the store (D9, M3)")] = False
    ids: Annotated[tuple[str, ...], About("The requirements it comes from; shown, not used")] = ()


@dataclass(frozen=True, slots=True)
class StageSpec(Value):
    """A boost or a selection by name, with its constants."""

    name: str
    constants: Any
    ids: tuple[str, ...] = ()
    effort: Annotated[Effort, About("Minimum effort at which it runs", left_out="the stage's own")] = "low"

    def runs_at(self, effort: Effort) -> bool:
        return EFFORTS.index(effort) >= EFFORTS.index(self.effort)


@dataclass(frozen=True, slots=True)
class Recipe(Value):
    """A whole pipeline as a value."""

    name: str
    summary: Annotated[str, About("Describes the recipe in a sentence", left_out="none")]
    routes: Annotated[tuple[RouteSpec, ...], About("At least one route")]
    fusion: Annotated[FusionSpec, About("The method that makes one list of the routes' lists", left_out="convex")]
    boosts: Annotated[tuple[StageSpec, ...], About("Stages that change scores, in this order")] = ()
    rerank: Annotated[tuple[StageSpec, ...], About("Models that judge the best candidates, in this order")] = ()
    select: Annotated[
        tuple[StageSpec, ...], About("Stages that choose among the scored candidates, in this order")
    ] = ()
    optimize: Annotated[bool, About("Skips routes that cannot help a question (R2)")] = True
    unit: Annotated[
        Unit, About("The unit of an answer: memories as found, turns only, or the best memory of each session")
    ] = "memory"
    yesterday: Annotated[
        Yesterday, About("“Yesterday” and “last week”: of the calendar, or the 24 hours and 7 days before now (R8)")
    ] = "day"
    type_density: Annotated[
        float,
        Between(0, 1),
        About(
            "A word is foreign to an implied type if its memories have the word less often than this share of the "
            "others' rate; a type is dropped if most words are foreign; 0 drops none (R2)"
        ),
    ] = 0.0
    name_prior: Annotated[
        NamePrior, About("Counts for the meanings of a name come from the memories, or from past questions (R7)")
    ] = "memories"

    def to_dict(self) -> Json:
        return {"name": self.name, **recipe_data(self)}

    def parts(self) -> tuple[str, ...]:
        """The removable parts, such as `routes.dense` or `boosts.decay`."""
        groups: dict[str, Sequence[RouteSpec | StageSpec]] = {
            "routes": self.routes,
            "boosts": self.boosts,
            "rerank": self.rerank,
            "select": self.select,
        }
        return tuple(f"{group}.{part.name}" for group, parts in groups.items() for part in parts)


def recipe_data(recipe: Recipe) -> dict[str, Any]:
    """The recipe as the plain data it is parsed from."""
    data: dict[str, Any] = {name: getattr(recipe, name) for name in WHOLE}
    data["routes"] = [
        {key: value for key, value in data_of(route).items() if key != "options"}
        | (data_of(route.options) if route.options is not None else {})
        for route in recipe.routes
    ]
    data["fusion"] = {"method": recipe.fusion.method, **data_of(recipe.fusion)}
    for group in GROUPS:
        parts: tuple[StageSpec, ...] = getattr(recipe, group)
        data[group] = [
            {"name": part.name, **data_of(part.constants), "effort": part.effort, "ids": list(part.ids)}
            for part in parts
        ]
    return data
