"""Carrying a namespace out of a PostgreSQL store, and into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from fivefold.stores.postgres.connection import connect
from fivefold.stores.postgres.dialect import Connection, PostgresDatabase, bound
from fivefold.stores.postgres.dsn import addresses
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.postgres.schema import version_of
from fivefold.stores.postgres.vectors import vector_of
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.snapshot import SqlSnapshot, SqlSnapshotImporter, names_of
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter
from fivefold.stores.tables import FAMILIES, ColumnType, Family, Row, Table

CHUNK = 2_000
"""Rows that are read together."""

_TYPES: dict[ColumnType, str] = {"text": "text", "integer": "bigint", "real": "float8", "bytes": "bytea"}

_STORE = (
    "SELECT c.system_identifier::text, d.oid::bigint, current_schema()::text::regnamespace::oid::bigint "
    "FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()"
)


class PostgresSnapshot(SqlSnapshot):
    """Reads a table a few thousand rows at a time, each time from where the last left off in the primary key."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        super().__init__("server {} {} {}".format(*self.ask(_STORE, ())[0]), key)

    def ask(self, sql: str, values: Values) -> list[Row]:
        return self._connection.execute(*bound(sql, values), binary=True).fetchall()

    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        read = CHUNK
        while read == CHUNK:
            rows = self.ask(f"{self.statement(table, after)} LIMIT {CHUNK}", (self._key, *after))
            yield from rows
            read = len(rows)
            after = table.position(rows[-1]) if rows else ()

    def embeddings(self, space: int, dimension: int, field: int, after: tuple[int, int]) -> Iterator[Row]:
        read = CHUNK
        while read == CHUNK:
            rows = self.ask(
                "SELECT v.memory, v.part, v.type, v.embedding, t.tokens FROM vectors v LEFT JOIN tokens t "
                "ON t.namespace = v.namespace AND t.space = v.space AND t.memory = v.memory AND t.part = v.part "
                f"AND t.field = v.field WHERE v.namespace = ? AND v.space = ? AND v.field = {field} "
                f"AND (v.memory, v.part) > (?, ?) ORDER BY v.memory, v.part LIMIT {CHUNK}",
                (self._key, space, *after),
            )
            for memory, part, type, data, tokens in rows:
                yield space, field, memory, part, type, vector_of(data).astype("<f4").tobytes(), tokens
            read = len(rows)
            after = rows[-1][:2] if rows else after


class PostgresSnapshotImporter(SqlSnapshotImporter):
    """Keys are counted within the namespace, so they stay as they were."""

    def __init__(
        self, txn: Transaction, lexemes: SqlLexemeWriter, vectors: SqlVectorWriter, db: PostgresDatabase
    ) -> None:
        super().__init__(txn, lexemes, vectors)
        self._pg = db

    def snapshot(self) -> SqlSnapshot:
        return PostgresSnapshot(self._pg.connection, self._txn.key)

    def reserve_keys(self, last: Mapping[Family, int]) -> dict[Family, int]:
        self._pg.next_key = max(self._pg.next_key, *(key + 1 for key in last.values()))
        return dict.fromkeys(FAMILIES, 0)

    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """One statement; it reads the namespace's key from its table, so that Citus can send it to the shard whole."""
        arrays = ", ".join(f"?::{_TYPES[column.type]}[]" for column in table.columns)
        self._txn.run(
            f"INSERT INTO {table.name} (namespace, {names_of(table)}) SELECT n.key, u.* FROM unnest({arrays}) "
            f"AS u({names_of(table)}) CROSS JOIN namespaces n WHERE n.key = ?",
            *map(list, zip(*rows, strict=True)),
            self._txn.key,
        )

    def clear(self) -> None:
        self._txn.run("SET LOCAL statement_timeout = 0")
        super().clear()


@contextmanager
def snapshot(administration: Callable[[], AbstractContextManager[Connection]], namespace: str) -> Iterator[SqlSnapshot]:
    """All that is read inside is as it was at the first reading, on the server that takes the writes."""
    key = namespace_key(namespace)
    with administration() as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for name, value in (
            ("fivefold.namespace", key),
            ("statement_timeout", 0),
            ("idle_in_transaction_session_timeout", 0),
            ("enable_sort", "off"),
            ("plan_cache_mode", "force_custom_plan"),
        ):
            connection.execute(f"SET LOCAL {name} = '{value}'")
        yield PostgresSnapshot(connection, key)


def is_there(location: str) -> tuple[bool, str]:
    """Whether the address names a store, which looking does not make, and the address without its password."""
    servers = addresses(location)
    connection = connect(servers.primary, servers.label, servers.options)
    try:
        return version_of(connection, servers.label, servers.options) > 0, servers.label
    finally:
        connection.close()
