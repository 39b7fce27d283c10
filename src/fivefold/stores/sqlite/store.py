"""The SQLite store: one file, one writer at a time, readers in parallel, any number of processes."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from fivefold.errors import Call, ReadOnly, StoreError, StoreReplaced
from fivefold.stores.interface import Reader, Writer
from fivefold.stores.records import LoggedRecall
from fivefold.stores.sql.admin import AuditStore, CommonTables, KeyStore, RequestStore
from fivefold.stores.sql.feedback import LoggedRow, RecallLog, write_rows
from fivefold.stores.sql.index import LexemeWriter
from fivefold.stores.sql.scope import Transaction
from fivefold.stores.sql.snapshot import Snapshot, SnapshotImporter, names_of
from fivefold.stores.sql.vectors import VectorWriter
from fivefold.stores.sql.write_queue import QueueStore, drop_queue
from fivefold.stores.sqlite.codes import CodeBuilder
from fivefold.stores.sqlite.connection import (
    Connections,
    connect,
    is_full,
    make_durable,
    number,
    plain_errors,
    rows,
    transaction,
)
from fivefold.stores.sqlite.damage import check
from fivefold.stores.sqlite.dialect import SqliteTransaction, reserve, table_of
from fivefold.stores.sqlite.encryption import (
    KEY_VARIABLE,
    MissingLibrary,
    can_encrypt,
    checked_key,
    is_encrypted,
    library,
)
from fivefold.stores.sqlite.erasure import LogErasure
from fivefold.stores.sqlite.lexical import PostingCache, SqliteLexemeWriter
from fivefold.stores.sqlite.schema import check_copies, migrate, migrations, remove_copies, tidy, version_of
from fivefold.stores.sqlite.search import SqliteFile, offer_nearest, reader_of
from fivefold.stores.sqlite.vector_cache import VectorCache
from fivefold.stores.sqlite.vectors import SqliteVectorWriter, TokenCache, tokens_by_id
from fivefold.stores.tables import FAMILIES, Family, Row, Table
from fivefold.values.reports import Erasure, Finding, MaintenanceResult
from fivefold.values.times import to_micros, utc_now

FIRST_VERSION = 4
"""The schema that first had these tables; a file that can only be read may be older, and then has no keys."""


class SqliteCommonTables(CommonTables):
    def __init__(self, connections: Connections, version: int) -> None:
        self.read_only: bool = connections.read_only
        self._connections = connections
        self._exist = version >= FIRST_VERSION

    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        if not self._exist:
            return []
        with self._connections.reader() as connection:
            return connection.execute(sql, values).fetchall()

    def rows_of(self, namespace: str, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.rows(sql, ns=namespace, **values)

    def rows_of_all(self, sql: str) -> list[tuple[Any, ...]]:
        return self.rows(sql)

    def writing(self) -> AbstractContextManager[Transaction]:
        return self.requests_of("")

    @contextmanager
    def requests_of(self, namespace: str) -> Iterator[Transaction]:
        with self._connections.transaction() as connection:
            yield SqliteTransaction(connection, namespace, namespace)


_log = logging.getLogger("fivefold")


class SqliteStore:
    """A fivefold file. Making one creates the file, or brings an older one up to date."""

    def __init__(self, location: str, key: str | None = None) -> None:
        if key is not None:
            checked_key(key)
        self.location: str = location if location == ":memory:" else os.path.abspath(location)
        self.read_only: bool = _prepare(self.location, key)
        self.vector_cache: VectorCache = VectorCache()
        self.token_cache: TokenCache = TokenCache()
        with plain_errors(self.location):
            self.connections: Connections = Connections(
                self.location,
                read_only=self.read_only,
                prepare=partial(offer_nearest, cache=self.vector_cache),
                key=key,
            )
        self.vector_cache.build = CodeBuilder(self.connections).begin
        version = newest = migrations()[-1][0]
        with self.connections.writer() as connection:
            if self.read_only:
                version = version_of(connection, self.location, newest)
            elif self.connections.in_memory:
                migrate(connection, self.location, migrations())
            else:
                make_durable(connection)
        self.shared_tables: SqliteCommonTables
        self.shared_tables = tables = SqliteCommonTables(self.connections, version)
        self.keys: KeyStore = KeyStore(tables)
        self.audit: AuditStore = AuditStore(tables)
        self.requests: RequestStore = RequestStore(tables)
        self.queue: QueueStore = QueueStore(tables)
        self.recalls: RecallLog = RecallLog(self._log_recalls)
        self._file = SqliteFile(
            self.connections, self.vector_cache, self.token_cache, PostingCache(), self.recalls, self.key_of, self.size
        )
        self._logging: apsw.Connection | None = None
        self._erasure = LogErasure(self.location, self.connections.connect)

    def reader(self, namespace: str) -> Reader:
        return reader_of(self._file, namespace)

    @contextmanager
    def snapshot(self, namespace: str) -> Iterator[Snapshot]:
        """All that is read inside is as it was at the first reading."""
        key = self.key_of(namespace)
        with self.connections.reader() as connection:
            if self.read_only and int(connection.pragma("user_version")) < migrations()[-1][0]:
                raise StoreError(
                    f"{self.location!r} is of an older schema and cannot be written, so it cannot be brought up "
                    "to date; copy the file to a writable place, and name the copy"
                )
            connection.execute("BEGIN")
            try:
                yield SqliteSnapshot(connection, 0 if key is None else key)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def write(self, namespace: str) -> Iterator[Writer]:
        with self._transaction() as connection:
            key = _make_namespace(connection, namespace)
            writer = writer_of(connection, key, namespace)
            yield writer
            writer.finish()
        if writer.removed:
            self.recalls.forget(key, writer.removed)

    def delete_namespace(self, namespace: str) -> int | None:
        spaces: list[int] = []
        with self._transaction() as connection:
            key = _key_of(connection, namespace)
            if key is None:
                count = 0 if drop_queue(SqliteTransaction(connection, namespace)) else None
            else:
                spaces = [space for (space,) in rows(connection, "SELECT key FROM spaces WHERE namespace = ?", key)]
                note_last_namespace(connection)
                count = writer_of(connection, key, namespace).drop_namespace()
        if key is not None:
            self.recalls.forget_namespace(key)
            self.vector_cache.drop(spaces)
            self.token_cache.drop(spaces)
        if count is not None:
            self.checkpoint()
        return count

    def key_of(self, namespace: str) -> int | None:
        """Looked up each time: another process may have deleted the namespace, and made it again under another key."""
        with self.connections.reader() as connection:
            return _key_of(connection, namespace)

    def namespaces(self) -> tuple[str, ...]:
        with self.connections.reader() as connection:
            return tuple(str(name) for (name,) in connection.execute("SELECT name FROM namespaces ORDER BY name"))

    def size(self) -> int:
        if self.connections.in_memory:
            with self.connections.reader() as connection:
                return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
        files = (Path(self.location + suffix) for suffix in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def log(self, recall: LoggedRecall) -> None:
        """Log a recall; it is written with others, and never makes a recall wait."""
        key = self.key_of(recall.namespace)
        if key is not None and not self.read_only:
            self.recalls.add(key, recall)

    def checkpoint(self) -> None:
        """Call after a removal: deleted text leaves the write-ahead log too; if a reader needs it, in the
        background."""
        if not self.connections.in_memory:
            remove_copies(self.location)
            self._erasure.erase()

    def erasure(self) -> Erasure:
        return self._erasure.state()

    def maintain(self) -> Iterator[MaintenanceResult]:
        """Gives the query planner fresh statistics if it asks for them."""
        self._must_be_writable()
        with self.connections.writer() as connection:
            with transaction(connection):
                connection.execute("DELETE FROM answers WHERE expires_at <= ?", (to_micros(utc_now()),))
            connection.execute("PRAGMA optimize")
        if not self.connections.in_memory:
            tidy(self.location)
        yield MaintenanceResult("statistics", True, "renewed for the planner if it wanted them")

    def check(self, namespace: str) -> Iterator[Finding]:
        """On a separate connection, which has no earlier read that it might still see."""
        key = self.key_of(namespace)
        if self.connections.in_memory:
            with self.connections.reader() as connection:
                yield from check(connection, key)
            return
        with plain_errors(self.location):
            connection = self.connections.connect()
            try:
                yield from check(connection, key)
            finally:
                connection.close()
        yield from check_copies(self.location)
        yield self._encryption()
        if not self.erasure().complete:
            yield Finding("erasure", True, self.erasure().detail)

    def _encryption(self) -> Finding:
        with self.connections.reader() as connection:
            how = "every page is encrypted" if is_encrypted(connection) else "the file is not encrypted"
        return Finding("encryption", True, f"{how}; the library is {library()}")

    def close(self) -> None:
        if not self.connections.closed:
            self.recalls.flush()
            if self._logging is not None:
                self._logging.close()
            self._erasure.close()
            self.connections.close()

    def _log_recalls(self, recalls: dict[int, list[LoggedRow]], patience_ms: int) -> bool:
        """Log recalls on a connection of their own that never makes anyone wait for the disk."""
        if self.connections.closed:
            return False
        try:
            if self.connections.in_memory:
                with self.connections.transaction() as connection:
                    _write_log(connection, recalls)
                return True
            self.connections.check_files()
            if self._logging is None:
                self._logging = self.connections.connect()
                self._logging.execute("PRAGMA synchronous = NORMAL")
            self._logging.set_busy_timeout(patience_ms)
            with transaction(self._logging):
                _write_log(self._logging, recalls)
        except (apsw.BusyError, apsw.LockedError):
            return False
        except (apsw.Error, StoreReplaced) as error:
            _log.warning("the recall log could not be written: %s", error)
        return True

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        """A newer version of fivefold may have upgraded the file since it was opened; then nothing is written."""
        self._must_be_writable()
        with self.connections.transaction() as connection:
            version_of(connection, self.location, migrations()[-1][0])
            yield connection

    def _must_be_writable(self) -> None:
        if self.read_only:
            raise ReadOnly(f"{self.location!r} cannot be written: the file or its folder is read-only")


def _key_of(connection: apsw.Connection, namespace: str) -> int | None:
    return number(connection, "SELECT key FROM namespaces WHERE name = ?", namespace)


def _make_namespace(connection: apsw.Connection, namespace: str) -> int:
    known = _key_of(connection, namespace)
    if known is not None:
        return known
    key = last_namespace(connection) + 1
    values = (key, namespace, to_micros(utc_now()))
    connection.execute("INSERT INTO namespaces (key, name, created_at) VALUES (?, ?, ?)", values)
    return key


def _write_log(connection: apsw.Connection, recalls: dict[int, list[LoggedRow]]) -> None:
    """Recalls of a namespace that was deleted since are left out."""
    for key, of_namespace in recalls.items():
        if number(connection, "SELECT 1 FROM namespaces WHERE key = ?", key):
            write_rows(SqliteTransaction(connection, key), of_namespace)


def _make(location: str, key: str | None) -> None:
    """Bring the file to the newest schema; once more if another process has just made it, encrypted by another salt."""
    is_new = os.path.getsize(location) == 0
    try:
        with closing(connect(location, create=True, key=key)) as connection:
            migrate(connection, location, migrations(), key)
            make_durable(connection)
    except apsw.NotADBError:
        if not is_new:
            raise
        _make(location, key)


def _prepare(location: str, key: str | None) -> bool:
    """Create or migrate the file; true when it can only be read."""
    if location == ":memory:":
        return False
    path = Path(location)
    try:
        if path.is_dir():
            raise StoreError(f"{location!r} is a folder; give the path of a file in it, such as {location}/fivefold.db")
        if not path.parent.exists():
            raise StoreError(f"the folder {str(path.parent)!r} does not exist; create it first")
        exists = path.exists()
        if not exists and (key or os.environ.get(KEY_VARIABLE)) and not can_encrypt():
            raise MissingLibrary()
        if not exists:  # memories are private; the files SQLite adds take the same mode
            with suppress(FileExistsError):  # a file that appeared meanwhile is not opened
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(f"{location!r} cannot be opened: {error.strerror or error}") from None
    if exists and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return True
    with plain_errors(location):
        try:
            _make(location, key)
        except (apsw.FullError, apsw.IOError) as error:
            if not is_full(error) or not exists:
                raise
            with closing(connect(location, read_only=True, key=key)) as connection:
                if int(connection.pragma("user_version")) == 0:  # its making was cut off: there is nothing to read
                    raise error from None
            _log.warning("the disk holding %r is full: the store is opened to read only", location)
            return True
    tidy(location)
    return False


_LAST_NAMESPACE = (
    "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'namespaces'), 0), coalesce(max(key), 0)) "
    "FROM namespaces"
)


def last_namespace(connection: apsw.Connection) -> int:
    """The last key that a namespace got, whether or not it still exists."""
    return number(connection, _LAST_NAMESPACE) or 0


def note_last_namespace(connection: apsw.Connection) -> None:
    """Before a namespace is deleted: its key is never used again, so that no process takes another for it."""
    last = last_namespace(connection)
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'namespaces'")
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('namespaces', ?)", (last,))


def writer_of(connection: apsw.Connection, key: int, namespace: str) -> Writer:
    """A writer inside `BEGIN IMMEDIATE … COMMIT`; requests and the queue know the namespace by its name."""
    txn = SqliteTransaction(connection, key, namespace)
    lexemes, vectors = SqliteLexemeWriter(txn), SqliteVectorWriter(txn)
    importer = partial(SqliteSnapshotImporter, txn, lexemes, vectors)
    return Writer(txn, lexemes, vectors, importer, SqliteTransaction(connection, namespace, namespace))


CHUNK = 500
"""Vectors that are read together."""

_FAMILY_TABLES: dict[Family, str] = {"memory": "memories", "entity": "entities", "edge": "edges", "space": "spaces"}
_WITHIN = {
    "vectors": "space IN (SELECT key FROM spaces WHERE namespace = :ns)",
    "links": "memory IN (SELECT row FROM memories WHERE namespace = :ns)",
    "memory_links": "source IN (SELECT row FROM memories WHERE namespace = :ns)",
    "memory_times": "memory IN (SELECT row FROM memories WHERE namespace = :ns)",
    "edge_memories": "edge IN (SELECT key FROM edges WHERE namespace = :ns)",
}
"""Tables whose index does not begin with the namespace."""


class SqliteSnapshot(Snapshot):
    """Reads each table as one statement, row by row."""

    def __init__(self, connection: apsw.Connection, key: int) -> None:
        super().__init__(_file(connection), key)
        self._connection = connection

    def ask(self, sql: str, /, **values: Any) -> list[Row]:
        return self._connection.execute(sql, {"ns": self._key, **values}).fetchall()

    def where(self, table: Table) -> str:
        return _WITHIN.get(table.name) or super().where(table)

    def plain_rows(self, table: Table, after: Sequence[Any]) -> Iterator[Row]:
        values = {"ns": self._key, **{f"after{i}": value for i, value in enumerate(after)}}
        return iter(self._connection.execute(self.statement(table, after), values))

    def embeddings(self, space: int, dimension: int, field: int, after: tuple[int, int]) -> Iterator[Row]:
        known = self.ask(
            "SELECT id, memory, part, type FROM vectors WHERE space = :space AND field = :field "
            "AND (memory, part) > (:memory, :part) ORDER BY memory, part",
            space=space,
            field=field,
            memory=after[0],
            part=after[1],
        )
        for start in range(0, len(known), CHUNK):
            batch = known[start : start + CHUNK]
            blobs: dict[int, bytes] = dict(
                self.ask(
                    "SELECT e.rowid, e.embedding FROM json_each(:ids) wanted "
                    f"CROSS JOIN {table_of(dimension)} e ON e.rowid = wanted.value",
                    ids=json.dumps([id for id, *_ in batch]),
                )
            )
            tokens = tokens_by_id(self._connection, [id for id, *_ in batch])
            for id, memory, part, type in batch:
                if id not in blobs:
                    raise StoreError(
                        "vectors of the source are missing",
                        advice="rebuild them first with {call}",
                        call=Call("doctor", {"repair": True}),
                    )
                yield space, field, memory, part, type, blobs[id], tokens.get(id)


class SqliteSnapshotImporter(SnapshotImporter):
    """Rows go in with keys of their own, beyond all that the file has ever given out."""

    def __init__(self, txn: SqliteTransaction, lexemes: LexemeWriter, vectors: VectorWriter) -> None:
        super().__init__(txn, lexemes, vectors)
        self._connection = txn.connection

    def snapshot(self) -> Snapshot:
        return SqliteSnapshot(self._connection, self._txn.key)

    def reserve_keys(self, last: Mapping[Family, int]) -> dict[Family, int]:
        return {family: reserve(self._txn, _FAMILY_TABLES[family], last[family]) for family in FAMILIES}

    def put_rows(self, table: Table, rows: Sequence[Row]) -> None:
        parameters = ", ".join("?" * (1 + len(table.columns)))
        sql = f"INSERT INTO {table.name} (namespace, {names_of(table)}) VALUES ({parameters})"
        self._txn.many(sql, [(self._txn.key, *row) for row in rows])


def _file(connection: apsw.Connection) -> str:
    if not connection.filename:
        return f"memory {id(connection)}"
    status = os.stat(connection.filename)
    return f"file {status.st_dev} {status.st_ino}"
