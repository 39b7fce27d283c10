"""A namespace as data: every table that is not derived from others, in the form in which stores exchange it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from importlib import resources
from operator import attrgetter
from typing import Any, Literal, cast, get_args

from fivefold.stores.records import VectorSpace
from fivefold.values.memory import Memory
from fivefold.values.serialize import Value
from fivefold.values.times import EPOCH, MICROSECOND, from_micros, to_micros

MEMORY_COLUMNS = (
    "row, id, content, kind, type, speaker, session_id, turn_index, predicate, user_text, assistant_text, "
    "next_user_text, tags, task_tag, event_at, created_at, valid_from, valid_to, superseded_by, importance, "
    "memory_score, confidence, seen_count, access_count, last_accessed_at, "
    "expires_at, pinned, origin, echo_count, metadata"
).split(", ")
"""The columns of a memory in the order of `memory_of`; all but the row in that of `values_of`."""


_decode = json.JSONDecoder().raw_decode


class _Draft(Value):
    """A memory that is still being filled in. Its slots are those of a memory, which it becomes."""

    __slots__ = tuple(field.name for field in fields(Memory))


def memory_of(namespace: str, columns: Sequence[Any]) -> Memory:
    """The memory of a row. A recall makes a hundred, and filling in a frozen one takes five times as long."""
    memory: Any = _Draft()
    (
        memory.row,
        memory.id,
        memory.content,
        memory.kind,
        memory.type,
        memory.speaker,
        memory.session_id,
        memory.turn_index,
        memory.predicate,
        memory.user_text,
        memory.assistant_text,
        memory.next_user_text,
        tags,
        memory.task_tag,
        event_at,
        created_at,
        valid_from,
        valid_to,
        memory.superseded_by,
        memory.importance,
        memory.memory_score,
        memory.confidence,
        memory.seen_count,
        memory.access_count,
        last_accessed_at,
        expires_at,
        pinned,
        memory.origin,
        memory.echo_count,
        metadata,
    ) = columns
    memory.namespace = namespace
    memory.tags = () if tags == "[]" else tuple(_decode(tags)[0])
    memory.event_at = EPOCH + event_at * MICROSECOND
    memory.created_at = EPOCH + created_at * MICROSECOND
    memory.valid_from = None if valid_from is None else from_micros(valid_from)
    memory.valid_to = None if valid_to is None else from_micros(valid_to)
    memory.last_accessed_at = None if last_accessed_at is None else from_micros(last_accessed_at)
    memory.expires_at = None if expires_at is None else from_micros(expires_at)
    memory.pinned = bool(pinned)
    memory.metadata = {} if metadata == "{}" else _decode(metadata)[0]
    memory.__class__ = Memory
    return cast(Memory, memory)


def values_of(memory: Memory) -> tuple[Any, ...]:
    values = list(_WRITTEN(memory))
    for place, column_of in _COLUMNS_OF:
        values[place] = column_of(values[place])
    return tuple(values)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def micros_or_none(value: datetime | None) -> int | None:
    return None if value is None else to_micros(value)


def moment_or_none(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


_WRITTEN = attrgetter(*MEMORY_COLUMNS[1:])
_COLUMNS_OF: list[tuple[int, Callable[[Any], Any]]] = [
    *((MEMORY_COLUMNS.index(name) - 1, to_micros) for name in ("event_at", "created_at")),
    *(
        (MEMORY_COLUMNS.index(name) - 1, micros_or_none)
        for name in ("valid_from", "valid_to", "last_accessed_at", "expires_at")
    ),
    (MEMORY_COLUMNS.index("tags") - 1, lambda tags: compact(list(tags)) if tags else "[]"),
    (MEMORY_COLUMNS.index("metadata") - 1, lambda metadata: compact(dict(metadata)) if metadata else "{}"),
    (MEMORY_COLUMNS.index("pinned") - 1, int),
]
"""The place of each value that a column has in another form, and how that is made."""


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
    """The columns that are copied of a table, and the order in which it is read."""

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
"""Vectors with the token vectors that belong to them; None if a vector has none."""
LEARNED = _table("learned", "name value", "name")
FORGOTTEN = _table("forgotten", "memory_mark text_mark said_mark session_mark", "memory_mark")
QUARANTINE = _table("quarantine", "id session_id content_hash:bytes held_at:integer record", "id")
TABLES = (
    NAMESPACES,
    SPACES,
    MEMORIES,
    _table("memory_links", "source=memory target=memory relation why chance:real", "source target relation"),
    _table("memory_times", "memory=memory starts_at:integer ends_at:integer", "memory starts_at ends_at"),
    _table("facts", "memory=memory starts:integer ends:integer section weight:integer", "memory starts"),
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
    QUARANTINE,
)
"""Every table of a namespace that is not derived from the others, each after those it refers to. Times are in µs."""


def migrations_of(package: str) -> tuple[tuple[int, str], ...]:
    """Every migration of a store's schema as (version, SQL), oldest first."""
    entries = resources.files(package).joinpath("migrations").iterdir()
    steps = [(re.fullmatch(r"(\d{4})_\w+\.sql", entry.name), entry) for entry in entries]
    return tuple(sorted((int(match[1]), entry.read_text("utf-8")) for match, entry in steps if match))


SPACE_COLUMNS = "key, embedder, dimension, tokens"


def space_of(row: tuple[Any, ...]) -> VectorSpace:
    """The space of a row that begins with `SPACE_COLUMNS`."""
    key, embedder, dimension, tokens = row[:4]
    return VectorSpace(key, embedder, dimension, bool(tokens))
