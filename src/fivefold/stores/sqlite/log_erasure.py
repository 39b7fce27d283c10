"""Deleted text leaves the log and the unused parts of pages: at once, or as soon as the last reader ends."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

import apsw

from fivefold.stores.sqlite.page_remains import clear_remains
from fivefold.values.reports import Erasure
from fivefold.values.times import utc_now

FIRST_WAITS_S = (0.0, 0.005, 0.02, 0.05)
"""Before each attempt that the caller waits for; readers in the same process take a few milliseconds."""

MAX_WAITED_BYTES = 32 << 20
"""The size of a file up to which the caller waits; a larger one takes longer to look through."""

RETRY_S = 0.25
LONGEST_RETRY_S = 5.0

_log = logging.getLogger("fivefold")


class LogErasure:
    """Empties the log of one file. No attempt waits while it has the lock that writers need."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._lock = threading.Lock()
        self._since: datetime | None = None
        self._ended = threading.Event()

    def erase(self) -> None:
        """Empty the log, and where a reader still needs it go on in the background."""
        began = utc_now()
        for wait in FIRST_WAITS_S if self._is_small() else ():
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
            wait = min(2 * wait, LONGEST_RETRY_S)

    def _done(self, began: datetime) -> bool:
        """What was deleted before `began` is erased; true where nothing was deleted since."""
        with self._lock:
            if self._since is not None and self._since <= began:
                self._since = None
            return self._since is None

    def _is_small(self) -> bool:
        path = Path(self._location)
        return not path.exists() or path.stat().st_size <= MAX_WAITED_BYTES

    def _attempt(self) -> bool:
        """A first pass copies pages while writers go on, so that the second needs their lock for a moment only."""
        try:
            with closing(apsw.Connection(self._location, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
                    return False
                return clear_remains(connection, self._location)
        except (apsw.Error, OSError) as error:
            _log.debug("the write-ahead log could not be emptied yet: %s", error)
            return False
