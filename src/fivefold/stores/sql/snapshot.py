"""Copies a namespace from one SQL store to another: rows out in order, rows in with new keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fivefold.stores.sql.index import LexemeWriter
from fivefold.stores.sql.scope import INSERT_LABELS, Transaction, label_rows
from fivefold.stores.sql.vectors import VectorWriter
from fivefold.stores.tables import COPY_MARK, LEARNED, MEMORIES, NAMESPACES, SPACES, TABLES, VECTORS, Family, Row, Table
from fivefold.values.vectors import FIELDS

_CONDITIONS = {NAMESPACES.name: "key = :ns", LEARNED.name: f"namespace = :ns AND name <> '{COPY_MARK}'"}
"""Tables whose rows of a namespace are not simply those with its key in `namespace`."""

_COLUMN = {column.name: place for place, column in enumerate(MEMORIES.columns)}

_HOMES: dict[Family, tuple[str, str]] = {
    "memory": ("memories", "row"),
    "entity": ("entities", "key"),
    "edge": ("edges", "key"),
    "space": ("spaces", "key"),
}


def names_of(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)


class Snapshot(ABC):
    """A namespace as it was at one moment, table by table. Vectors are bytes of float32, least significant first."""

    def __init__(self, store: str, key: int) -> None:
        """`store` identifies the store, however it was addressed."""
        self.store = store
        self._key = key

    @abstractmethod
    def ask(self, sql: str, /, **values: Any) -> list[Row]:
        """The rows of one statement, for which `:ns` is the namespace."""

    @abstractmethod
    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        """The rows of any table but the vectors."""

    @abstractmethod
    def embeddings(self, space: int, dimension: int, field: int, after: tuple[int, int]) -> Iterator[Row]:
        """The vectors of one field of a space with their token vectors, behind a memory and part."""

    def rows(self, table: Table, after: Sequence[Any] = ()) -> Iterator[Row]:
        """All rows in the table's order, or those behind a position in it; a vector is its float32 as bytes."""
        return self._vectors(*after) if table is VECTORS else self.plain_rows(table, after)

    def _vectors(self, space: int = 0, field: int = 0, memory: int = -1, part: int = 0) -> Iterator[Row]:
        spaces = self.ask("SELECT key, dimension FROM spaces WHERE namespace = :ns ORDER BY key")
        for key, dimension in spaces:
            for code in range(len(FIELDS)):
                if (key, code) >= (space, field):
                    after = (memory, part) if (key, code) == (space, field) else (-1, 0)
                    yield from self.embeddings(key, dimension, code, after)

    def where(self, table: Table) -> str:
        """The condition that a row is of the namespace."""
        return _CONDITIONS.get(table.name, "namespace = :ns")

    def counts(self) -> dict[str, int]:
        counts = {t.name: self.ask(f"SELECT count(*) FROM {t.name} WHERE {self.where(t)}") for t in TABLES}
        return {name: int(rows[0][0]) for name, rows in counts.items()}

    def bounds(self) -> dict[Family, tuple[int, int]]:
        """The smallest and the largest key of each family; zeros if there is no key."""
        ranges: dict[Family, tuple[int, int]] = {}
        for family, (table, column) in _HOMES.items():
            ((least, most),) = self.ask(f"SELECT min({column}), max({column}) FROM {table} WHERE namespace = :ns")
            ranges[family] = (least or 0, most or 0)
        return ranges

    def statement(self, table: Table, after: Sequence[Any]) -> str:
        """Reads a table in its order, behind a position in it, whose values are `after0` and so on."""
        order = ", ".join(table.order)
        beyond = f" AND ({order}) > ({', '.join(f':after{i}' for i in range(len(after)))})" if after else ""
        return f"SELECT {names_of(table)} FROM {table.name} WHERE {self.where(table)}{beyond} ORDER BY {order}"


class SnapshotImporter(ABC):
    """The receiving end: rows as they were, with keys as `reserve_keys` says."""

    def __init__(self, txn: Transaction, lexemes: LexemeWriter, vectors: VectorWriter) -> None:
        self._txn = txn
        self._lexemes = lexemes
        self._vectors = vectors

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The namespace as this transaction sees it."""

    @abstractmethod
    def reserve_keys(self, last: Mapping[Family, int]) -> dict[Family, int]:
        """Reserve keys for a copy whose own keys go up to `last`; gives what to add to each key of a family."""

    @abstractmethod
    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows of one table."""

    def import_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows of one table with their keys shifted; lexemes are added apart."""
        if table is NAMESPACES:
            created_at, settings = rows[0]
            sql = "UPDATE namespaces SET created_at = :at, settings = :settings WHERE key = :ns"
            self._txn.run(sql, at=created_at, settings=settings)
        elif table is VECTORS:
            self._vectors.put_rows(rows)
        else:
            if table is SPACES:
                for _, _, dimension, *_ in rows:
                    self._vectors.make_room(dimension)
            self.put_rows(table, rows)
            if table is MEMORIES:
                places = [_COLUMN[name] for name in ("row", "tags", "metadata")]
                known = ((self._txn.key, *(memory[place] for place in places)) for memory in rows)
                self._txn.many(INSERT_LABELS, label_rows(known))  # derived from the memories, so not copied

    def clear(self) -> None:
        """Delete everything of the namespace but its name."""
        snapshot = self.snapshot()
        self._lexemes.clear()
        self._vectors.clear()
        self._txn.run("DELETE FROM memory_labels WHERE namespace = :ns")
        for table in reversed(TABLES):
            if table not in (VECTORS, NAMESPACES):
                self._txn.run(f"DELETE FROM {table.name} WHERE {snapshot.where(table)}")
        self._txn.run("UPDATE namespaces SET settings = '{}' WHERE key = :ns")
