"""How a namespace is carried from one store to another: its tables as data, rows out in order, rows in anew."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.vectors import FIELDS

Family = Literal["memory", "entity", "edge", "space"]
FAMILIES: tuple[Family, ...] = get_args(Family)
"""Keys that are counted together; a copy keeps their order, since ties are broken by it."""

Row = tuple[Any, ...]

MARK = "copying"
"""The name under which a target notes how far a copy has come, beside what was learned."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    family: Family | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """What is copied of a table, and the order in which it is read; `where` has the namespace as its parameter."""

    name: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    where: str = "namespace = ?"

    @property
    def names(self) -> str:
        return ", ".join(column.name for column in self.columns)

    def place(self, row: Row) -> list[Any]:
        """Where a row stands in the order."""
        at = {column.name: value for column, value in zip(self.columns, row, strict=True)}
        return [at[name] for name in self.order]

    def shifted(self, row: Row, by: Mapping[Family, int]) -> Row:
        """The row with other keys; what refers to nothing stays so."""
        return tuple(
            value + by[column.family] if column.family and value is not None else value
            for column, value in zip(self.columns, row, strict=True)
        )

    def canonical(self, row: Row, by: Mapping[Family, int]) -> Row:
        """The row as it is the same in every store: some have no zero below zero."""
        return tuple(value + 0.0 if type(value) is float else value for value in self.shifted(row, by))


def _table(name: str, columns: str, order: str, where: str = "namespace = ?") -> Table:
    """A column is `name` for text, `name:type`, or `name=family` for a key."""
    made = []
    for column in columns.split():
        plain, _, family = column.partition("=")
        plain, _, kind = plain.partition(":")
        made.append(Column(plain, "bigint" if family else kind or "text", family or None))  # type: ignore[arg-type]
    return Table(name, tuple(made), tuple(order.split()), where)


NAMESPACES = _table("namespaces", "created_at:bigint settings", "created_at", "key = ?")
SPACES = _table("spaces", "key=space embedder dimension:bigint state", "key")
MEMORIES = _table(
    "memories",
    "row=memory id content kind type speaker session_id turn_index:bigint predicate user_text assistant_text "
    "next_user_text tags task_tag event_at:bigint created_at:bigint valid_from:bigint valid_to:bigint superseded_by "
    "importance:float8 memory_score:float8 confidence:float8 seen_count:bigint access_count:bigint "
    "last_accessed_at:bigint metadata given_valid_to:bigint content_hash:bytea extracted",
    "row",
)
VECTORS = _table("vectors", "space=space field:bigint memory=memory type:bigint embedding:vector", "space field memory")
TABLES = (
    NAMESPACES,
    SPACES,
    MEMORIES,
    _table("memory_links", "source=memory target=memory relation why", "source target relation"),
    _table("slots", "subject attribute value memory=memory ended_by=memory", "memory subject attribute value"),
    _table("entities", "key=entity name kind links:bigint by_hand:bigint created_at:bigint", "key"),
    _table("entity_aliases", "alias entity=entity part:bigint", "alias entity"),
    _table("links", "memory=memory entity=entity count:bigint", "memory entity"),
    _table(
        "edges",
        "key=edge source=entity target=entity relation kind confidence:float8 count:bigint valid_from:bigint "
        "valid_to:bigint by_hand:bigint",
        "key",
    ),
    _table("edge_memories", "edge=edge memory=memory", "edge memory"),
    _table("sessions", "id started_at:bigint ended_at:bigint turns:bigint built_from:bigint memory=memory", "id"),
    VECTORS,
    _table("recalls", "id at:bigint recipe query returned features:bytea signals", "id"),
    _table("feedback", "recall memory=memory at:bigint used:bigint", "recall memory"),
    _table("learned", "name value", "name", f"namespace = ? AND name <> '{MARK}'"),
)
"""Every table of a namespace that is not made of the others, each after those it refers to."""

_HOMES: dict[Family, tuple[str, str]] = {
    "memory": ("memories", "row"),
    "entity": ("entities", "key"),
    "edge": ("edges", "key"),
    "space": ("spaces", "key"),
}


class Snapshot:
    """A namespace as it was at one moment, table by table. Vectors are bytes of float32, least significant first."""

    def __init__(self, store: str, key: int) -> None:
        """`store` tells one store from another, however it was named."""
        self.store = store
        self._key = key

    @abstractmethod
    def ask(self, sql: str, values: Values) -> list[Row]:
        """The rows of one statement."""

    @abstractmethod
    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        """The rows of any table but the vectors."""

    @abstractmethod
    def embeddings(self, space: int, dimension: int, field: int, after: int) -> Iterator[Row]:
        """The vectors of one field of a space, of memories behind `after`."""

    def rows(self, table: Table, after: Sequence[Any] = ()) -> Iterator[Row]:
        """All rows in the table's order, or those behind a place in it."""
        return self._vectors(*after) if table is VECTORS else self.plain_rows(table, after)

    def _vectors(self, space: int = 0, field: int = 0, memory: int = -1) -> Iterator[Row]:
        spaces = self.ask(f"SELECT key, dimension FROM spaces WHERE {SPACES.where} ORDER BY key", (self._key,))
        for key, dimension in spaces:
            for code in range(len(FIELDS)):
                if (key, code) >= (space, field):
                    yield from self.embeddings(key, dimension, code, memory if (key, code) == (space, field) else -1)

    def where(self, table: Table) -> str:
        """The condition that a row is of the namespace."""
        return table.where

    def count(self, table: Table) -> int:
        return int(self.ask(f"SELECT count(*) FROM {table.name} WHERE {self.where(table)}", (self._key,))[0][0])

    def counts(self) -> dict[str, int]:
        return {table.name: self.count(table) for table in TABLES}

    def bounds(self) -> dict[Family, tuple[int, int]]:
        """The smallest and the largest key of each family; zeros where there is none."""
        found: dict[Family, tuple[int, int]] = {}
        for family, (table, column) in _HOMES.items():
            sql = f"SELECT min({column}), max({column}) FROM {table} WHERE namespace = ?"
            ((least, most),) = self.ask(sql, (self._key,))
            found[family] = (least or 0, most or 0)
        return found

    def statement(self, table: Table, after: Sequence[Any]) -> str:
        """Reads a table in its order; parameters are the namespace, then the place after which to begin."""
        order = ", ".join(table.order)
        beyond = f" AND ({order}) > ({', '.join('?' * len(after))})" if after else ""
        return f"SELECT {table.names} FROM {table.name} WHERE {self.where(table)}{beyond} ORDER BY {order}"


class SnapshotImporter(Transaction):
    """The receiving end: rows as they were, their keys given by `reserve`."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The namespace as this transaction sees it."""

    @abstractmethod
    def reserve(self, last: Mapping[Family, int]) -> dict[Family, int]:
        """Keep keys for a copy whose own go up to `last`, so that no other writer takes them; gives what to add."""

    @abstractmethod
    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows of one table."""

    @abstractmethod
    def put_embeddings(self, rows: Sequence[Row]) -> None:
        """Insert rows of `VECTORS`."""

    @abstractmethod
    def make_room(self, dimension: int) -> None: ...

    @abstractmethod
    def clear_words(self) -> None: ...

    @abstractmethod
    def clear_vectors(self) -> None:
        """Take away all vectors of the namespace."""

    def import_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """Take in a batch of one table; its lexemes are indexed apart."""
        if table is NAMESPACES:
            self._run("UPDATE namespaces SET created_at = ?, settings = ? WHERE key = ?", *rows[0], self._key)
        elif table is VECTORS:
            self.put_embeddings(rows)
        else:
            if table is SPACES:
                for _, _, dimension, _ in rows:
                    self.make_room(dimension)
            self.put_rows(table, rows)

    def clear(self) -> None:
        """Take away all the namespace holds, and keep its name."""
        look = self.snapshot()
        self.clear_words()
        self.clear_vectors()
        for table in reversed(TABLES):
            if table not in (VECTORS, NAMESPACES):
                self._run(f"DELETE FROM {table.name} WHERE {look.where(table)}", self._key)
        self._run("UPDATE namespaces SET settings = '{}' WHERE key = ?", self._key)
