"""Carrying a namespace out of a PostgreSQL store, and into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.stores.postgres.connection import connect
from fivefold.stores.postgres.dialect import Connection, PostgresDatabase, bound
from fivefold.stores.postgres.dsn import addresses
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.postgres.schema import version_of
from fivefold.stores.postgres.vectors import vector_of
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.snapshot import FAMILIES, Family, Row, Snapshot, SnapshotImporter, Table

if TYPE_CHECKING:
    from fivefold.stores.postgres.store import PostgresStore

CHUNK = 2_000
"""Rows that are read together."""

_STORE = (
    "SELECT c.system_identifier::text, d.oid::bigint, current_schema()::text::regnamespace::oid::bigint "
    "FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()"
)


class PostgresLook(Snapshot):
    """Reads a table a few thousand rows at a time, each time from where the last left off in the primary key."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        super().__init__("server {} {} {}".format(*self.ask(_STORE, ())[0]), key)

    def ask(self, sql: str, values: Values) -> list[Row]:
        return self._connection.execute(*bound(sql, values), binary=True).fetchall()

    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        read = CHUNK
        while read == CHUNK:
            found = self.ask(f"{self.statement(table, after)} LIMIT {CHUNK}", (self._key, *after))
            yield from found
            read = len(found)
            after = table.place(found[-1]) if found else ()

    def embeddings(self, space: int, dimension: int, field: int, after: int) -> Iterator[Row]:
        read = CHUNK
        while read == CHUNK:
            found = self.ask(
                f"SELECT memory, type, embedding FROM vectors WHERE namespace = ? AND space = ? AND field = {field} "
                f"AND memory > ? ORDER BY memory LIMIT {CHUNK}",
                (self._key, space, after),
            )
            for memory, type, sent in found:
                yield space, field, memory, type, vector_of(sent).astype("<f4").tobytes()
            read = len(found)
            after = found[-1][0] if found else after


class PostgresSnapshotImporter(SnapshotImporter):
    """Keys are counted within the namespace, so they stay as they were."""

    _pg: PostgresDatabase
    _vectors_held: Counter[tuple[int, int, int]]

    def snapshot(self) -> Snapshot:
        return PostgresLook(self._pg.connection, self._key)

    def reserve(self, last: Mapping[Family, int]) -> dict[Family, int]:
        self._pg.next_key = max(self._pg.next_key, *(key + 1 for key in last.values()))
        return dict.fromkeys(FAMILIES, 0)

    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """One statement; it reads the namespace's key from its table, so that Citus can send it to the shard whole."""
        arrays = ", ".join(f"?::{column.type}[]" for column in table.columns)
        self._run(
            f"INSERT INTO {table.name} (namespace, {table.names}) SELECT n.key, u.* FROM unnest({arrays}) "
            f"AS u({table.names}) CROSS JOIN namespaces n WHERE n.key = ?",
            *map(list, zip(*rows, strict=True)),
            self._key,
        )

    def put_embeddings(self, rows: Sequence[Row]) -> None:
        self._db.many(
            "INSERT INTO vectors (namespace, space, field, memory, type, dimension, embedding) "
            "VALUES (?, ?, ?, ?, ?, ?, ?::vector)",
            [(self._key, *row[:4], len(row[4]) // 4, np.frombuffer(row[4], dtype="<f4")) for row in rows],
        )
        self._vectors_held.update((space, field, type) for space, field, _, type, _ in rows)

    def clear(self) -> None:
        self._run("SET LOCAL statement_timeout = 0")
        super().clear()

    def clear_vectors(self) -> None:
        for table in ("vectors", "held"):
            self._run(f"DELETE FROM {table} WHERE namespace = ?", self._key)
        self._vectors_held.clear()


@contextmanager
def look(store: PostgresStore, namespace: str) -> Iterator[Snapshot]:
    """All that is read inside is as it was at the first reading, on the server that takes the writes."""
    key = namespace_key(namespace)
    with store.administration() as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for name, value in (
            ("fivefold.namespace", key),
            ("statement_timeout", 0),
            ("idle_in_transaction_session_timeout", 0),
            ("enable_sort", "off"),
            ("plan_cache_mode", "force_custom_plan"),
        ):
            connection.execute(f"SET LOCAL {name} = '{value}'")
        yield PostgresLook(connection, key)


def is_there(location: str) -> tuple[bool, str]:
    """Whether the address names a store, which looking does not make, and the address without its password."""
    named = addresses(location)
    connection = connect(named.primary, named.shown, named.options)
    try:
        return version_of(connection, named.shown, named.options) > 0, named.shown
    finally:
        connection.close()
