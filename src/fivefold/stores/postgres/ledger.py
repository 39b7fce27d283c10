"""Keys, notes and kept answers in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fivefold.errors import ServerAway
from fivefold.stores.postgres.dialect import PostgresDatabase
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.sql.dialect import Database, Values
from fivefold.stores.sql.ledger import Ledger

if TYPE_CHECKING:
    from fivefold.stores.postgres.connection import Server
    from fivefold.stores.postgres.replicas import Replicas

NO_NAMESPACE = 0
"""As whom keys and notes are read and written; the policies show them to no one else."""


class PostgresLedger(Ledger):
    def __init__(self, primary: Server, replicas: Replicas) -> None:
        self._primary = primary
        self._replicas = replicas

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """From the primary, which first knows of a revoked key; while it is away a replica will do, as for recalls."""
        try:
            return self._primary.rows(NO_NAMESPACE, sql, values)
        except ServerAway:
            for replica in self._replicas.ready():
                try:
                    return replica.rows(NO_NAMESPACE, sql, values)
                except ServerAway as error:
                    self._replicas.skip(replica, error)
            raise

    @contextmanager
    def writing(self) -> Iterator[Database]:
        with self._primary.transaction(NO_NAMESPACE) as connection:
            yield PostgresDatabase(connection)

    @contextmanager
    def answering(self, namespace: str) -> Iterator[tuple[Database, int | str]]:
        key = namespace_key(namespace)
        with self._primary.transaction(key) as connection:
            yield PostgresDatabase(connection), key
