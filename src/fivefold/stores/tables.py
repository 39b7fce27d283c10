"""A namespace as data: every table that is not derived from others, in the form in which stores exchange it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from fivefold.stores.rows import MEMORY_COLUMNS

Family = Literal["memory", "entity", "edge", "space"]
FAMILIES: tuple[Family, ...] = get_args(Family)
"""Keys that are counted together; a copy keeps their order, since ties are broken by it."""

ColumnType = Literal["text", "integer", "real", "bytes", "vector"]

Row = tuple[Any, ...]

COPY_MARK = "copying"
"""The name of the learned value in which a target notes how far a copy is; it is not copied itself."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: ColumnType
    family: Family | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """What is copied of a table, and the order in which it is read."""

    name: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    def position(self, row: Row) -> list[Any]:
        """The values of a row by which the table is ordered."""
        values = {column.name: value for column, value in zip(self.columns, row, strict=True)}
        return [values[name] for name in self.order]

    def shift_keys(self, row: Row, by: Mapping[Family, int]) -> Row:
        """The row with other keys; a reference to nothing stays so."""
        return tuple(
            value + by[column.family] if column.family and value is not None else value
            for column, value in zip(self.columns, row, strict=True)
        )

    def canonical(self, row: Row, by: Mapping[Family, int]) -> Row:
        """The row in the form that is the same in every store: some have no negative zero."""
        return tuple(value + 0.0 if type(value) is float else value for value in self.shift_keys(row, by))


def _table(name: str, columns: str, order: str) -> Table:
    """A column is `name` for text, `name:type`, or `name=family` for a key."""
    parsed = []
    for column in columns.split():
        plain, _, family = column.partition("=")
        plain, _, kind = plain.partition(":")
        column_type = cast(ColumnType, "integer" if family else kind or "text")
        parsed.append(Column(plain, column_type, cast(Family, family) if family else None))
    return Table(name, tuple(parsed), tuple(order.split()))


_MEMORY_TYPES = {
    "row": "=memory",
    **dict.fromkeys(("turn_index", "seen_count", "access_count", "last_accessed_at"), ":integer"),
    **dict.fromkeys(("expires_at", "pinned", "echo_count"), ":integer"),
    **dict.fromkeys(("event_at", "created_at", "valid_from", "valid_to"), ":integer"),
    **dict.fromkeys(("importance", "memory_score", "confidence"), ":real"),
}

NAMESPACES = _table("namespaces", "created_at:integer settings", "created_at")
SPACES = _table("spaces", "key=space embedder dimension:integer state tokens:integer", "key")
MEMORIES = _table(
    "memories",
    " ".join(name + _MEMORY_TYPES.get(name, "") for name in MEMORY_COLUMNS)
    + " given_valid_to:integer content_hash:bytes extracted",
    "row",
)
VECTORS = _table(
    "vectors",
    "space=space field:integer memory=memory part:integer type:integer embedding:vector tokens:bytes",
    "space field memory part",
)
"""Vectors with the token vectors that belong to them; None where a vector has none."""
LEARNED = _table("learned", "name value", "name")
FORGOTTEN = _table("forgotten", "memory_mark text_mark said_mark session_mark", "memory_mark")
TABLES = (
    NAMESPACES,
    SPACES,
    MEMORIES,
    _table("memory_links", "source=memory target=memory relation why chance:real", "source target relation"),
    _table("memory_times", "memory=memory starts_at:integer ends_at:integer", "memory starts_at ends_at"),
    _table("slots", "subject attribute value memory=memory ended_by=memory", "memory subject attribute value"),
    _table("entities", "key=entity name kind links:integer by_hand:integer created_at:integer", "key"),
    _table("entity_aliases", "alias entity=entity part:integer", "alias entity"),
    _table("links", "memory=memory entity=entity count:integer", "memory entity"),
    _table(
        "edges",
        "key=edge source=entity target=entity relation kind confidence:real count:integer valid_from:integer "
        "valid_to:integer by_hand:integer",
        "key",
    ),
    _table("edge_memories", "edge=edge memory=memory", "edge memory"),
    _table("sessions", "id started_at:integer ended_at:integer turns:integer built_from:integer memory=memory", "id"),
    VECTORS,
    _table("recalls", "id at:integer recipe query returned features:bytes signals", "id"),
    _table("feedback", "recall memory=memory at:integer used:integer", "recall memory"),
    LEARNED,
    FORGOTTEN,
)
"""Every table of a namespace that is not derived from the others, each after those it refers to. Times are in µs."""
