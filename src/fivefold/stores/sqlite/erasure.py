"""Deleted text leaves the log and the unused parts of pages: at once, or as soon as the last reader ends."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from fivefold.stores.sqlite.encryption import is_encrypted
from fivefold.values.reports import Erasure
from fivefold.values.times import utc_now

# Copies of deleted rows in the unused part of pages. SQLite overwrites a row where it is deleted. But when it moves
# rows between pages to keep them balanced, it leaves the bytes of the moved row in the part of the old page that is no
# longer used. They are cleared in the file itself, since SQL reaches no unused byte.

CHUNK = 4 << 20
"""Bytes that are read at once."""

MAX_CLEARED = 2_000
"""Pages that are cleared while writers wait."""

MAX_PAGES = 1 << 24
"""Up to this many pages the first byte of a page tells whether it holds rows; a larger file is left alone."""

_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The first byte of a page of a tree, and how long its header is."""

Part = tuple[int, int]
"""Beginning and end of a part of the file."""


def clear_remains(connection: apsw.Connection, location: str) -> bool:
    """Overwrite the unused parts of all pages; false if a writer or a reader was in the way.

    The log must be empty while that is done, and stay so: then the file is all there is, nobody else writes to it, and
    no reader minds, since nothing that is used changes. The commit at the end makes every process read its pages anew;
    one that had them in memory would otherwise write them back as they were.
    """
    size = int(connection.pragma("page_size"))
    with _opened(location) as file:
        pages, reserved = file.xFileSize() // size, file.xRead(1, 20)[0]
        if pages > MAX_PAGES:
            return True
        found = list(_remains(file, size, pages, reserved))
        for start in range(0, len(found), MAX_CLEARED):
            if not _clear(connection, file, location, size, reserved, found[start : start + MAX_CLEARED]):
                return False
    return True


def _clear(
    connection: apsw.Connection, file: apsw.VFSFile, location: str, size: int, reserved: int, found: list[int]
) -> bool:
    """Clear these pages, as they are once nobody else may write."""
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        if os.path.getsize(f"{location}-wal"):
            return False
        for number in found:
            part = unused_part(file.xRead(size, number * size), size - reserved, first=number == 0)
            if part is not None:
                start, end = part
                file.xWrite(bytes(end - start), number * size + start)
        file.xSync(apsw.SQLITE_SYNC_FULL)
        connection.execute(f"PRAGMA user_version = {int(connection.pragma('user_version'))}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]


def _remains(file: apsw.VFSFile, size: int, pages: int, reserved: int) -> Iterator[int]:
    """The numbers of the pages, from 0, whose unused part is not empty."""
    many = CHUNK // size
    for first in range(0, pages, many):
        data = file.xRead(size * min(many, pages - first), first * size)
        for place in range(0, len(data), size):
            number = first + place // size
            if unused_part(data[place : place + size], size - reserved, first=number == 0) is not None:
                yield number


def unused_part(page: bytes, usable: int, *, first: bool = False) -> Part | None:
    """Beginning and end of the part between the places of the rows and the rows; None if there is nothing to clear."""
    at = 100 if first else 0  # the header of the file is in its first page
    header = _TREE_PAGES.get(page[at]) if len(page) > at else None
    if header is None:
        return None
    start = at + header + 2 * int.from_bytes(page[at + 3 : at + 5], "big")
    end = int.from_bytes(page[at + 5 : at + 7], "big") or 65_536
    if not start < end <= usable or page.count(0, start, end) == end - start:
        return None
    return start, end


@contextmanager
def _opened(location: str) -> Iterator[apsw.VFSFile]:
    """The file as SQLite itself opens it: closing it gives up no lock of this process, as another way would."""
    file = apsw.VFSFile("", location, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        yield file
    finally:
        file.xClose()


FIRST_WAITS_S = (0.0, 0.005, 0.02, 0.05)
"""Before each attempt that the caller waits for; readers in the same process take a few milliseconds."""

MAX_WAITED_BYTES = 32 << 20
"""The size of a file up to which the caller waits; a larger one takes longer to look through."""

RETRY_S = 0.25
MAX_RETRY_S = 5.0

_log = logging.getLogger("fivefold")


class LogErasure:
    """Empties the log of one file. No attempt waits while it has the lock that writers need."""

    def __init__(self, location: str, connect: Callable[[], apsw.Connection]) -> None:
        self._location = location
        self._connect = connect
        self._lock = threading.Lock()
        self._since: datetime | None = None
        self._ended = threading.Event()

    def erase(self) -> None:
        """Empties the log; if a reader still needs it, goes on in the background."""
        began = utc_now()
        path = Path(self._location)
        is_small = not path.exists() or path.stat().st_size <= MAX_WAITED_BYTES
        for wait in FIRST_WAITS_S if is_small else ():
            time.sleep(wait)
            if self._attempt():
                self._done(began)
                return
        with self._lock:
            running, self._since = self._since is not None, began
        if not running:
            _log.info("deleted text is erased in the background, once earlier readers end")
            threading.Thread(target=self._go_on, name="fivefold-erasure", daemon=True).start()

    def state(self) -> Erasure:
        since = self._since
        if since is None:
            return Erasure(True, "what was forgotten is in no file of the store")
        return Erasure(
            False,
            f"what was forgotten may remain in {self._location}-wal until every reader ends that began before "
            f"{since:%H:%M:%S} UTC; it is erased then, at the latest when the last process closes the store",
            since,
        )

    def close(self) -> None:
        """End the attempts; closing the last connection of a file deletes its log."""
        self._ended.set()

    def _go_on(self) -> None:
        wait = RETRY_S
        while not self._ended.wait(wait):
            began = utc_now()
            if self._attempt() and self._done(began):
                return
            wait = min(2 * wait, MAX_RETRY_S)

    def _done(self, began: datetime) -> bool:
        """True if everything deleted before `began` is erased, or nothing was deleted since."""
        with self._lock:
            if self._since is not None and self._since <= began:
                self._since = None
            return self._since is None

    def _attempt(self) -> bool:
        """A first pass copies pages while writers go on, so that the second needs their lock for a moment only."""
        try:
            with closing(self._connect()) as connection:
                connection.set_busy_timeout(0)
                if is_encrypted(connection):
                    connection.execute("VACUUM")  # a page written in place could be torn, and then not be decrypted
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
                    return False
                return is_encrypted(connection) or clear_remains(connection, self._location)
        except (apsw.Error, OSError) as error:
            _log.debug("the write-ahead log could not be emptied yet: %s", error)
            return False
