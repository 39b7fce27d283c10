"""Recipes from files: built-in names and TOML files become checked recipes, and overrides change one for a recall."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from fivefold.errors import InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import GROUPS, MAX_DEPTH, WHOLE, FusionSpec, Recipe, RouteSpec, StageSpec, recipe_data
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from fivefold.retrieval.understand.demands import INTENTS
from fivefold.values.fields import build, check, check_names, fields_of
from fivefold.values.open_files import refuse_open_store
from fivefold.values.recall_trace import EFFORTS, Effort
from fivefold.values.validate import checked_choice, checked_name, refusal, short_repr


@cache
def _recipe_files() -> dict[str, Traversable]:
    """Our own recipes and the recipes of the designs, by name."""
    package = resources.files("fivefold")
    folders = (package / "retrieval" / "recipes", *(package / "designs").iterdir())
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir())
    return {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}


def known_recipes() -> tuple[str, ...]:
    return tuple(sorted(_recipe_files()))


def load_recipe(choice: str | os.PathLike[str] | Recipe, overrides: Mapping[str, object] | None = None) -> Recipe:
    """A built-in recipe by name, one of your own by the path of its TOML file, or a value; with overrides.

    An override names the field it changes by a path: `fusion.k`, `routes.dense.weight`, `boosts.decay.on`.
    """
    recipe = choice if isinstance(choice, Recipe) else _by_name(choice)
    return override(recipe, overrides) if overrides else recipe


def _by_name(choice: object) -> Recipe:
    if isinstance(choice, str) and choice in _recipe_files():
        return _built_in(choice)
    if isinstance(choice, os.PathLike) or (isinstance(choice, str) and (choice.endswith(".toml") or "/" in choice)):
        return _from_file(Path(choice))
    raise UnknownRecipe(
        f"unknown recipe {choice!r}; known are {', '.join(known_recipes())}, or give the path of a .toml file"
    )


@cache
def _built_in(name: str) -> Recipe:
    return parse_recipe(name, tomllib.loads(_recipe_files()[name].read_text("utf-8")))


def _from_file(path: Path) -> Recipe:
    refuse_open_store(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UnknownRecipe(f"recipe {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"recipe {str(path)!r} is not valid TOML: {error}") from None
    except ValueError:
        raise UnknownRecipe(f"{str(path)!r} is not the path of a file") from None
    return parse_recipe(path.stem, table)


def parse_recipe(name: str, table: Mapping[str, Any]) -> Recipe:
    """Check and build a recipe; errors name the field. A part with `on = false` is left out."""
    try:
        return _parse(name, table)
    except InvalidInput as error:
        raise error.within(f"recipe {name!r}") from None


def _parse(name: str, table: Mapping[str, Any]) -> Recipe:
    check_names(table, {field: spec for field, spec in fields_of(Recipe).items() if field != "name"})
    tables = _tables(table, "routes")
    routes = tuple(_route(item, at) for at, item in tables)
    if not routes:
        raise refusal("routes", f"is empty; name at least one of {', '.join(ROUTES.names())}")
    recipe = build(
        Recipe,
        {
            "name": name,
            "summary": "",
            "routes": routes,
            "fusion": build(FusionSpec, table.get("fusion", {}), "fusion"),
            **{group: tuple(_stage(group, item, at) for at, item in _tables(table, group)) for group in GROUPS},
            **{key: table[key] for key in WHOLE if key in table},
        },
    )
    for group in ("routes", *GROUPS):
        names = [part.name for part in getattr(recipe, group)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise refusal(group, f"has {twice!r} twice; give each its own name")
    _check_together(recipe, [at for at, _ in tables])
    return recipe


def _tables(table: Mapping[str, Any], group: str) -> list[tuple[str, dict[str, Any]]]:
    """The tables of a group that are on, each with its path."""
    tables = table.get(group, ())
    if not isinstance(tables, list | tuple) or not all(isinstance(item, Mapping) for item in tables):
        raise refusal(group, f"must be a list of tables, each beginning with [[{group}]]")
    live = []
    for i, item in enumerate(tables):
        if check(item.get("on", True), bool, f"{group}[{i}].on"):
            live.append((f"{group}[{i}]", {key: value for key, value in item.items() if key != "on"}))
    return live


def _route(item: dict[str, Any], at: str) -> RouteSpec:
    search = item.get("search") or item.get("name")
    if not isinstance(search, str) or search not in ROUTES:
        wrong = "search" if item.get("search") else "name"
        raise refusal(f"{at}.{wrong}", f"{short_repr(search)} is not a route; known are {', '.join(ROUTES.names())}")
    kind = ROUTES[search].options
    own, common = fields_of(kind), {name: spec for name, spec in fields_of(RouteSpec).items() if name != "options"}
    check_names(item, {**common, **own}, at)
    options = build(kind, {key: value for key, value in item.items() if key in own}, at)
    spec = build(RouteSpec, {key: value for key, value in item.items() if key in common} | {"search": search}, at)
    return replace(spec, options=options)


def _stage(group: str, item: dict[str, Any], at: str) -> StageSpec:
    name, ids = item.pop("name", None), item.pop("ids", ())
    groups = {group, "boosts"} if group == "rerank" else {group}  # a boost may raise what a model said, too
    if not isinstance(name, str) or name not in STAGES or STAGES[name].group not in groups:
        known = [key for key in STAGES.names() if STAGES[key].group in groups]
        raise refusal(f"{at}.name", f"{short_repr(name)} is unknown; it is one of {', '.join(known)}")
    effort = item.pop("effort", STAGES[name].effort)
    constants = build(STAGES[name].constants, item, at)
    return build(StageSpec, {"name": name, "constants": constants, "ids": ids, "effort": effort}, at)


def _check_together(recipe: Recipe, paths: Sequence[str]) -> None:
    """Checks that the fields of a route or of the fusion fit together."""
    fusion, composite = recipe.fusion, recipe.fusion.method == "composite"
    for at, route in zip(paths, recipe.routes, strict=True):
        checked_name(route.name or " ", f"{at}.name")
        if "." in route.name:
            raise refusal(f"{at}.name", f"must be a name without dots, not {route.name!r}")
        for intent in route.by_intent:
            checked_choice(intent, ("what", *INTENTS), f"{at}.by_intent")
    for at, route in zip(paths, recipe.routes, strict=True):
        if ROUTES[route.search].of_candidates and not composite:
            raise refusal(at, f'{route.search!r} needs fusion.method = "composite"')
        if fusion.store and not composite and (route.search not in {"dense", "lexical"} or route.typed):
            raise refusal(at, "does not fit: fusion.store takes untyped dense and lexical routes")
    searching = [route.search for route in recipe.routes if not ROUTES[route.search].of_candidates]
    if composite and searching != ["dense"]:
        raise refusal("fusion.method", "composite scores the candidates of exactly one dense route")
    if fusion.weights == "learned" and not composite:
        raise refusal("fusion.weights", 'learned needs fusion.method = "composite"')
    if fusion.per_result and not composite:
        raise refusal("fusion.per_result", 'true needs fusion.method = "composite"')
    if composite and not fusion.store:
        raise refusal("fusion.store", "must be true: a composite is scored in the store")
    if fusion.store and fusion.method not in {"rrf", "composite"}:
        raise refusal("fusion.store", "needs a fusion.method that a store can compute: rrf or composite")


def override(recipe: Recipe, overrides: Mapping[str, object]) -> Recipe:
    """The recipe with some of its data changed, checked again."""
    data = recipe_data(recipe)
    for path, value in overrides.items():
        _put(data, path, value, recipe)
    return parse_recipe(recipe.name, data)


def without_part(recipe: Recipe, part: str) -> Recipe:
    """The recipe without one of its `parts()`."""
    return override(recipe, {f"{part}.on": False})


def _put(data: dict[str, Any], path: str, value: object, recipe: Recipe) -> None:
    group, _, rest = path.partition(".")
    place: Any = data
    if group in {"routes", *GROUPS}:
        part, _, rest = rest.partition(".")
        place = next((item for item in data[group] if item["name"] == part), None)
        if place is None or not rest:
            parts = ", ".join(recipe.parts())
            raise InvalidInput(
                f"{path!r} changes nothing in recipe {recipe.name!r}; its parts are {parts}, then a field"
            )
    elif group == "fusion" and rest:
        place = data["fusion"]
    elif rest or group not in WHOLE:
        raise InvalidInput(
            f"{path!r} changes nothing; a change begins with routes.NAME, fusion, boosts.NAME, rerank.NAME, "
            f"select.NAME, or is {', '.join(WHOLE[1:-1])} or {WHOLE[-1]}"
        )
    else:
        rest = group
    *inner, last = rest.split(".")
    for key in inner:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise InvalidInput(f"{path!r}: {key!r} is not a table")
    place[last] = value


# Effort: how much work a recall may do. It is a change of the recipe, shown in the plan, and nothing else.

LOW_DIVISOR = 4
"""Low effort reads a quarter of each list, but not fewer than `LOW_MIN_DEPTH`."""
LOW_MIN_DEPTH = 20

HIGH_FACTOR = 4
"""High effort reads lists four times as long and lets twice as many candidates through."""
POOL_FACTOR = 2
READ_FACTOR = 3
"""It has three times as many candidates read by the cross-encoder."""
PATIENCE_MS = 60_000


def checked_effort(effort: object) -> Effort:
    if effort not in EFFORTS:
        raise InvalidInput(f"{effort!r} is unknown; it is one of {', '.join(EFFORTS)}", field="effort")
    return effort


def at_effort(recipe: Recipe, effort: Effort) -> tuple[Recipe, Mapping[str, object]]:
    """The recipe at an effort, and what the effort changed, by the paths that `load_recipe` takes."""
    return _apply_effort(_RecipeKey(recipe), effort) if effort != "normal" else (recipe, {})


class _RecipeKey:
    """A recipe as a key by its identity: built-in ones come again and again, and checking one takes a while."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __hash__(self) -> int:
        return id(self.recipe)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RecipeKey) and other.recipe is self.recipe


@lru_cache(maxsize=32)
def _apply_effort(same: _RecipeKey, effort: Effort) -> tuple[Recipe, Mapping[str, object]]:
    """Low: shorter lists; high: longer ones, and a model that reads more candidates for as long as it takes.

    The stages themselves say from which effort they run.
    """
    recipe, changes = same.recipe, dict[str, object]()
    for route in recipe.routes:
        path, deeper = f"routes.{route.name}.depth", min(MAX_DEPTH, route.depth * HIGH_FACTOR)
        if ROUTES[route.search].of_candidates:
            continue
        changes[path] = deeper if effort == "high" else max(min(LOW_MIN_DEPTH, route.depth), route.depth // LOW_DIVISOR)
        if effort == "low" and route.depth_per_k:
            changes[f"{path}_per_k"] = max(1, route.depth_per_k // LOW_DIVISOR)
    if effort == "high":
        changes["fusion.pool"] = min(MAX_DEPTH, recipe.fusion.pool * POOL_FACTOR)
        for stage in recipe.rerank:
            if stage.name == "cross_encoder":
                path, by = f"rerank.{stage.name}", stage.constants
                changes |= {f"{path}.depth": min(1_000, by.depth * READ_FACTOR), f"{path}.budget_ms": 0.0}
                changes[f"{path}.timeout_ms"] = max(float(PATIENCE_MS), by.timeout_ms)
    return override(recipe, changes), changes
