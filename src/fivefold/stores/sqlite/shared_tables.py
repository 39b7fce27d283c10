"""API keys, audit log and requests in a SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fivefold.stores.sql.dialect import Database, Values
from fivefold.stores.sql.shared_tables import SharedTables
from fivefold.stores.sqlite.connection import Connections
from fivefold.stores.sqlite.dialect import SqliteDatabase

FIRST_VERSION = 4
"""The schema that first had these tables; a file that can only be read may be older, and then has no keys."""


class SqliteSharedTables(SharedTables):
    def __init__(self, connections: Connections, version: int) -> None:
        self.read_only = connections.read_only
        self._connections = connections
        self._exist = version >= FIRST_VERSION

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        if not self._exist:
            return []
        with self._connections.reader() as connection:
            return connection.execute(sql, values).fetchall()

    def rows_of(self, namespace: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.rows(sql, (namespace, *values))

    def rows_of_all(self, sql: str) -> list[tuple[Any, ...]]:
        return self.rows(sql)

    @contextmanager
    def writing(self) -> Iterator[Database]:
        with self._connections.transaction() as connection:
            yield SqliteDatabase(connection)

    @contextmanager
    def requests_of(self, namespace: str) -> Iterator[tuple[Database, int | str]]:
        with self.writing() as db:
            yield db, namespace
