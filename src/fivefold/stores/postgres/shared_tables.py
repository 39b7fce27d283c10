"""API keys, audit log and requests in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fivefold.errors import ServerAway
from fivefold.stores.postgres.connection import Server
from fivefold.stores.postgres.dialect import PostgresDatabase
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.postgres.replicas import Replicas
from fivefold.stores.sql.dialect import Database, Values
from fivefold.stores.sql.shared_tables import SharedTables

NO_NAMESPACE = 0
"""The namespace as which keys and audit log are read and written; the policies show them to no other."""


class PostgresSharedTables(SharedTables):
    def __init__(self, primary: Server, replicas: Replicas, planning: Sequence[str]) -> None:
        """`planning` is what a statement on a table of namespaces needs before it, if these are distributed."""
        self._primary = primary
        self._replicas = replicas
        self._planning = planning

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """From the primary, which first knows of a revoked key; from a replica while the primary is away."""
        try:
            return self._primary.rows(NO_NAMESPACE, sql, values)
        except ServerAway:
            for replica in self._replicas.ready():
                try:
                    return replica.rows(NO_NAMESPACE, sql, values)
                except ServerAway as error:
                    self._replicas.skip(replica, error)
            raise

    def rows_of(self, namespace: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        key = namespace_key(namespace)
        return self._primary.rows(key, sql, (key, *values), self._planning)

    def rows_of_all(self, sql: str) -> list[tuple[Any, ...]]:
        asks_all_shards = ("SET LOCAL citus.multi_task_query_log_level = off",) if self._planning else ()
        return self._primary.rows(NO_NAMESPACE, sql, (), (*self._planning, *asks_all_shards))

    @contextmanager
    def writing(self) -> Iterator[Database]:
        with self._primary.transaction(NO_NAMESPACE) as connection:
            yield PostgresDatabase(connection)

    @contextmanager
    def requests_of(self, namespace: str) -> Iterator[tuple[Database, int | str]]:
        key = namespace_key(namespace)
        with self._primary.transaction(key) as connection:
            yield PostgresDatabase(connection), key
