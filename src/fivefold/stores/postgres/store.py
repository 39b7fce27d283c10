"""The PostgreSQL store: writes go to the primary, recalls to a replica that has seen them, or to the primary."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fivefold.errors import InvalidInput, StoreError
from fivefold.recall import Recall
from fivefold.stores.base import FIELDS, Field, Finding
from fivefold.stores.postgres.checks import check
from fivefold.stores.postgres.connection import Server, connect, plain_errors
from fivefold.stores.postgres.dialect import Connection, PostgresDatabase, ask
from fivefold.stores.postgres.dsn import addresses
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.postgres.reader import PostgresReader
from fivefold.stores.postgres.replicas import Replicas
from fivefold.stores.postgres.schema import migrate
from fivefold.stores.postgres.writer import PostgresWriter
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.recall_log import RecallLog, Row, write_rows
from fivefold.times import to_micros, utc_now

_log = logging.getLogger("fivefold")


class PostgresStore:
    """A schema of a PostgreSQL database. Making one creates the schema, or brings an older one up to date."""

    def __init__(self, location: str) -> None:
        self._addresses = addresses(location)
        self.options = self._addresses.options
        self.location = self._addresses.shown
        with self.administration() as connection:
            migrate(connection, self.location, self.options)
            self.indexes = known_indexes(connection, self.options.schema)
        self._primary = Server(self._addresses.primary, self.location, self.options)
        self._replicas = Replicas(self._addresses.replicas, self.options)
        self.recalls = RecallLog(self._log_recalls)

    @contextmanager
    def administration(self) -> Iterator[Connection]:
        """A connection as the address's own user, which sees every namespace; for migrations and care only."""
        connection = connect(self._addresses.primary, self.location, self.options)
        try:
            with plain_errors(self.location, self.options):
                yield connection
        finally:
            connection.close()

    def reader(self, namespace: str) -> PostgresReader:
        return PostgresReader(self, namespace)

    @contextmanager
    def write(self, namespace: str) -> Iterator[PostgresWriter]:
        """One writer a namespace at a time: it holds the lock on the namespace's row until it is done."""
        key = namespace_key(namespace)
        with self._primary.transaction(key) as connection:
            db = PostgresDatabase(connection)
            db.next_key = _lock(db, key, namespace)
            writer = PostgresWriter(db, key, namespace, utc_now())
            yield writer
            writer.finish()
        if self._replicas:
            self._replicas.written(self._primary, key)

    def ask(
        self, key: int, sql: str, values: Values, first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of one reading statement, from a replica where one has seen all this store wrote."""
        for replica in self._replicas.ready():
            try:
                return replica.rows(key, sql, values, first, binary)
            except StoreError as error:
                self._replicas.skip(replica, error)
        return self._primary.rows(key, sql, values, first, binary)

    def namespaces(self) -> tuple[str, ...]:
        with self.administration() as connection:
            return tuple(name for (name,) in ask(connection, "SELECT name FROM namespaces ORDER BY name"))

    def size(self) -> int:
        """Bytes of all tables and indexes of the schema."""
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
            "WHERE c.relnamespace = ?::regnamespace AND c.relkind = 'r'"
        )
        return int(self._primary.rows(0, sql, (self.options.schema,))[0][0])

    def log(self, recall: Recall) -> None:
        """Note the recall; it is written with others."""
        self.recalls.add(namespace_key(recall.namespace), recall)

    def settle(self) -> None:
        """Nothing to do: PostgreSQL's own vacuum takes out what was forgotten."""

    def check(self, namespace: str) -> Iterator[Finding]:
        yield from check(self, namespace_key(namespace))

    def close(self) -> None:
        if not self._primary.closed:
            self.recalls.flush()
            self._primary.close()
            self._replicas.close()

    def _log_recalls(self, rows: dict[int, list[Row]], patience_ms: int) -> bool:
        """Log recalls without waiting for the disk; a server that is away gets them later."""
        try:
            for key, of_namespace in rows.items():
                with self._primary.transaction(key) as connection:
                    connection.execute("SET LOCAL synchronous_commit = off")
                    db = PostgresDatabase(connection)
                    if db.rows("SELECT 1 FROM namespaces WHERE key = ?", (key,)):
                        write_rows(db, key, of_namespace)
        except StoreError as error:
            _log.warning("the recall log could not be written: %s", error)
            return False
        return True


def _lock(db: PostgresDatabase, key: int, namespace: str) -> int:
    """Lock the namespace, made if need be; gives the next free key in it."""
    sql = "SELECT name, next_key FROM namespaces WHERE key = ? FOR UPDATE"
    found = db.rows(sql, (key,))
    if not found:
        db.run(
            "INSERT INTO namespaces (key, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (key, namespace, to_micros(utc_now())),
        )
        found = db.rows(sql, (key,))
    ((name, next_key),) = found
    if name != namespace:
        raise InvalidInput(f"namespace {namespace!r} cannot be told apart from {name!r} here; choose another name")
    return int(next_key)


def known_indexes(connection: Connection, schema: str) -> dict[tuple[Field, int], int]:
    """The HNSW indexes by field and dimension, and how many vectors each held when it was last looked at."""
    found = ask(
        connection,
        "SELECT c.relname, t.reltuples::bigint FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_class t ON t.oid = i.indrelid WHERE c.relnamespace = ?::regnamespace "
        "AND c.relname LIKE 'vectors%hnsw%' AND i.indisvalid",
        (schema,),
    )
    indexes: dict[tuple[Field, int], int] = {}
    for name, tuples in found:
        field, _, dimension = name.removeprefix("vectors_").partition("_hnsw_")
        if field in FIELDS:
            indexes[field, int(dimension)] = max(0, tuples)
    return indexes
