"""`fivefold recipes`: a recipe drawn from the question to the answer, top to bottom."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from fivefold.cli.terminal import PIPE_WIDTH, console, hang, line
from fivefold.retrieval.recipe import GROUPS, WHOLE, Recipe, RouteSpec, StageSpec
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from fivefold.text.display import visible
from fivefold.values.fields import fields_of
from fivefold.values.html_parts import COLOURS

SOURCES = {"D": "Ditto", "M": "Memsense", "F": "five-stage", "E": "Engram", "R": "Recall"}
"""The five systems by the letter their requirements begin with."""

REPLACEMENT_STAGES = ("superseded", "ended", "additive")
"""Stages by which a memory that was replaced loses to what replaced it (N5)."""

PLAIN_WIDTH = 80
"""Columns of a drawing that goes to a program."""

MAX_WIDTH = 100
MIN_ROOM = 24
"""With fewer columns than this next to the names, the constants go under them."""

SEPARATE_FIELDS = frozenset({"name", "search", "ids"})
"""Fields that stand elsewhere in the drawing."""

_ID = re.compile(rf"[{''.join(SOURCES)}]\d+")
_ID_LIST = re.compile(r" ?\([A-Z]\d+(?:, [A-Z]\d+)*\)")
_NBSP = "\u00a0"
"""Keeps a name and its value on one line."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the drawing: its indent, its name, its details, and the requirements it comes from."""

    lead: str
    below: str
    name: str
    details: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    style: str = ""

    @property
    def id_text(self) -> str:
        return visible(" ".join(self.ids))


def draw(recipe: Recipe) -> None:
    """The name and summary, the pipeline, and what the ids mean."""
    line(_flat(recipe.name), "bold")
    if recipe.summary:
        hang("  ", _flat(recipe.summary))
    line("")
    rows = list(_rows(recipe))
    width = PLAIN_WIDTH if console.width >= PIPE_WIDTH else min(console.width, MAX_WIDTH)
    names = min(max(cell_len(row.lead + row.name) for row in rows), width // 3) + 2
    ids = min(max(cell_len(row.id_text) for row in rows), width // 5)
    for row in rows:
        if width - names - ids - 2 >= MIN_ROOM:
            _draw_wide(row, names, ids, width)
        else:
            _draw_narrow(row, width)
    _legend(rows)
    for warning in _warnings(recipe):
        line("")
        hang("", warning, "yellow")


def list_recipes(recipes: Sequence[Recipe]) -> None:
    """Each recipe in a few lines; a table would leave its summary no room."""
    for recipe in recipes:
        line(_flat(recipe.name), "bold")
        hang("  ", _flat(recipe.summary))
        hang("  ", f"routes  {', '.join(_flat(route.name) for route in recipe.routes)}", "dim", further=10)
        hang("  ", f"fusion  {recipe.fusion.method}", "dim")
        stages = [stage.name for stage in (*recipe.boosts, *recipe.rerank, *recipe.select)]
        hang("  ", f"stages  {len(stages)}{': ' if stages else ''}{', '.join(stages)}", "dim", further=10)
    line("")
    hang("", "fivefold recipes show NAME draws one; --toml prints it as a file to edit.", "dim")


def _rows(recipe: Recipe) -> Iterator[Row]:
    gap = Row("  │", "  │", "")
    yield Row("  ", "  ", "question", style="bold")
    yield gap
    yesterday = f"yesterday{_NBSP}{recipe.yesterday.replace(' ', _NBSP)}"
    understood = ["entities, time window, intent, words", yesterday]
    if recipe.name_prior != "memories":
        understood.append(f"name_prior{_NBSP}{recipe.name_prior}: whom a name meant in past questions")
    read = tuple(id for id in ("E1", "R1", "R8") if id[0] in _letters(recipe))
    yield Row("  ", "  │ ", "understand", tuple(understood), read, "bold")
    yield gap
    skips = "routes that cannot help are skipped" if recipe.optimize else "every route that can search runs"
    chosen = ["types of memory that are implied", f"optimize{_NBSP}{_text_of(recipe.optimize)}: {skips}"]
    if recipe.type_density:
        density = f"type_density{_NBSP}{_text_of(recipe.type_density)}"
        chosen.append(f"{density}: a type counts if its memories speak of what is asked")
    yield Row(
        "  ", "  │ ", "plan", tuple(chosen), ("R2",) if recipe.optimize and "R" in _letters(recipe) else (), "bold"
    )
    yield gap
    yield from _routes(recipe.routes)
    yield gap
    fusion = constants(recipe.fusion)
    if recipe.fusion.method in {"convex", "composite"}:
        del fusion["k"]  # no ranks, no k
    if recipe.fusion.method != "composite":
        del fusion["weights"]  # those of the routes are all there are
    how = "in one statement of the store" if recipe.fusion.store else "from the routes' lists, run in parallel"
    yield Row("  ", "  │ ", "fuse", (_told(fusion, recipe.fusion), how), recipe.fusion.ids, "bold")
    yield gap
    for title, stages in (("boost", recipe.boosts), ("rerank", recipe.rerank), ("select", recipe.select)):
        if stages:
            yield from _stages(title, stages)
            yield gap
    yield Row("  ", "    ", "answer", (f"the k best, unit{_NBSP}{recipe.unit}",), (), "bold")


def _letters(recipe: Recipe) -> set[str]:
    """The systems whose requirements the recipe cites: the steps of every recipe cite no others."""
    stages = (*recipe.boosts, *recipe.rerank, *recipe.select)
    cited = [recipe.fusion.ids, *(route.ids for route in recipe.routes), *(stage.ids for stage in stages)]
    return {id[0] for ids in cited for id in ids if _ID.fullmatch(id)}


def _warnings(recipe: Recipe) -> Iterator[str]:
    """Warnings for a reader of the recipe, before its answers surprise."""
    if not any(stage.name in REPLACEMENT_STAGES for stage in (*recipe.boosts, *recipe.rerank, *recipe.select)):
        yield (
            "A memory that was replaced counts as one that holds: no stage of this recipe lowers it (N5). "
            'To lower it, save the recipe with --toml and add [[boosts]] with name = "superseded".'
        )


def _routes(routes: Sequence[RouteSpec]) -> Iterator[Row]:
    """Side by side: they leave the stem together and come back to it together."""
    last = len(routes) - 1
    for number, route in enumerate(routes):
        values = route_constants(route)
        by_intent = values.pop("by_intent")
        details = [", ".join(filter(None, (route.search, _told(values, route, route.options))))]
        if by_intent:
            details.append("by_intent " + ", ".join(f"{key}{_NBSP}×{_NBSP}{by_intent[key]:g}" for key in by_intent))
        lead = "  ├── " if not last else "  ├─┬ " if not number else "  ├─┘ " if number == last else "  │ ├ "
        below = "  │ │ " if number < last else "  │   "
        yield Row(lead, below, _flat(route.name), tuple(details), route.ids, COLOURS.get(route.search, ""))


def _stages(title: str, stages: Sequence[StageSpec]) -> Iterator[Row]:
    """One after the other, with what each does to a score."""
    yield Row("  ", "  │ ", title, style="bold")
    for stage in stages:
        kind = STAGES[stage.name]
        does = kind.does(stage.constants) if kind.does else (kind.run.__doc__ or "").strip().partition("\n")[0]
        values = constants(stage.constants)
        if values.get("alone"):
            del values["weight"]  # its score replaces the fused one
        details = (_told(values, stage.constants), _ID_LIST.sub("", does).rstrip("."))
        yield Row("  ├▷ ", "  │  ", stage.name, tuple(filter(None, details)), stage.ids, "yellow")


def _told(values: Mapping[str, Any], record: Any, options: Any = None) -> str:
    """The constants that do something, and how many are off as they are when left out."""
    left_out = {field.name: _default(field) for each in (record, options) if each for field in fields(each)}
    told = {key: value for key, value in values.items() if key not in SEPARATE_FIELDS}
    shown = {key: value for key, value in told.items() if value or value != left_out.get(key, MISSING)}
    off = len(told) - len(shown)
    return ", ".join(filter(None, (_pairs(shown), f"{off}{_NBSP}off" if off else "")))


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _pairs(values: Mapping[str, Any]) -> str:
    """Constants by the names by which `--set` changes them."""
    left = {key: value for key, value in values.items() if key not in SEPARATE_FIELDS}
    return ", ".join(f"{key}{_NBSP}{_text_of(value)}" for key, value in left.items())


def _text_of(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if is_dataclass(value):
        return f"({_pairs(constants(value))})"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}{_NBSP}{_text_of(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return _NBSP.join(map(_text_of, value)) or "none"
    return str(value)


def _draw_wide(row: Row, names: int, ids: int, width: int) -> None:
    """The name, its details in a second column, and the ids at the right edge."""
    details = [part for item in row.details for part in _wrapped(item, width - names - ids - 2)]
    if cell_len(row.lead + row.name) > names - 2 or not details:
        details = ["", *details]
    for number, part in enumerate(details):
        drawn = Text(row.below if number else row.lead, style="dim")
        if not number:
            drawn.append(_cut(row.name, width - len(row.lead) - ids - 2), style=f"not dim {row.style}")
        if part:
            drawn.append(" " * (names - drawn.cell_len)).append(part, style="not dim")
        if row.id_text and not number:
            ids_text = _cut(row.id_text, ids)
            drawn.append(" " * (width - drawn.cell_len - cell_len(ids_text))).append(ids_text)
        drawn.rstrip()
        line(drawn)


def _draw_narrow(row: Row, width: int) -> None:
    """In a narrow terminal: the name with its ids, and the details below."""
    hang(row.lead, row.name + (f" [{row.id_text}]" if row.ids else ""), row.style)
    for item in row.details:
        for part in _wrapped(item, max(12, width - len(row.below) - 2)):
            line(f"{row.below}  {part}")


def _cut(text: str, room: int) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, max(0, room - 1)) + "…"


def _flat(text: str) -> str:
    return " ".join(visible(text).split())


def _wrapped(text: str, room: int) -> list[str]:
    parts = textwrap.wrap(visible(text), room, break_on_hyphens=False)
    return [part.replace(_NBSP, " ") for part in parts]


def _legend(rows: Sequence[Row]) -> None:
    """Only the systems that are cited."""
    letters = {match[0] for row in rows for id in row.ids for match in _ID.findall(id)}
    if letters:
        systems = ", ".join(f"{letter} {SOURCES[letter]}" for letter in SOURCES if letter in letters)
        line("")
        hang("", f"Ids on the right are requirements of the source systems: {systems}.", "dim")


# A recipe as a TOML file with every constant in it.

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(recipe: Recipe) -> str:
    """The recipe as a file with every constant in it, which `load_recipe` reads back as the same recipe."""
    name = re.sub(r"[^\w.-]+", "-", visible(recipe.name))
    lines = [
        f"# The recipe {name}. Save it under a name of your own, change what you like, and use it by its path:",
        "# fivefold recall QUESTION --recipe ./NAME.toml",
        "",
        *_toml_lines({field: getattr(recipe, field) for field in WHOLE}),
    ]
    for route in recipe.routes:
        lines += ["", "[[routes]]", *_toml_lines(route_constants(route))]
    lines += ["", "[fusion]", *_toml_lines(constants(recipe.fusion))]
    for group in GROUPS:
        for stage in getattr(recipe, group):
            lines += ["", f"[[{group}]]", *_toml_lines(_stage_table(stage))]
    return "\n".join(lines) + "\n"


def _stage_table(stage: Any) -> dict[str, Any]:
    """A stage's constants, and its effort if that is not the stage's own."""
    effort = {} if stage.effort == STAGES[stage.name].effort else {"effort": stage.effort}
    return {"name": stage.name, **constants(stage.constants), **effort, "ids": stage.ids}


def route_constants(route: Any) -> dict[str, Any]:
    """A route's fields with those of its search; one that only scores candidates has no depth of its own."""
    own = {key: value for key, value in constants(route).items() if key not in {"name", "search", "options", "ids"}}
    if ROUTES[route.search].of_candidates:
        own = {key: value for key, value in own.items() if key not in {"depth", "depth_per_k", "typed"}}
    return {"name": route.name, "search": route.search, **constants(route.options), **own, "ids": route.ids}


def constants(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, defaults included."""
    return {name: getattr(record, name) for name in fields_of(type(record))}


def _toml_lines(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if value is None:
            yield f"# {key} is not set"
        elif key != "ids" or value:
            yield f"{_key(key)} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if is_dataclass(value):
        return _value(constants(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """A basic string; what does not print is escaped, so that nothing in it is obeyed by a terminal."""

    def letter(c: str) -> str:
        if c in '"\\':
            return f"\\{c}"
        return c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) <= 0xFFFF else f"\\U{ord(c):08x}"

    return f'"{"".join(map(letter, text))}"'
