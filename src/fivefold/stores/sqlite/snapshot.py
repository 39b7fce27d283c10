"""Carrying a namespace out of a SQLite file, and into one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from fivefold.errors import StoreError
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.snapshot import FAMILIES, Family, Row, Snapshot, SnapshotImporter, Table
from fivefold.stores.sqlite import vectors
from fivefold.stores.sqlite.schema import migrations

if TYPE_CHECKING:
    from fivefold.stores.sqlite.store import SqliteStore

CHUNK = 500
"""Vectors that are read together."""

_COUNTED: dict[Family, str] = {"memory": "memories", "entity": "entities", "edge": "edges", "space": "spaces"}
_WITHIN = {
    "vectors": "space IN (SELECT key FROM spaces WHERE namespace = ?)",
    "links": "memory IN (SELECT row FROM memories WHERE namespace = ?)",
    "memory_links": "source IN (SELECT row FROM memories WHERE namespace = ?)",
    "edge_memories": "edge IN (SELECT key FROM edges WHERE namespace = ?)",
}
"""Tables whose index does not begin with the namespace."""


class SqliteLook(Snapshot):
    """Reads each table as one statement, row by row."""

    def __init__(self, connection: apsw.Connection, key: int) -> None:
        super().__init__(_file(connection), key)
        self._connection = connection

    def ask(self, sql: str, values: Values) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def where(self, table: Table) -> str:
        return _WITHIN.get(table.name, table.where)

    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        return iter(self._connection.execute(self.statement(table, after), (self._key, *after)))

    def embeddings(self, space: int, dimension: int, field: int, after: int) -> Iterator[Row]:
        sql = "SELECT id, memory, type FROM vectors WHERE space = ? AND field = ? AND memory > ? ORDER BY memory"
        known = self.ask(sql, (space, field, after))
        for start in range(0, len(known), CHUNK):
            part = known[start : start + CHUNK]
            found: dict[int, bytes] = dict(
                self.ask(
                    f"SELECT e.rowid, e.embedding FROM json_each(?) wanted CROSS JOIN {vectors.table_of(dimension)} e "
                    "ON e.rowid = wanted.value",
                    [json.dumps([id for id, _, _ in part])],
                )
            )
            for id, memory, type in part:
                if id not in found:
                    raise StoreError("vectors of the source are lost; run `fivefold doctor --repair` on it first")
                yield space, field, memory, type, found[id]


class SqliteSnapshotImporter(SnapshotImporter):
    """Rows go in with keys of their own, beyond all that the file has ever given out."""

    _connection: apsw.Connection

    def snapshot(self) -> Snapshot:
        return SqliteLook(self._connection, self._key)

    def reserve(self, last: Mapping[Family, int]) -> dict[Family, int]:
        return {family: self._taken(_COUNTED[family], last[family]) for family in FAMILIES}

    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        places = ", ".join("?" * (1 + len(table.columns)))
        sql = f"INSERT INTO {table.name} (namespace, {table.names}) VALUES ({places})"
        self._db.many(sql, [(self._key, *row) for row in rows])

    def put_embeddings(self, rows: Sequence[Row]) -> None:
        first = self._taken("vectors", len(rows)) + 1
        self._db.many(
            "INSERT INTO vectors (id, space, field, memory, type) VALUES (?, ?, ?, ?, ?)",
            [(id, *row[:4]) for id, row in enumerate(rows, first)],
        )
        by_length: dict[int, list[Row]] = {}
        for id, (space, field, memory, type, embedding) in enumerate(rows, first):
            by_length.setdefault(len(embedding) // 4, []).append((id, space, field, type, memory, embedding))
        for dimension, held in by_length.items():
            self._db.many(
                f"INSERT INTO {vectors.table_of(dimension)} (rowid, space, field, type, event_at, embedding) "
                "VALUES (?, ?, ?, ?, (SELECT event_at FROM memories WHERE row = ?), ?)",
                held,
            )

    def clear_vectors(self) -> None:
        spaces = self._rows("SELECT key, dimension FROM spaces WHERE namespace = ?", self._key)
        for space, dimension in spaces:
            held = self._rows("SELECT id FROM vectors WHERE space = ?", space)
            self._db.many(f"DELETE FROM {vectors.table_of(dimension)} WHERE rowid = ?", held)
            self._run("DELETE FROM vectors WHERE space = ?", space)

    def _taken(self, table: str, more: int) -> int:
        """The last key a table has given out; so many more count as given out from now on."""
        last = self._number("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        if last is None:
            self._run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, more)
        else:
            self._run("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?", more, table)
        return last or 0


@contextmanager
def look(store: SqliteStore, namespace: str) -> Iterator[Snapshot]:
    """All that is read inside is as it was at the first reading."""
    key = store.key_of(namespace)
    with store.connections.reader() as connection:
        if store.read_only and int(connection.pragma("user_version")) < migrations()[-1][0]:
            raise StoreError(
                f"{store.location!r} is of an older schema and cannot be written, so it cannot be brought up to date; "
                "copy the file to where it can be, and name that"
            )
        connection.execute("BEGIN")
        try:
            yield SqliteLook(connection, 0 if key is None else key)
        finally:
            connection.execute("ROLLBACK")


def _file(connection: apsw.Connection) -> str:
    if not connection.filename:
        return f"memory {id(connection)}"
    found = os.stat(connection.filename)
    return f"file {found.st_dev} {found.st_ino}"
