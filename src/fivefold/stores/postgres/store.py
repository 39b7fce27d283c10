"""The PostgreSQL store: writes go to the primary, recalls to a replica that has seen them, or to the primary."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

from fivefold.errors import InvalidInput, OwnerOnly, ServerAway, StoreClosed, StoreError
from fivefold.stores.postgres import snapshot
from fivefold.stores.postgres.checks import check
from fivefold.stores.postgres.citus import is_sharded
from fivefold.stores.postgres.connection import POSITION, Server, connect, plain_errors, search_path
from fivefold.stores.postgres.dialect import Connection, PostgresDatabase, ask
from fivefold.stores.postgres.dsn import addresses
from fivefold.stores.postgres.indexes import Indexes, Known, known_indexes
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.postgres.maintenance import maintain
from fivefold.stores.postgres.reader import PostgresServer, reader_of
from fivefold.stores.postgres.replicas import Replicas
from fivefold.stores.postgres.row_level_security import check_role
from fivefold.stores.postgres.schema import migrate, migrations, pgvector, version_of
from fivefold.stores.postgres.shared_tables import PostgresSharedTables
from fivefold.stores.postgres.writer import PostgresWriter
from fivefold.stores.protocol import LoggedRecall
from fivefold.stores.sql.audit_store import SqlAuditStore
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.key_store import SqlKeyStore
from fivefold.stores.sql.queue_store import SqlQueueStore, drop_queue
from fivefold.stores.sql.reader import SqlReader
from fivefold.stores.sql.recall_log import RecallLog, Row, write_rows
from fivefold.stores.sql.request_store import SqlRequestStore
from fivefold.stores.sql.snapshot import SqlSnapshot
from fivefold.values.reports import Erasure, Finding, MaintenanceResult
from fivefold.values.times import to_micros, utc_now

CUSTOM_PLANS = ("SET LOCAL plan_cache_mode = force_custom_plan",)
"""Citus finds the one shard by the namespace a statement is given; a plan made for any would go to all, or fail."""

_log = logging.getLogger("fivefold")


class PostgresStore:
    """A schema of a PostgreSQL database. Making one creates the schema, or brings an older one up to date."""

    def __init__(self, location: str) -> None:
        self._addresses = addresses(location)
        self.options = self._addresses.options
        self.location = self._addresses.label
        path, known, self._sharded, self.iterative = self._first_look()
        self._planning = CUSTOM_PLANS if self._sharded else ()
        self._primary = Server(self._addresses.primary, self.location, self.options, path, self._planning)
        self.indexes = Indexes(known, lambda: known_indexes(partial(self._primary.rows, 0), self.options.schema))
        self._replicas = Replicas(self._addresses.replicas, self.options, path)
        self._stored = self._replicas.written if self._replicas else None
        if self._stored:
            with suppress(ServerAway):  # what this opening made must be on a replica before it is asked
                self._stored(self._primary.rows(0, POSITION, ())[0][0])
        self.shared_tables = tables = PostgresSharedTables(self._primary, self._replicas, self._planning)
        self.keys, self.audit, self.requests = SqlKeyStore(tables), SqlAuditStore(tables), SqlRequestStore(tables)
        self.queue = SqlQueueStore(tables)
        self.recalls = RecallLog(self._log_recalls)

    def _first_look(self) -> tuple[str, Known, bool, bool]:
        """Bring the schema up to date. With the primary away, a replica that is up to date will do for recalls."""
        try:
            with self.administration() as connection:
                migrate(connection, self.location, self.options)
                return self._seen(connection)
        except ServerAway:
            for address in self._addresses.replicas:
                with suppress(ServerAway), self.administration(address) as connection:
                    if version_of(connection, self.location, self.options) == migrations()[-1][0]:
                        return self._seen(connection)
            raise

    def _seen(self, connection: Connection) -> tuple[str, Known, bool, bool]:
        check_role(connection, self.options)
        rows = partial(ask, connection)
        known = known_indexes(rows, self.options.schema)
        sharded, iterative = is_sharded(rows, self.options.schema), pgvector(connection) >= (0, 8)
        return search_path(connection, self.options), known, sharded, iterative

    @contextmanager
    def administration(self, address: str | None = None) -> Iterator[Connection]:
        """A connection as the address's own user, which sees every namespace; for migrations and care only."""
        connection = connect(address or self._addresses.primary, self.location, self.options)
        try:
            with plain_errors(self.location, self.options):
                yield connection
        finally:
            connection.close()

    @property
    def replica_addresses(self) -> tuple[str, ...]:
        return self._addresses.replicas

    def reader(self, namespace: str) -> SqlReader:
        server = PostgresServer(self.ask, self.recalls, self.options, self.indexes, self.iterative, self.size)
        return reader_of(server, namespace)

    def snapshot(self, namespace: str) -> AbstractContextManager[SqlSnapshot]:
        """The namespace as it is at one moment, for a copy."""
        return snapshot.snapshot(self.administration, namespace)

    @contextmanager
    def write(self, namespace: str) -> Iterator[PostgresWriter]:
        """One writer a namespace at a time: it holds the lock on the namespace's row until it is done."""
        key = namespace_key(namespace)
        with self._primary.turn(key), self._primary.transaction(key, self._stored) as connection:
            db = PostgresDatabase(connection)
            db.next_key = _lock(db, key, namespace)
            writer = PostgresWriter(db, key, namespace, utc_now())
            yield writer
            writer.finish()
        if writer.removed:
            self.recalls.forget(key, writer.removed)

    def delete_namespace(self, namespace: str) -> int | None:
        """Delete everything under the lock of a write; a writer that waits for it makes the namespace again."""
        key = namespace_key(namespace)
        with self._primary.turn(key), self._primary.transaction(key, self._stored) as connection:
            db = PostgresDatabase(connection)
            if db.rows("SELECT name FROM namespaces WHERE key = ? FOR UPDATE", (key,)) != [(namespace,)]:
                return 0 if drop_queue(db, key) else None
            count = PostgresWriter(db, key, namespace, utc_now()).drop_namespace()
        self.recalls.forget_namespace(key)
        return count

    def ask(
        self, key: int, sql: str, values: Values, first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of one reading statement, from a replica where one has seen all this store wrote."""
        first = (*self._planning, *first)
        for replica in self._replicas.ready():
            try:
                return replica.rows(key, sql, values, first, binary)
            except ServerAway as error:
                self._replicas.skip(replica, error)
        return self._primary.rows(key, sql, values, first, binary)

    def namespaces(self) -> tuple[str, ...]:
        self._must_be_open()
        with self.administration() as connection:
            seen = "SELECT NOT row_security_active('namespaces')"
            if not ask(connection, seen)[0][0]:
                raise OwnerOnly(f"only the owner of schema {self.options.schema!r} may list its namespaces")
            return tuple(name for (name,) in ask(connection, "SELECT name FROM namespaces ORDER BY name"))

    def size(self) -> int:
        """Bytes of all tables and indexes of the schema."""
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
            "WHERE c.relnamespace = ?::regnamespace AND c.relkind = 'r'"
        )
        if self._sharded:
            sql = (
                "SELECT coalesce(sum(shard_size), 0)::bigint FROM citus_shards WHERE table_name IN "
                "(SELECT oid FROM pg_class WHERE relnamespace = ?::regnamespace)"
            )
        return int(self._primary.rows(0, sql, (self.options.schema,))[0][0])

    def log(self, recall: LoggedRecall) -> None:
        """Log a recall; it is written with others."""
        self.recalls.add(namespace_key(recall.namespace), recall)

    def load_model(self, namespace: str, seen: int) -> tuple[int, bytes | None]:
        key = namespace_key(namespace)
        sql = "SELECT changed_at, CASE WHEN changed_at <> :seen THEN model END FROM rerankers WHERE namespace = :ns"
        rows = self.ask(key, sql, {"ns": key, "seen": seen})
        return (int(rows[0][0]), rows[0][1]) if rows else (0, None)

    def save_model(self, namespace: str, data: bytes | None) -> None:
        with self.write(namespace) as txn:
            txn.save_model(data)

    def checkpoint(self) -> None:
        """Nothing to do: PostgreSQL's own vacuum deletes what was removed."""

    def erasure(self) -> Erasure:
        return Erasure(
            False,
            "what was forgotten is in no query's answer, but its bytes may remain in its files until PostgreSQL "
            "vacuums them, and in the server's write-ahead log until it is recycled or its archive is deleted",
        )

    def maintain(self) -> Iterator[MaintenanceResult]:
        """Build the indexes that are missing, and renew the planner's statistics."""
        self._must_be_open()
        with self.administration() as connection:
            yield from maintain(connection, self.options)
        self.indexes.renew()

    def check(self, namespace: str) -> Iterator[Finding]:
        key = namespace_key(namespace)
        yield from check(partial(self.ask, key), key)

    def close(self) -> None:
        if not self._primary.closed:
            if self._primary.own:
                self.recalls.flush()
            self._primary.close()
            self._replicas.close()

    def _must_be_open(self) -> None:
        if self._primary.closed:
            raise StoreClosed("this engine was closed; open the store again")

    def _log_recalls(self, rows: dict[int, list[Row]], patience_ms: int) -> bool:
        """Log recalls without waiting for the disk; a server that is away gets them later."""
        try:
            for key, of_namespace in rows.items():
                with self._primary.transaction(key, self._stored) as connection:
                    connection.execute("SET LOCAL synchronous_commit = off")
                    connection.execute(f"SET LOCAL lock_timeout = {max(1, patience_ms)}")
                    db = PostgresDatabase(connection)
                    if db.rows("SELECT 1 FROM namespaces WHERE key = ?", (key,)):
                        write_rows(db, key, of_namespace)
        except StoreError as error:
            level = logging.WARNING if patience_ms else logging.DEBUG  # without patience it is only later
            _log.log(level, "the recall log could not be written: %s", error)
            return False
        return True


def _lock(db: PostgresDatabase, key: int, namespace: str) -> int:
    """Lock the namespace, made if need be; gives the next free key in it."""
    sql = "SELECT name, next_key FROM namespaces WHERE key = ? FOR NO KEY UPDATE"
    rows = db.rows(sql, (key,))
    if not rows:
        db.run(
            "INSERT INTO namespaces (key, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (key, namespace, to_micros(utc_now())),
        )
        rows = db.rows(sql, (key,))
    ((name, next_key),) = rows
    if name != namespace:
        raise InvalidInput(f"namespace {namespace!r} cannot be distinguished from {name!r} here; choose another name")
    return int(next_key)
