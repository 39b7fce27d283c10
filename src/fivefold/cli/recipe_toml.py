"""A recipe as a TOML file with every constant in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fivefold.text.display import visible

if TYPE_CHECKING:
    from fivefold.retrieval.recipe import Recipe

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(recipe: Recipe) -> str:
    """The recipe as a file with every constant in it, which `load_recipe` reads back as the same recipe."""
    from fivefold.retrieval.recipe import STAGED, WHOLE

    name = re.sub(r"[^\w.-]+", "-", visible(recipe.name))
    lines = [
        f"# The recipe {name}. Save it under a name of your own, change what you like, and use it by its path:",
        "# fivefold recall QUESTION --recipe ./NAME.toml",
        "",
        *_pairs({field: getattr(recipe, field) for field in WHOLE}),
    ]
    for route in recipe.routes:
        lines += ["", "[[routes]]", *_pairs(route_constants(route))]
    lines += ["", "[fusion]", *_pairs(constants(recipe.fusion))]
    for group in STAGED:
        for stage in getattr(recipe, group):
            lines += ["", f"[[{group}]]", *_pairs(_stage_table(stage))]
    return "\n".join(lines) + "\n"


def _stage_table(stage: Any) -> dict[str, Any]:
    """A stage's constants, and its effort where that is not the stage's own."""
    from fivefold.retrieval.stages import STAGES

    effort = {} if stage.effort == STAGES[stage.name].effort else {"effort": stage.effort}
    return {"name": stage.name, **constants(stage.constants), **effort, "ids": stage.ids}


def route_constants(route: Any) -> dict[str, Any]:
    """A route's fields with those of its search; one that only scores candidates has no depth of its own."""
    from fivefold.retrieval.routes import ROUTES

    own = {key: value for key, value in constants(route).items() if key not in {"name", "search", "options", "ids"}}
    if ROUTES[route.search].of_candidates:
        own = {key: value for key, value in own.items() if key not in {"depth", "depth_per_k", "typed"}}
    return {"name": route.name, "search": route.search, **constants(route.options), **own, "ids": route.ids}


def constants(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, defaults included."""
    from fivefold.values.fields import fields_of

    return {name: getattr(record, name) for name in fields_of(type(record))}


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if value is None:
            yield f"# {key} is not set"
        elif key != "ids" or value:
            yield f"{_key(key)} = {_value(value)}"


def _value(value: Any) -> str:
    import dataclasses

    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if dataclasses.is_dataclass(value):
        return _value(constants(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """A basic string; what does not print is escaped, so that nothing in it is obeyed by a terminal."""
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    return c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) <= 0xFFFF else f"\\U{ord(c):08x}"
