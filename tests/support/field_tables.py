"""The tables of fields in the documentation, written from the declarations; a test compares them with the pages.

`python -m tests.support.field_tables` writes them into the pages again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_origin

from fivefold.hooks.state import HookSettings
from fivefold.retrieval.recipe import FusionSpec, Recipe, RouteSpec
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from fivefold.settings import Settings
from fivefold.stores.postgres.dsn import Options
from fivefold.values.fields import FieldSpec, Rule, declared, fields_of
from fivefold.values.filters import Filter, MetadataTest
from fivefold.values.memory import Record
from fivefold.values.validate import digits

DOCS = Path(__file__).parents[2] / "docs"

_WORDS = {bool: "true, false", str: "text", int: "a whole number", float: "a number", datetime: "a time"}

Row = list[str]


def takes(spec: FieldSpec) -> str:
    """What a field takes, as a cell says it."""
    rule = declared(spec.hint).mark(Rule)
    if rule is not None:
        return rule.takes
    if spec.choices:
        return ", ".join(f"`{choice}`" for choice in spec.choices)
    span = "" if spec.low is None or spec.high is None else f"{digits(spec.low)} to {digits(spec.high)}"
    if get_origin(spec.type) is tuple:
        return _list(spec)
    if span:
        return span if spec.type in (int, float) else f"a table of numbers, {span}"
    if spec.type is str and spec.max_length:
        return f"text, at most {spec.max_length:,} characters"
    return _WORDS.get(spec.type, "a table")


def _list(spec: FieldSpec) -> str:
    most = f"at most {spec.max_length} " if spec.max_length else ""
    entry = declared(get_args(spec.type)[0])
    plural = "tables" if is_dataclass(entry.base) else "values" if entry.mark(Rule) else "texts"
    return f"a list of {most}{plural}"


def default(spec: FieldSpec) -> str:
    """What holds where a field is left out, as a cell says it."""
    if spec.left_out:
        return spec.left_out
    if spec.required:
        return "needed"
    value = spec.default
    if value is None or value in ((), {}, ""):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(str(item) if isinstance(item, int) else f"`{item}`" for item in value)
    return digits(value) if isinstance(value, int | float) else f"`{value}`"


def rows(specs: Iterable[FieldSpec], *before: str) -> Iterator[Row]:
    for spec in specs:
        yield [*(f"`{name}`" for name in before), f"`{spec.name}`", spec.about, takes(spec), default(spec)]


def _without(kind: type[Any], *names: str) -> list[FieldSpec]:
    return [spec for name, spec in fields_of(kind).items() if name not in names]


def _options() -> Iterator[Row]:
    for name, route in ROUTES.items():
        yield from rows(fields_of(route.options).values(), name)


def _stages(group: str) -> Callable[[], Iterator[Row]]:
    def stage_rows() -> Iterator[Row]:
        for name, stage in STAGES.items():
            if stage.group == group:
                own = list(rows(fields_of(stage.constants).values(), name))
                yield from own or [[f"`{name}`", "–", _first_line(stage.run), "", ""]]

    return stage_rows


def _first_line(run: Callable[..., object]) -> str:
    return (run.__doc__ or "").strip().splitlines()[0].rstrip(".")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page: the first under its heading whose first column has this title."""

    page: str
    heading: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterable[Row]]

    def written(self) -> str:
        lines = [self.columns, ("---",) * len(self.columns), *self.rows()]
        return "".join(f"| {' | '.join(line)} |\n".replace("| --- ", "|---").replace("--- |", "---|") for line in lines)

    def find(self, text: str) -> re.Match[str]:
        start = text.index(f"\n{self.heading}\n")
        title = re.escape(f"| {self.columns[0]} | {self.columns[1]} |")
        found = re.compile(rf"^{title}.*\n(?:\|.*\n)*", re.MULTILINE).search(text, start)
        assert found is not None, f"{self.page} has no table of {self.columns[0]} under {self.heading}"
        return found


FIELD = ("field", "meaning", "takes", "left out")
TABLES = (
    Table("python.md", "### The fields of a record", FIELD, lambda: rows(fields_of(Record).values())),
    Table("filters.md", "## As a value", FIELD, lambda: rows(fields_of(Filter).values())),
    Table("filters.md", "## As a value", ("condition", *FIELD[1:]), lambda: rows(fields_of(MetadataTest).values())),
    Table("questions.md", "## Settings", ("setting", *FIELD[1:3], "default"), lambda: rows(_settings())),
    Table("recipes.md", "## The file", FIELD, lambda: rows(_without(Recipe, "name"))),
    Table("recipes.md", "### A route", FIELD, lambda: rows(_without(RouteSpec, "options"))),
    Table("recipes.md", "### A route", ("search", *FIELD), _options),
    Table("recipes.md", "### Fusion", FIELD, lambda: rows(fields_of(FusionSpec).values())),
    Table("recipes.md", "### Boosts", ("stage", "constant", *FIELD[1:]), _stages("boosts")),
    Table("recipes.md", "### Reranking", ("stage", "constant", *FIELD[1:]), _stages("rerank")),
    Table("recipes.md", "### Selection", ("stage", "constant", *FIELD[1:]), _stages("select")),
    Table(
        "coding-agents.md",
        "## How it works",
        ("setting", *FIELD[1:3], "default"),
        lambda: rows(fields_of(HookSettings).values()),
    ),
    Table("scale.md", "## PostgreSQL", ("option", *FIELD[1:]), lambda: rows(fields_of(Options).values())),
)


def _settings() -> list[FieldSpec]:
    """The zone first, the way a reader looks for it."""
    by_name: Mapping[str, FieldSpec] = fields_of(Settings)
    return [by_name["timezone"], *(spec for name, spec in by_name.items() if name != "timezone")]


def main() -> None:
    for table in TABLES:
        page = DOCS / table.page
        text = page.read_text("utf-8")
        found = table.find(text)
        page.write_text(text[: found.start()] + table.written() + text[found.end() :], "utf-8")


if __name__ == "__main__":
    main()
