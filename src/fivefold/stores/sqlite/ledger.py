"""Keys, notes and kept answers in a SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fivefold.stores.sql.dialect import Database, Values
from fivefold.stores.sql.ledger import Ledger
from fivefold.stores.sqlite.dialect import SqliteDatabase

if TYPE_CHECKING:
    from fivefold.stores.sqlite.connection import Connections

FIRST_VERSION = 4
"""The schema that first had these tables; a file that can only be read may be older, and then has no keys."""


class SqliteLedger(Ledger):
    def __init__(self, connections: Connections, version: int) -> None:
        self.read_only = connections.read_only
        self._connections = connections
        self._there = version >= FIRST_VERSION

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        if not self._there:
            return []
        with self._connections.reader() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Database]:
        with self._connections.transaction() as connection:
            yield SqliteDatabase(connection)

    @contextmanager
    def answering(self, namespace: str) -> Iterator[tuple[Database, int | str]]:
        with self.writing() as db:
            yield db, namespace
