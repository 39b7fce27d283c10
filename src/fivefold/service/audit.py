"""The audit log: who did what to which memories. It can be added to and read, and is never rewritten."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta

from fivefold.errors import FivefoldError, StoreClosed
from fivefold.stores.protocol import Store
from fivefold.values.access import HERE, AuditEntry, Caller
from fivefold.values.limits import MAX_NAME
from fivefold.values.paging import Page, page_of, read_cursor
from fivefold.values.times import utc_now
from fivefold.values.validate import checked_limit

READS = frozenset(
    {
        "recall",
        "explain",
        "plan",
        "understand",
        "context",
        "get",
        "list",
        "history",
        "sessions",
        "session",
        "entities",
        "entity",
        "edges",
        "settings",
        "stats",
        "learned",
        "export",
        "namespaces",
        "audit",
        "recipes",
        "key",
    }
)
"""Actions that change nothing. They are noted a little later, many at once, and a kill may lose the last few."""

KEPT_DAYS = 365
KEPT_ENTRIES = 1_000_000

TOGETHER = 500
"""So many notes that can wait are written at once,"""
EVERY_S = 5.0
"""or as many as there are after so many seconds."""

MOST_WAITING = 100_000
"""Notes that can wait while the store cannot be written; beyond, the oldest are given up."""

_TRIM_AFTER = 1_000

_log = logging.getLogger("fivefold")

_Waiting = tuple[AuditEntry, "Future[None] | None"]


class Audit:
    """One thread writes what all others note, so that those who must wait for the disk wait for it together."""

    def __init__(
        self,
        store: Store,
        *,
        days: int = KEPT_DAYS,
        entries: int = KEPT_ENTRIES,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Keep what was noted for so many days, and of that the latest so many."""
        self._audit = store.audit
        self._days = days
        self._most = entries
        self._clock = clock
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._urgent = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._untrimmed = _TRIM_AFTER

    def note(
        self, caller: Caller, action: str, namespace: str | None = None, subject: str | None = None, outcome: str = "ok"
    ) -> None:
        """Note what a caller did: `subject` is an id, `outcome` "ok", "refused" or "failed".

        Returns when the note is on the disk; at once for `READS` and for what was refused. Call it once the action is
        done, before it is answered, and never inside a transaction of the store. Making and revoking keys is noted by
        the keyring itself. A store that can only be read keeps no notes.
        """
        if self._audit.read_only:
            return
        entry = AuditEntry(
            at=self._clock(),
            key_id=caller.key_id,
            action=action,
            namespace=None if namespace is None else _short(namespace),
            subject=None if subject is None else _short(subject),
            outcome=outcome,
        )
        written: Future[None] | None = None if action in READS or outcome == "refused" else Future()
        self._add(entry, written)
        if written is not None:
            written.result()

    def entries(
        self,
        limit: int = 50,
        cursor: str | None = None,
        namespace: str | None = None,
        key: str | None = None,
        caller: Caller = HERE,
    ) -> Page[AuditEntry]:
        """What was noted, latest first, as far as the caller may see it: notes of its own namespaces, and only a key
        of every namespace sees those of none, such as a new key. What this process still has to write is written first.
        """
        checked_limit(limit)
        before = read_cursor(cursor, "audit", int)
        if namespace is not None:
            caller.require("admin", namespace)
        names = list(caller.namespaces) if namespace is None else [namespace]
        seen = None if namespace is None and caller.sees_all else [_short(name) for name in names]
        self.flush()
        found = self._audit.page(
            None if before is None else int(before[0]), limit + 1, seen, None if key is None else _short(key)
        )
        return page_of(found, limit, "audit", lambda entry: (entry.id,))

    def flush(self) -> None:
        """Return when all that was noted so far is on the disk."""
        self._write_waiting()

    def close(self) -> None:
        """Write what waits. Call it before the store is closed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _add(self, entry: AuditEntry, written: Future[None] | None) -> None:
        with self._changed:
            if self._closed:
                raise StoreClosed("the audit log was closed; open the store again")
            self._waiting.append((entry, written))
            self._urgent = self._urgent or written is not None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fivefold-audit", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(self._due, timeout=EVERY_S)
                last = self._closed
            written = self._write_waiting(last)
            if last:
                return
            if not written:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._urgent, timeout=EVERY_S)

    def _due(self) -> bool:
        return self._urgent or self._closed or len(self._waiting) >= TOGETHER

    def _write_waiting(self, last: bool = False) -> bool:
        """Write all that waits; what could not be written and can wait longer does. Gives whether it was written."""
        with self._writing:
            with self._changed:
                taken = list(self._waiting)
                self._waiting.clear()
                self._urgent = False
            try:
                if taken:
                    self._audit.add([entry for entry, _ in taken])
            except Exception as error:
                self._put_back([item for item in taken if item[1] is None], last, error)
                for _, written in taken:
                    if written is not None:
                        written.set_exception(error)
                return False
            for _, written in taken:
                if written is not None:
                    written.set_result(None)
            self._trim(len(taken))
            return True

    def _put_back(self, kept: list[_Waiting], last: bool, error: Exception) -> None:
        given_up = len(kept) if last else max(0, len(kept) - MOST_WAITING)
        with self._changed:
            self._waiting.extendleft(reversed(kept[given_up:]))
        _log.warning("the audit log could not be written, %d notes were given up: %s", given_up, error)

    def _trim(self, written: int) -> None:
        self._untrimmed += written
        if self._untrimmed > _TRIM_AFTER:
            self._untrimmed = 0
            try:
                self._audit.trim(self._clock() - timedelta(days=self._days), self._most, sorted(READS))
            except FivefoldError as error:
                _log.warning("old notes of the audit log could not be let go: %s", error)


def _short(name: str) -> str:
    """A name as it can be stored; one that was only asked for may be longer, or no text at all."""
    return name[:MAX_NAME].replace("\x00", "\ufffd").encode(errors="replace").decode()
