"""The SQLite store: one file, one writer at a time, readers in parallel, any number of processes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw

from fivefold.errors import ReadOnly, StoreError, StoreReplaced
from fivefold.stores.protocol import LoggedRecall
from fivefold.stores.sql.audit_store import SqlAuditStore
from fivefold.stores.sql.key_store import SqlKeyStore
from fivefold.stores.sql.queue_store import SqlQueueStore, drop_queue
from fivefold.stores.sql.reader import SqlReader
from fivefold.stores.sql.recall_log import RecallLog, Row, write_rows
from fivefold.stores.sql.request_store import SqlRequestStore
from fivefold.stores.sql.snapshot import SqlSnapshot
from fivefold.stores.sql.writer import SqlWriter
from fivefold.stores.sqlite import snapshot
from fivefold.stores.sqlite.checks import check
from fivefold.stores.sqlite.code_builder import CodeBuilder
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
from fivefold.stores.sqlite.dialect import SqliteDatabase
from fivefold.stores.sqlite.fused_search import offer_nearest
from fivefold.stores.sqlite.lexical_search import PostingCache
from fivefold.stores.sqlite.log_erasure import LogErasure
from fivefold.stores.sqlite.reader import SqliteFile, reader_of
from fivefold.stores.sqlite.schema import migrate, migrations, version_of
from fivefold.stores.sqlite.sequences import last_namespace, note_last_namespace
from fivefold.stores.sqlite.shared_tables import SqliteSharedTables
from fivefold.stores.sqlite.token_cache import TokenCache
from fivefold.stores.sqlite.upgrade_copies import check_copies, remove_copies, tidy
from fivefold.stores.sqlite.vector_cache import VectorCache
from fivefold.stores.sqlite.writer import writer_of
from fivefold.values.reports import Erasure, Finding, MaintenanceResult
from fivefold.values.times import to_micros, utc_now

_log = logging.getLogger("fivefold")


class SqliteStore:
    """A fivefold file. Making one creates the file, or brings an older one up to date."""

    def __init__(self, location: str) -> None:
        self.location = location if location == ":memory:" else os.path.abspath(location)
        self.read_only = _prepare(self.location)
        self.vector_cache, self.token_cache = VectorCache(), TokenCache()
        with plain_errors(self.location):
            self.connections = Connections(
                self.location, read_only=self.read_only, prepare=partial(offer_nearest, cache=self.vector_cache)
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
        self.shared_tables = tables = SqliteSharedTables(self.connections, version)
        self.keys, self.audit, self.requests = SqlKeyStore(tables), SqlAuditStore(tables), SqlRequestStore(tables)
        self.queue = SqlQueueStore(tables)
        self.recalls = RecallLog(self._log_recalls)
        self._file = SqliteFile(
            self.connections, self.vector_cache, self.token_cache, PostingCache(), self.recalls, self.key_of, self.size
        )
        self._logging: apsw.Connection | None = None
        self._erasure = LogErasure(self.location)

    def reader(self, namespace: str) -> SqlReader:
        return reader_of(self._file, namespace)

    def snapshot(self, namespace: str) -> AbstractContextManager[SqlSnapshot]:
        """The namespace as it is at one moment, for a copy."""
        return snapshot.snapshot(self.connections, self.key_of(namespace))

    @contextmanager
    def write(self, namespace: str) -> Iterator[SqlWriter]:
        with self._transaction() as connection:
            key = _make_namespace(connection, namespace)
            writer = writer_of(SqliteDatabase(connection), key, namespace, utc_now())
            yield writer
            writer.finish()
        if writer.removed:
            self.recalls.forget(key, writer.removed)

    def delete_namespace(self, namespace: str) -> int | None:
        spaces: list[int] = []
        with self._transaction() as connection:
            db, key = SqliteDatabase(connection), _key_of(connection, namespace)
            if key is None:
                count = 0 if drop_queue(db, namespace) else None
            else:
                spaces = [space for (space,) in rows(connection, "SELECT key FROM spaces WHERE namespace = ?", key)]
                note_last_namespace(connection)
                count = writer_of(db, key, namespace, utc_now()).drop_namespace()
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
        """After a removal: deleted text leaves the write-ahead log too; where a reader needs it, in the background."""
        if not self.connections.in_memory:
            remove_copies(self.location)
            self._erasure.erase()

    def erasure(self) -> Erasure:
        return self._erasure.state()

    def maintain(self) -> Iterator[MaintenanceResult]:
        """Give the query planner fresh statistics where it asks for them."""
        self._must_be_writable()
        with self.connections.writer() as connection:
            with transaction(connection):
                connection.execute("DELETE FROM answers WHERE expires_at <= ?", (to_micros(utc_now()),))
            connection.execute("PRAGMA optimize")
        if not self.connections.in_memory:
            tidy(self.location)
        yield MaintenanceResult("statistics", True, "renewed for the planner where it wanted them")

    def check(self, namespace: str) -> Iterator[Finding]:
        """On a separate connection, which has no earlier read that it might still see."""
        key = self.key_of(namespace)
        if self.connections.in_memory:
            with self.connections.reader() as connection:
                yield from check(connection, key)
            return
        with plain_errors(self.location):
            connection = connect(self.location, read_only=self.read_only)
            try:
                yield from check(connection, key)
            finally:
                connection.close()
        yield from check_copies(self.location)
        if not self.erasure().complete:
            yield Finding("erasure", True, self.erasure().detail)

    def close(self) -> None:
        if not self.connections.closed:
            self.recalls.flush()
            if self._logging is not None:
                self._logging.close()
            self._erasure.close()
            self.connections.close()

    def _log_recalls(self, recalls: dict[int, list[Row]], patience_ms: int) -> bool:
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
                self._logging = connect(self.location)
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
    """The key of a namespace, made if need be."""
    known = _key_of(connection, namespace)
    if known is not None:
        return known
    key = last_namespace(connection) + 1
    values = (key, namespace, to_micros(utc_now()))
    connection.execute("INSERT INTO namespaces (key, name, created_at) VALUES (?, ?, ?)", values)
    return key


def _write_log(connection: apsw.Connection, recalls: dict[int, list[Row]]) -> None:
    """Recalls of a namespace that was deleted since are left out."""
    for key, of_namespace in recalls.items():
        if number(connection, "SELECT 1 FROM namespaces WHERE key = ?", key):
            write_rows(SqliteDatabase(connection), key, of_namespace)


def _create(path: Path) -> None:
    """Memories are private; the files SQLite adds take the same mode. A file that appeared meanwhile is not opened."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def _prepare(location: str) -> bool:
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
        if not exists:
            _create(path)
    except OSError as error:
        raise StoreError(f"{location!r} cannot be opened: {error.strerror or error}") from None
    if exists and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return True
    with plain_errors(location):
        try:
            _bring_up_to_date(location)
        except (apsw.FullError, apsw.IOError) as error:
            if not is_full(error) or not exists or not _has_schema(location):
                raise
            _log.warning("the disk holding %r is full: the store is opened to read only", location)
            return True
    tidy(location)
    return False


def _has_schema(location: str) -> bool:
    """Whether there is anything to read; a file whose making was cut off is empty."""
    with closing(connect(location, read_only=True)) as connection:
        return int(connection.pragma("user_version")) > 0


def _bring_up_to_date(location: str) -> None:
    connection = connect(location, create=True)
    try:
        migrate(connection, location, migrations())
        make_durable(connection)
    finally:
        connection.close()
