"""The PostgreSQL store: writes go to the primary, recalls to a replica that has seen them, or to the primary."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

from fivefold.errors import InvalidInput, OwnerOnly, ServerAway, StoreClosed, StoreError
from fivefold.stores.interface import Reader, Writer
from fivefold.stores.postgres.citus import is_sharded
from fivefold.stores.postgres.connection import POSITION, Replicas, Server, connect, plain_errors, search_path
from fivefold.stores.postgres.dialect import Connection, PostgresTransaction, Values, ask, bound, namespace_key
from fivefold.stores.postgres.dsn import Options, addresses
from fivefold.stores.postgres.lexical import PostgresLexemeWriter
from fivefold.stores.postgres.maintenance import Indexes, Known, check, known_indexes, maintain
from fivefold.stores.postgres.schema import check_role, migrate, migrations, pgvector, version_of
from fivefold.stores.postgres.search import PostgresScope, PostgresServer, reader_of
from fivefold.stores.postgres.vectors import PostgresVectorWriter, vector_of
from fivefold.stores.records import LoggedRecall
from fivefold.stores.sql.admin import AuditStore, CommonTables, KeyStore, RequestStore
from fivefold.stores.sql.feedback import LoggedRow, RecallLog, write_rows
from fivefold.stores.sql.index import LexemeWriter
from fivefold.stores.sql.scope import Transaction
from fivefold.stores.sql.snapshot import Snapshot, SnapshotImporter, names_of
from fivefold.stores.sql.vectors import VectorWriter
from fivefold.stores.sql.write_queue import QueueStore, drop_queue
from fivefold.stores.tables import FAMILIES, ColumnType, Family, Row, Table
from fivefold.values.reports import Erasure, Finding, MaintenanceResult

NO_NAMESPACE = 0
"""The namespace as which keys and audit log are read and written; the policies show them to no other."""


class PostgresCommonTables(CommonTables):
    def __init__(self, primary: Server, replicas: Replicas, planning: Sequence[str]) -> None:
        """`planning` is what a statement on a table of namespaces needs before it, if these are distributed."""
        self._primary = primary
        self._replicas = replicas
        self._planning = planning

    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
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

    def rows_of(self, namespace: str, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        key = namespace_key(namespace)
        return self._primary.rows(key, sql, {"ns": key, **values}, self._planning)

    def rows_of_all(self, sql: str) -> list[tuple[Any, ...]]:
        asks_all_shards = ("SET LOCAL citus.multi_task_query_log_level = off",) if self._planning else ()
        return self._primary.rows(NO_NAMESPACE, sql, (), (*self._planning, *asks_all_shards))

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._transaction(NO_NAMESPACE)

    def requests_of(self, namespace: str) -> AbstractContextManager[Transaction]:
        return self._transaction(namespace_key(namespace))

    @contextmanager
    def _transaction(self, key: int) -> Iterator[Transaction]:
        with self._primary.transaction(key) as connection:
            yield PostgresTransaction(connection, key)


# Carrying a namespace out of a PostgreSQL store, and into one.

CHUNK_ROWS = 2_000
"""Rows that are read together."""

_TYPES: dict[ColumnType, str] = {"text": "text", "integer": "bigint", "real": "float8", "bytes": "bytea"}

_STORE = (
    "SELECT c.system_identifier::text, d.oid::bigint, current_schema()::text::regnamespace::oid::bigint "
    "FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()"
)


class PostgresSnapshot(Snapshot):
    """Reads a table a few thousand rows at a time, each time from the primary key after the last one read."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        super().__init__("server {} {} {}".format(*ask(connection, _STORE)[0]), key)

    def ask(self, sql: str, /, **values: Any) -> list[Row]:
        return self._connection.execute(*bound(sql, {"ns": self._key, **values}), binary=True).fetchall()

    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        read = CHUNK_ROWS
        while read == CHUNK_ROWS:
            values = {f"after{i}": value for i, value in enumerate(after)}
            rows = self.ask(f"{self.statement(table, after)} LIMIT {CHUNK_ROWS}", **values)
            yield from rows
            read = len(rows)
            after = table.position(rows[-1]) if rows else ()

    def embeddings(self, space: int, dimension: int, field: int, after: tuple[int, int]) -> Iterator[Row]:
        read = CHUNK_ROWS
        while read == CHUNK_ROWS:
            rows = self.ask(
                "SELECT v.memory, v.part, v.type, v.embedding, t.tokens FROM vectors v LEFT JOIN tokens t "
                "ON t.namespace = v.namespace AND t.space = v.space AND t.memory = v.memory AND t.part = v.part "
                f"AND t.field = v.field WHERE v.namespace = :ns AND v.space = :space AND v.field = {field} "
                f"AND (v.memory, v.part) > (:memory, :part) ORDER BY v.memory, v.part LIMIT {CHUNK_ROWS}",
                space=space,
                memory=after[0],
                part=after[1],
            )
            for memory, part, type, data, tokens in rows:
                yield space, field, memory, part, type, vector_of(data).astype("<f4").tobytes(), tokens
            read = len(rows)
            after = rows[-1][:2] if rows else after


class PostgresSnapshotImporter(SnapshotImporter):
    """Keys are counted within the namespace, so they stay as they were."""

    def __init__(self, txn: PostgresTransaction, lexemes: LexemeWriter, vectors: VectorWriter) -> None:
        super().__init__(txn, lexemes, vectors)
        self._pg = txn

    def snapshot(self) -> Snapshot:
        return PostgresSnapshot(self._pg.connection, self._txn.key)

    def reserve_keys(self, last: Mapping[Family, int]) -> dict[Family, int]:
        self._pg.next_key = max(self._pg.next_key, *(key + 1 for key in last.values()))
        return dict.fromkeys(FAMILIES, 0)

    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        """One statement; it reads the namespace's key from its table, so that Citus can send it to the shard whole."""
        arrays = ", ".join(f":{column.name}::{_TYPES[column.type]}[]" for column in table.columns)
        columns = zip((column.name for column in table.columns), map(list, zip(*rows, strict=True)), strict=True)
        self._txn.run(
            f"INSERT INTO {table.name} (namespace, {names_of(table)}) SELECT n.key, u.* FROM unnest({arrays}) "
            f"AS u({names_of(table)}) CROSS JOIN namespaces n WHERE n.key = :ns",
            **dict(columns),
        )

    def clear(self) -> None:
        self._txn.run("SET LOCAL statement_timeout = 0")
        super().clear()


@contextmanager
def snapshot(administration: Callable[[], AbstractContextManager[Connection]], namespace: str) -> Iterator[Snapshot]:
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
    """True if the address names a store, which looking does not make; and the address without its password."""
    servers = addresses(location)
    connection = connect(servers.primary, servers.label, servers.options)
    try:
        return version_of(connection, servers.label, servers.options) > 0, servers.label
    finally:
        connection.close()


class PostgresWriter(Writer):
    """Has the lock on its namespace."""

    def __init__(self, txn: PostgresTransaction) -> None:
        lexemes, vectors = PostgresLexemeWriter(txn), PostgresVectorWriter(txn)
        super().__init__(txn, lexemes, vectors, partial(PostgresSnapshotImporter, txn, lexemes, vectors), txn)
        self._pg = txn

    def finish(self) -> None:
        super().finish()
        self._txn.run("UPDATE namespaces SET next_key = :next WHERE key = :ns", next=self._pg.next_key)

    def drop_namespace(self) -> int:
        self.save_model(None)
        return super().drop_namespace()

    def save_model(self, data: bytes | None) -> None:
        """Save the reranker learned from use; None deletes it."""
        self._txn.run("DELETE FROM rerankers WHERE namespace = :ns")
        if data is not None:
            sql = "INSERT INTO rerankers (namespace, changed_at, model) VALUES (:ns, :now, :model)"
            self._txn.run(sql, now=self._txn.now, model=data)


CUSTOM_PLANS = ("SET LOCAL plan_cache_mode = force_custom_plan",)
"""Citus finds the one shard by the namespace a statement is given; a plan made for any would go to all, or fail."""

_log = logging.getLogger("fivefold")


class PostgresStore:
    """A schema of a PostgreSQL database. Making one creates the schema, or brings an older one up to date."""

    def __init__(self, location: str) -> None:
        self._addresses = addresses(location)
        self.options: Options = self._addresses.options
        self.location: str = self._addresses.label
        path, known, self._sharded, self.iterative = self._first_look()
        self._planning = CUSTOM_PLANS if self._sharded else ()
        self._primary = Server(self._addresses.primary, self.location, self.options, path, self._planning)
        self.indexes: Indexes = Indexes(
            known, lambda: known_indexes(partial(self._primary.rows, 0), self.options.schema)
        )
        self._replicas = Replicas(self._addresses.replicas, self.options, path)
        self._stored = self._replicas.written if self._replicas else None
        if self._stored:
            with suppress(ServerAway):  # what this opening made must be on a replica before it is asked
                self._stored(self._primary.rows(0, POSITION, ())[0][0])
        self.shared_tables: PostgresCommonTables
        self.shared_tables = tables = PostgresCommonTables(self._primary, self._replicas, self._planning)
        self.keys: KeyStore = KeyStore(tables)
        self.audit: AuditStore = AuditStore(tables)
        self.requests: RequestStore = RequestStore(tables)
        self.queue: QueueStore = QueueStore(tables)
        self.recalls: RecallLog = RecallLog(self._log_recalls)

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

    def reader(self, namespace: str) -> Reader:
        return reader_of(self._server(), namespace)

    def _server(self) -> PostgresServer:
        return PostgresServer(self.ask, self.recalls, self.options, self.indexes, self.iterative, self.size)

    def snapshot(self, namespace: str) -> AbstractContextManager[Snapshot]:
        return snapshot(self.administration, namespace)

    @contextmanager
    def write(self, namespace: str) -> Iterator[PostgresWriter]:
        """One writer a namespace at a time: it holds the lock on the namespace's row until it is done."""
        key = namespace_key(namespace)
        with self._primary.turn(key), self._primary.transaction(key, self._stored) as connection:
            next_key = _lock(PostgresTransaction(connection, key, namespace))
            writer = PostgresWriter(PostgresTransaction(connection, key, namespace, next_key))
            yield writer
            writer.finish()
        if writer.removed:
            self.recalls.forget(key, writer.removed)

    def delete_namespace(self, namespace: str) -> int | None:
        """Delete everything under the lock of a write; a writer that waits for it makes the namespace again."""
        key = namespace_key(namespace)
        with self._primary.turn(key), self._primary.transaction(key, self._stored) as connection:
            txn = PostgresTransaction(connection, key, namespace)
            if txn.value("SELECT name FROM namespaces WHERE key = :ns FOR UPDATE") != namespace:
                return 0 if drop_queue(txn) else None
            count = PostgresWriter(txn).drop_namespace()
        self.recalls.forget_namespace(key)
        return count

    def ask(
        self, key: int, sql: str, values: Values, first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of one reading statement, from a replica if one has seen all this store wrote."""
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
        """Nothing to do: PostgreSQL's own vacuum removes deleted rows."""

    def erasure(self) -> Erasure:
        return Erasure(
            False,
            "what was forgotten is in no query's answer, but its bytes may remain in its files until PostgreSQL "
            "vacuums them, and in the server's write-ahead log until it is recycled or its archive is deleted",
        )

    def maintain(self) -> Iterator[MaintenanceResult]:
        self._must_be_open()
        with self.administration() as connection:
            yield from maintain(connection, self.options)
        self.indexes.renew()

    def check(self, namespace: str) -> Iterator[Finding]:
        yield from check(PostgresScope(self._server(), namespace))

    def close(self) -> None:
        if not self._primary.closed:
            if self._primary.own:
                self.recalls.flush()
            self._primary.close()
            self._replicas.close()

    def _must_be_open(self) -> None:
        if self._primary.closed:
            raise StoreClosed("this engine was closed; open the store again")

    def _log_recalls(self, rows: dict[int, list[LoggedRow]], patience_ms: int) -> bool:
        """Log recalls without waiting for the disk; a server that is away gets them later."""
        try:
            for key, of_namespace in rows.items():
                with self._primary.transaction(key, self._stored) as connection:
                    connection.execute("SET LOCAL synchronous_commit = off")
                    connection.execute(f"SET LOCAL lock_timeout = {max(1, patience_ms)}")
                    txn = PostgresTransaction(connection, key)
                    if txn.rows("SELECT 1 FROM namespaces WHERE key = :ns"):
                        write_rows(txn, of_namespace)
        except StoreError as error:
            level = logging.WARNING if patience_ms else logging.DEBUG  # without patience it is only later
            _log.log(level, "the recall log could not be written: %s", error)
            return False
        return True


def _lock(txn: PostgresTransaction) -> int:
    """Lock the namespace, made if need be; gives the next free key in it."""
    sql = "SELECT name, next_key FROM namespaces WHERE key = :ns FOR NO KEY UPDATE"
    rows = txn.rows(sql)
    if not rows:
        made = "INSERT INTO namespaces (key, name, created_at) VALUES (:ns, :name, :now) ON CONFLICT DO NOTHING"
        txn.run(made, name=txn.namespace, now=txn.now)
        rows = txn.rows(sql)
    ((name, next_key),) = rows
    if name != txn.namespace:
        raise InvalidInput(
            f"namespace {txn.namespace!r} cannot be distinguished from {name!r} here; choose another name"
        )
    return int(next_key)
