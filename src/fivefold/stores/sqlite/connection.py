"""Connections to one file: how they are set up, and what SQLite's errors mean in plain words."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw
import sqlite_vec

from fivefold.errors import DamagedStore, DiskFull, ReadOnly, StoreClosed, StoreError, StoreReplaced
from fivefold.stores.sqlite import checksums, dialect
from fivefold.stores.sqlite.encryption import unlock
from fivefold.stores.sqlite.schema import show_newest
from fivefold.values.open_files import note_closed, note_open


class FileIdentity:
    """A store's file and its log by device and inode, as they were when the connections were opened.

    Without this check, what is written to a deleted file would be confirmed and lost.
    """

    def __init__(self, location: str, ends: Sequence[str]) -> None:
        self._known = {path: _identity(path) for path in (location, *(location + end for end in ends))}
        self._checked = -math.inf

    def check(self, within_s: float = 0.0) -> None:
        """Raise unless all files are the same, now or in the last seconds; one that was not there is not compared."""
        now = time.monotonic()
        if now - self._checked < within_s:
            return
        self._checked = -math.inf
        for path, known in self._known.items():
            if known is not None and _identity(path) != known:
                raise StoreReplaced(path)
        self._checked = now


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


rows, number = dialect.rows, dialect.number

BUSY_MS = 120_000
"""Milliseconds that a writer waits for another process's transaction before it gives up."""

INDEX_BYTES = 32_768
"""The least size of the file next to a log by which processes find their way in it."""

_READERS = 8

_DAMAGE = ("unsupported file format", "Could not fetch vector data")
"""The texts of general errors that only a damaged file gives."""


_READ_CHECK_S = 0.05
"""Seconds for which reads rely on the last look at the files; every write looks again."""


def connect(location: str, *, read_only: bool = False, create: bool = False, key: str | None = None) -> apsw.Connection:
    """A connection that waits for others, checks foreign keys, knows vec0 and has the key of an encrypted file."""
    if read_only:
        # Without a log nothing can change while we read; with one, SQLite must read that too.
        how = "mode=ro" if _has_log(location) else "immutable=1"
        uri = f"{Path(location).absolute().as_uri()}?{how}"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    else:
        create_flag = apsw.SQLITE_OPEN_CREATE if create or location == ":memory:" else 0
        connection = apsw.Connection(location, flags=apsw.SQLITE_OPEN_READWRITE | create_flag)
    connection.set_busy_timeout(BUSY_MS)
    unlock(connection, location, key)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute("PRAGMA mmap_size = 0")  # reading a mapped file that was cut off would end the process
    if read_only:
        show_newest(connection)
    else:
        connection.execute("PRAGMA secure_delete = ON")  # deleted text is overwritten, also by an upgrade or a log
    return connection


def _has_log(location: str) -> bool:
    """True if there is a write-ahead log with content, or one that a process uses; a full disk leaves empty files."""
    log, index = Path(f"{location}-wal"), Path(f"{location}-shm")
    if not log.exists() or log.stat().st_size > 0:
        return log.exists()
    return index.exists() and index.stat().st_size >= INDEX_BYTES


def is_full(error: apsw.Error) -> bool:
    """True if an error says that the disk has no room, also if it is for the small file that readers share."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE


def make_durable(connection: apsw.Connection) -> None:
    """Write-ahead log, synced at every commit."""
    for attempt in range(200):
        try:
            if connection.pragma("journal_mode") != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            break
        except (apsw.BusyError, apsw.LockedError):  # the switch does not wait for others by itself
            if attempt == 199:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """All or nothing. A connection's own block would stop every thread of the process while the disk works."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        with checksums.noted(connection):
            yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def one_snapshot(connection: apsw.Connection) -> Iterator[None]:
    """All reads inside see the file as it was at the first of them."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


@contextmanager
def plain_errors(location: str) -> Iterator[None]:
    """SQLite's errors as fivefold's, each saying what to do."""
    try:
        yield
    except apsw.FullError:
        raise DiskFull(
            f"the disk holding {location!r} is full. The write was undone and nothing was lost; "
            "free some space and try again"
        ) from None
    except (apsw.ReadOnlyError, apsw.PermissionsError):
        raise ReadOnly(f"{location!r} cannot be written: the file or its folder is read-only") from None
    except apsw.CantOpenError:
        raise StoreError(f"{location!r} cannot be opened: does the folder exist, and may you write to it?") from None
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, UnicodeDecodeError) as error:
        if isinstance(error, apsw.SQLError) and not any(text in str(error) for text in _DAMAGE):
            raise
        raise DamagedStore(location, error) from None
    except apsw.BusyError:
        raise StoreError(
            f"another process held {location!r} for more than {BUSY_MS // 1000} s; try again when it is done"
        ) from None
    except apsw.ConstraintError:
        raise StoreError(
            f"another process changed in {location!r} what this write is about; nothing was written, try again"
        ) from None
    except apsw.IOError as error:
        if is_full(error):
            raise DiskFull(f"the disk holding {location!r} is full; free some space and try again") from None
        raise StoreError(f"{location!r} could not be read or written: {error}") from None
    except apsw.ConnectionClosedError:
        raise StoreClosed("this engine was closed; open the store again") from None


class Lease:
    """A reader for the length of a block. A class, since every statement takes one and a generator costs ten times."""

    __slots__ = ("_connection", "_connections")

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def __enter__(self) -> apsw.Connection:
        self._connection = self._connections.take()
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._connections.give_back(self._connection)
        if isinstance(error, apsw.Error | UnicodeDecodeError):
            with plain_errors(self._connections.location):
                raise error


class Connections:
    def __init__(
        self, location: str, *, read_only: bool, prepare: Callable[[apsw.Connection], None], key: str | None = None
    ) -> None:
        self.location = location
        self.connect: Callable[[], apsw.Connection] = partial(connect, location, read_only=read_only, key=key)
        self.read_only = read_only
        self.in_memory: bool = location == ":memory:"
        self.closed: bool = False
        self._process = os.getpid()
        self._writing = threading.RLock()
        self._prepare = prepare
        self._writer = self.connect()
        prepare(self._writer)
        self._idle: list[apsw.Connection] = []
        self._made = self._waiting = 0
        self._freed = threading.Condition()
        self._all: list[apsw.Connection] = [self._writer]
        self._files: FileIdentity | None = None
        if not self.in_memory:
            with plain_errors(location):
                self._writer.execute("SELECT 1 FROM sqlite_master").fetchall()  # opens the log as well
            self._files = FileIdentity(location, () if read_only else ("-wal",))
        note_open(location)

    @contextmanager
    def writer(self) -> Iterator[apsw.Connection]:
        self._must_be_open()
        with self._writing, plain_errors(self.location):
            self._must_be_open()
            self.check_files()
            yield self._writer

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """All or nothing. The lock is taken at once, so a later statement never finds the file busy."""
        with self.writer() as connection:
            with transaction(connection):
                yield connection
            self.check_files()  # what went into a deleted file is not confirmed

    def reader(self) -> AbstractContextManager[apsw.Connection]:
        return self.writer() if self.in_memory else Lease(self)

    def take(self) -> apsw.Connection:
        """The reader that was used last, a new one, or the next that is given back."""
        self._must_be_open()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._wait_or_make()
        try:
            self._must_be_open()  # once more, since closing waits for those that were taken before
            self.check_files(within_s=_READ_CHECK_S)
        except BaseException:
            self.give_back(connection)
            raise
        return connection

    def give_back(self, connection: apsw.Connection) -> None:
        self._idle.append(connection)
        if self._waiting:  # whoever waits has looked into the list after it was counted here
            with self._freed:
                self._freed.notify_all()

    def _wait_or_make(self) -> apsw.Connection:
        with self._freed:
            self._waiting += 1
            try:
                while not self._idle:
                    if self._made < _READERS:
                        return self._new_reader()
                    self._freed.wait()
                    self._must_be_open()
                return self._idle.pop()
            except IndexError:  # another thread was faster
                pass
            finally:
                self._waiting -= 1
        return self._wait_or_make()

    def _new_reader(self) -> apsw.Connection:
        with plain_errors(self.location):
            connection = self.connect()
            self._prepare(connection)
        self._all.append(connection)
        self._made += 1
        return connection

    def check_files(self, within_s: float = 0.0) -> None:
        """Raises if the store was deleted or replaced since it was opened; a check of the last moment may do."""
        if self._files is not None:
            self._files.check(within_s)

    def close(self) -> None:
        """No new use begins; those under way are waited for."""
        if self.closed:
            return
        self.closed = True
        with self._freed:
            self._waiting += 1
            while len(self._idle) < self._made:
                self._freed.wait()
        with self._writing:
            if not (self.in_memory or self.read_only):  # what the last close would do, stopping every thread meanwhile
                with suppress(apsw.Error):
                    self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            for connection in self._all:
                connection.close()
            self._all.clear()
        note_closed(self.location)
        with self._freed:
            self._freed.notify_all()

    def _must_be_open(self) -> None:
        if self.closed:
            raise StoreClosed("this engine was closed; open the store again")
        if os.getpid() != self._process:
            raise StoreClosed("this engine was opened before the process forked; open the store again")
