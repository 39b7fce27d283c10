"""Carrying a namespace out of a SQLite file, and into one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from fivefold.errors import Call, StoreError
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.snapshot import SqlSnapshot, SqlSnapshotImporter, names_of
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter
from fivefold.stores.sqlite import token_rows, vectors
from fivefold.stores.sqlite.connection import Connections
from fivefold.stores.sqlite.schema import migrations
from fivefold.stores.sqlite.sequences import reserve
from fivefold.stores.tables import FAMILIES, Family, Row, Table

CHUNK = 500
"""Vectors that are read together."""

_FAMILY_TABLES: dict[Family, str] = {"memory": "memories", "entity": "entities", "edge": "edges", "space": "spaces"}
_WITHIN = {
    "vectors": "space IN (SELECT key FROM spaces WHERE namespace = ?)",
    "links": "memory IN (SELECT row FROM memories WHERE namespace = ?)",
    "memory_links": "source IN (SELECT row FROM memories WHERE namespace = ?)",
    "memory_times": "memory IN (SELECT row FROM memories WHERE namespace = ?)",
    "edge_memories": "edge IN (SELECT key FROM edges WHERE namespace = ?)",
}
"""Tables whose index does not begin with the namespace."""


class SqliteSnapshot(SqlSnapshot):
    """Reads each table as one statement, row by row."""

    def __init__(self, connection: apsw.Connection, key: int) -> None:
        super().__init__(_file(connection), key)
        self._connection = connection

    def ask(self, sql: str, values: Values) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def where(self, table: Table) -> str:
        return _WITHIN.get(table.name) or super().where(table)

    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        return iter(self._connection.execute(self.statement(table, after), (self._key, *after)))

    def embeddings(self, space: int, dimension: int, field: int, after: tuple[int, int]) -> Iterator[Row]:
        known = self.ask(
            "SELECT id, memory, part, type FROM vectors WHERE space = ? AND field = ? AND (memory, part) > (?, ?) "
            "ORDER BY memory, part",
            (space, field, *after),
        )
        for start in range(0, len(known), CHUNK):
            batch = known[start : start + CHUNK]
            blobs: dict[int, bytes] = dict(
                self.ask(
                    f"SELECT e.rowid, e.embedding FROM json_each(?) wanted CROSS JOIN {vectors.table_of(dimension)} e "
                    "ON e.rowid = wanted.value",
                    [json.dumps([id for id, *_ in batch])],
                )
            )
            tokens = token_rows.by_id(self._connection, [id for id, *_ in batch])
            for id, memory, part, type in batch:
                if id not in blobs:
                    raise StoreError(
                        "vectors of the source are missing",
                        advice="rebuild them first with {call}",
                        call=Call("doctor", {"repair": True}),
                    )
                yield space, field, memory, part, type, blobs[id], tokens.get(id)


class SqliteSnapshotImporter(SqlSnapshotImporter):
    """Rows go in with keys of their own, beyond all that the file has ever given out."""

    def __init__(
        self, txn: Transaction, lexemes: SqlLexemeWriter, vectors: SqlVectorWriter, connection: apsw.Connection
    ) -> None:
        super().__init__(txn, lexemes, vectors)
        self._connection = connection

    def snapshot(self) -> SqlSnapshot:
        return SqliteSnapshot(self._connection, self._txn.key)

    def reserve_keys(self, last: Mapping[Family, int]) -> dict[Family, int]:
        return {family: reserve(self._txn, _FAMILY_TABLES[family], last[family]) for family in FAMILIES}

    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        parameters = ", ".join("?" * (1 + len(table.columns)))
        sql = f"INSERT INTO {table.name} (namespace, {names_of(table)}) VALUES ({parameters})"
        self._txn.db.many(sql, [(self._txn.key, *row) for row in rows])


@contextmanager
def snapshot(connections: Connections, key: int | None) -> Iterator[SqlSnapshot]:
    """All that is read inside is as it was at the first reading."""
    with connections.reader() as connection:
        if connections.read_only and int(connection.pragma("user_version")) < migrations()[-1][0]:
            raise StoreError(
                f"{connections.location!r} is of an older schema and cannot be written, so it cannot be brought up "
                "to date; copy the file to where it can be, and name that"
            )
        connection.execute("BEGIN")
        try:
            yield SqliteSnapshot(connection, 0 if key is None else key)
        finally:
            connection.execute("ROLLBACK")


def _file(connection: apsw.Connection) -> str:
    if not connection.filename:
        return f"memory {id(connection)}"
    status = os.stat(connection.filename)
    return f"file {status.st_dev} {status.st_ino}"
