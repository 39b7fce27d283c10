"""The SQLite store: one file, one writer at a time, readers in parallel, any number of processes."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from fivefold.errors import ReadOnly, StoreError
from fivefold.recall import Recall
from fivefold.stores.base import Finding
from fivefold.stores.sqlite import lexical
from fivefold.stores.sqlite.checks import check
from fivefold.stores.sqlite.connection import Connections, connect, make_durable, number, plain_errors
from fivefold.stores.sqlite.reader import SqliteReader
from fivefold.stores.sqlite.schema import migrate, migrations
from fivefold.stores.sqlite.vectors import VectorMemory
from fivefold.stores.sqlite.writer import SqliteWriter, log_recall
from fivefold.times import to_micros, utc_now

LOGGED_RECALLS = 10_000
"""How many recalls without feedback a namespace's log keeps."""

TRIM_EVERY = 500
"""How often, in recalls, the log is cut to that size."""

LOG_TOGETHER = 64
"""How many recalls are logged in one go."""

_log = logging.getLogger("fivefold")


class SqliteStore:
    """A fivefold file. Making one creates the file, or brings an older one up to date."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.read_only = _prepare(location)
        self.connections = Connections(location, read_only=self.read_only)
        if location == ":memory:":
            with self.connections.writer() as connection:
                migrate(connection, location, migrations())
        elif not self.read_only:
            with self.connections.writer() as connection:
                make_durable(connection)
        self.held = VectorMemory()
        self._keys: dict[str, int] = {}
        self._logger: apsw.Connection | None = None
        self._unlogged: deque[Recall] = deque()
        self._logged = 0
        self._logging = threading.Lock()

    def reader(self, namespace: str) -> SqliteReader:
        return SqliteReader(self, namespace)

    @contextmanager
    def write(self, namespace: str) -> Iterator[SqliteWriter]:
        if self.read_only:
            raise ReadOnly(f"{self.location!r} cannot be written: the file or its folder is read-only")
        with self.connections.transaction() as connection:
            writer = SqliteWriter(connection, self._make_namespace(connection, namespace), namespace, utc_now())
            yield writer
            writer.finish()

    def key_of(self, namespace: str) -> int | None:
        if namespace not in self._keys:
            with self.connections.reader() as connection:
                key = number(connection, "SELECT key FROM namespaces WHERE name = ?", namespace)
            if key is None:
                return None
            self._keys[namespace] = key
        return self._keys[namespace]

    def namespaces(self) -> tuple[str, ...]:
        with self.connections.reader() as connection:
            return tuple(name for (name,) in connection.execute("SELECT name FROM namespaces ORDER BY name"))

    def size(self) -> int:
        if self.location == ":memory:":
            with self.connections.reader() as connection:
                return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
        files = (Path(self.location + suffix) for suffix in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def log(self, recall: Recall) -> None:
        """Note the recall; notes are written together, since each write makes every reader look again.

        The log is best effort: a kill may lose the last few. `used` writes the recall it speaks of for sure.
        """
        if self.read_only:
            return
        self._unlogged.append(recall)
        if len(self._unlogged) % LOG_TOGETHER == 0:
            self.flush_log()

    def flush_log(self) -> None:
        """Write the recalls noted so far, unless another writer is at work; then they wait for the next time."""
        if not self._unlogged or self.connections.closed:
            return
        try:
            self._write_log()
        except (apsw.BusyError, apsw.LockedError):
            pass
        except (apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
            _log.warning("the recall log could not be written: %s", error)
            self._unlogged.clear()
        if len(self._unlogged) > LOGGED_RECALLS:
            self._unlogged.popleft()

    def check(self, namespace: str) -> Iterator[Finding]:
        with self.connections.reader() as connection:
            yield from check(connection, self.key_of(namespace))

    def close(self) -> None:
        if self.connections.closed:
            return
        self.flush_log()
        if self._logger is not None:
            self._logger.close()
        self.connections.close()

    def _write_log(self) -> None:
        with self._logging:
            noted = list(self._unlogged)
            if self.location == ":memory:":
                with self.connections.transaction() as connection:
                    self._log_all(connection, noted)
            else:
                if self._logger is None:
                    self._logger = connect(self.location)
                    self._logger.set_busy_timeout(0)
                    self._logger.execute("PRAGMA synchronous = NORMAL")
                with self._logger:
                    self._log_all(self._logger, noted)
            for _ in noted:
                self._unlogged.popleft()

    def _log_all(self, connection: apsw.Connection, recalls: list[Recall]) -> None:
        for recall in recalls:
            key = self.key_of(recall.namespace)
            if key is not None:
                log_recall(connection, key, recall)
                self._logged += 1
                if self._logged % TRIM_EVERY == 0:
                    _trim(connection, key)

    def _make_namespace(self, connection: apsw.Connection, namespace: str) -> int:
        if namespace in self._keys:
            return self._keys[namespace]
        known = number(connection, "SELECT key FROM namespaces WHERE name = ?", namespace)
        if known is not None:
            return known
        connection.execute("INSERT INTO namespaces (name, created_at) VALUES (?, ?)", (namespace, to_micros(utc_now())))
        key = connection.last_insert_rowid()
        lexical.create_tables(connection, key)
        return key


def _prepare(location: str) -> bool:
    """Create or migrate the file; true when it can only be read."""
    if location == ":memory:":
        return False
    path = Path(location)
    if path.is_dir():
        raise StoreError(f"{location!r} is a folder; give the path of a file in it, such as {location}/fivefold.db")
    if not path.parent.exists():
        raise StoreError(f"the folder {str(path.parent)!r} does not exist; create it first")
    if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return True
    with plain_errors(location):
        connection = connect(location)
        try:
            migrate(connection, location, migrations())
            make_durable(connection)
        finally:
            connection.close()
    return False


def _trim(connection: apsw.Connection, key: int) -> None:
    connection.execute(
        "DELETE FROM recalls WHERE namespace = ?1 AND id NOT IN (SELECT recall FROM feedback WHERE namespace = ?1) "
        "AND id < (SELECT id FROM recalls WHERE namespace = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (key, LOGGED_RECALLS),
    )
