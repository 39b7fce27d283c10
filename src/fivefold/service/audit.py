"""The audit log: who did what to which memories. It can be added to and read, and is never rewritten."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta

from fivefold.errors import FivefoldError, StoreClosed
from fivefold.stores.interface import Store
from fivefold.values.access import HERE, AuditEntry, Caller
from fivefold.values.reports import Page, page_of, read_cursor
from fivefold.values.times import utc_now
from fivefold.values.validate import MAX_NAME, checked_limit

READS = frozenset(
    "recall explain plan understand context get list history sessions session entities entity edges settings stats "
    "health profile agenda changes recap quarantine learned export namespaces audit recipes key queue".split()
)
"""Actions that change nothing. They are written a little later, in batches; a killed process may lose the last few."""

RETENTION_DAYS = 365
MAX_ENTRIES = 1_000_000

BATCH_ENTRIES = 500
"""The number of entries without hurry that are written at once."""
MAX_WAIT_S = 5.0
"""Maximum wait of an entry that is not urgent."""

MAX_WAITING = 100_000
"""Entries that wait while the store cannot be written; beyond that the oldest are dropped."""

_TRIM_AFTER = 1_000

_log = logging.getLogger("fivefold")

_Waiting = tuple[AuditEntry, "Future[None] | None"]


class Audit:
    """The first thread that waits for its entry writes those of all, so that one write to disk serves them.

    Entries without hurry are written with them, or some seconds later by a thread.
    """

    def __init__(
        self,
        store: Store,
        *,
        days: int = RETENTION_DAYS,
        entries: int = MAX_ENTRIES,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Entries stay for `days` days, and at most the latest `entries` of them."""
        self._audit = store.audit
        self._days = days
        self._most = entries
        self._clock = clock
        self._waiting: deque[_Waiting] = deque()
        self._adding, self._writing = threading.Lock(), threading.Lock()
        self._due = threading.Event()
        """Set when there are enough entries without hurry, or at the end."""
        self._closed = False
        self._thread: threading.Thread | None = None
        self._untrimmed = _TRIM_AFTER

    def note(
        self, caller: Caller, action: str, namespace: str | None = None, subject: str | None = None, outcome: str = "ok"
    ) -> None:
        """Log an action once it is done and before it is answered, never inside a transaction of the store.

        Returns when the entry is on disk; at once for `READS` and for refusals. A read-only store keeps no entries.
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
        future: Future[None] | None = None if action in READS or outcome == "refused" else Future()
        with self._adding:
            if self._closed:
                raise StoreClosed("the audit log was closed; open the store again")
            self._waiting.append((entry, future))
            if self._thread is None and future is None:
                self._thread = threading.Thread(target=self._run, name="fivefold-audit", daemon=True)
                self._thread.start()
            if len(self._waiting) % BATCH_ENTRIES == 0:
                self._due.set()
        if future is not None:
            self.flush(future)
            future.result()

    def entries(
        self,
        limit: int = 50,
        cursor: str | None = None,
        namespace: str | None = None,
        key: str | None = None,
        caller: Caller = HERE,
    ) -> Page[AuditEntry]:
        """The entries, latest first, that the caller may see: those of its own namespaces. Only a key for all
        namespaces sees entries without one, such as a new key. Entries that still wait are written first.
        """
        checked_limit(limit)
        before = read_cursor(cursor, "audit", int)
        if namespace is not None:
            caller.require("admin", namespace)
        names = list(caller.namespaces) if namespace is None else [namespace]
        seen = None if namespace is None and caller.sees_all else [_short(name) for name in names]
        self.flush()
        rows = self._audit.page(
            None if before is None else int(before[0]), limit + 1, seen, None if key is None else _short(key)
        )
        return page_of(rows, limit, "audit", lambda entry: (entry.id,))

    def close(self) -> None:
        """Write the entries that wait. Call it before the store is closed."""
        with self._adding:
            self._closed = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            self._due.wait(MAX_WAIT_S)
            self._due.clear()
            last = self._closed
            self.flush(last=last)

    def flush(self, wanted: Future[None] | None = None, last: bool = False) -> None:
        """Write all entries that wait, unless the wanted one is written meanwhile; those without hurry may fail."""
        with self._writing:
            if wanted is not None and wanted.done():
                return
            with self._adding:
                batch = list(self._waiting)
                self._waiting.clear()
            try:
                if batch:
                    self._audit.add([entry for entry, _ in batch])
            except Exception as error:
                notes = [item for item in batch if item[1] is None]
                dropped = len(notes) if last else max(0, len(notes) - MAX_WAITING)
                with self._adding:
                    self._waiting.extendleft(reversed(notes[dropped:]))
                _log.warning("the audit log could not be written, %d notes were given up: %s", dropped, error)
                for _, future in batch:
                    if future is not None:
                        future.set_exception(error)
                return
            for _, future in batch:
                if future is not None:
                    future.set_result(None)
            self._trim(len(batch))

    def _trim(self, count: int) -> None:
        self._untrimmed += count
        if self._untrimmed > _TRIM_AFTER:
            self._untrimmed = 0
            try:
                self._audit.trim(self._clock() - timedelta(days=self._days), self._most, sorted(READS))
            except FivefoldError as error:
                _log.warning("old notes of the audit log could not be let go: %s", error)


def subject_of(ids: Sequence[str]) -> str | None:
    """Ids as the audit log has room for them."""
    text = " ".join(ids)
    return (text if len(text) <= MAX_NAME else f"{ids[0][: MAX_NAME - 30]} and {len(ids) - 1} more") or None


def _short(name: str) -> str:
    """A name as it can be stored; a refused request may name a longer one, or one that is not valid text."""
    return name[:MAX_NAME].replace("\x00", "\ufffd").encode(errors="replace").decode()
