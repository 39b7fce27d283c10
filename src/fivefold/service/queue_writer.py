"""The thread that stores what waits: many records at once, so that models and disk work for all of them together."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fivefold import observers
from fivefold.engine import SharedStore
from fivefold.engine.shared_store import space_of
from fivefold.errors import (
    DamagedStore,
    DiskFull,
    NewerSchema,
    ReadOnly,
    ServerAway,
    StoreClosed,
    StoreError,
    StoreReplaced,
)
from fivefold.namespace import Namespace
from fivefold.service.audit import subject_of
from fivefold.service.problems import problem_of
from fivefold.service.write_queue import WriteQueue
from fivefold.stores.protocol import QueueEntry, Store
from fivefold.values.access import AuditEntry
from fivefold.values.reports import Report
from fivefold.values.times import utc_now
from fivefold.writing.queue_entries import write_entries

BATCH = 128
"""Records that are stored together."""

POLL_S = 0.25
"""How often another process's additions are looked for."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""How long it waits for a store that cannot be written, at first and at most."""

LONGEST_TRY = timedelta(hours=1)
"""How long at most a record that cannot be stored waits for its next try."""

RATE_S = 30.0
"""The rate is that of the last seconds."""

WHOLE_STORE = (DamagedStore, DiskFull, NewerSchema, ReadOnly, ServerAway, StoreClosed, StoreReplaced)
"""Errors for which no record is to blame: everything waits."""

_log = logging.getLogger("fivefold")


@dataclass(slots=True)
class _Target:
    """A namespace as the observers of writes see it."""

    store: Store
    namespace: str
    space: Namespace

    @observers.write
    def remember_queued(self, entries: Sequence[QueueEntry]) -> Report | None:
        return write_entries(self.space, entries)


class QueueWriter:
    """Stores what waits, namespace by namespace, until it is stopped. One thread of one process does it.

    Where a second server does the same, each record is still stored once: it leaves the queue in the transaction that
    stores it, and a transaction that finds it gone is undone.
    """

    def __init__(self, engines: SharedStore, queue: WriteQueue, clock: Callable[[], datetime] = utc_now) -> None:
        self._engines = engines
        self._store = engines.store
        self._queue = queue
        self._clock = clock
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: dict[str, deque[tuple[float, int]]] = {}

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="fivefold-queue", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the batch under way; what still waits is stored by the next server."""
        self._stopped.set()
        self._queue.added.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def drain(self) -> int:
        """Store a batch of each namespace until nothing can be stored now; gives how many records left the queue."""
        taken, found = 0, True
        while found:
            found = False
            for name in self._names():
                if self._stopped.is_set():
                    return taken
                if batch := self._store.queue.first(name, BATCH, self._clock()):
                    found = True
                    taken += self._store_batch(name, batch)
        return taken

    def _names(self) -> list[str]:
        return [length.namespace for length in self._store.queue.lengths()]

    def _run(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._stopped.is_set():
            self._queue.added.clear()
            try:
                self.drain()
                pause = FIRST_PAUSE_S
                self._queue.added.wait(POLL_S)
            except StoreClosed:
                return
            except StoreError as error:
                _log.warning("what waits cannot be stored now; tried again in %g s: %s", pause, error)
                self._stopped.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except Exception:
                _log.exception("what waits could not be stored; tried again in %g s", pause)
                self._stopped.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _store_batch(self, namespace: str, batch: Sequence[QueueEntry]) -> int:
        """Store records together; if that fails for another reason than the whole store, each alone."""
        try:
            done = _Target(self._store, namespace, space_of(self._engines, namespace)).remember_queued(batch)
        except WHOLE_STORE:
            raise
        except Exception as error:
            if len(batch) == 1:
                self._postpone(namespace, batch[0], error)
                return 0
            return sum(self._store_batch(namespace, [entry]) for entry in batch if not self._stopped.is_set())
        if done is None:
            return 0
        self._note(namespace, batch)
        return len(batch)

    def _postpone(self, namespace: str, entry: QueueEntry, error: Exception) -> None:
        wait = min(LONGEST_TRY, timedelta(seconds=2 ** min(entry.tries, 20)))
        self._store.queue.postpone(namespace, entry, problem_of(error).detail, self._clock() + wait)

    def _note(self, namespace: str, batch: Sequence[QueueEntry]) -> None:
        """Note how fast it was stored, and in the audit log who sent it."""
        self._measure(namespace, len(batch), time.monotonic())
        at = self._clock()
        writes: dict[tuple[str, str | None], list[str]] = {}
        for entry in batch:
            writes.setdefault((entry.write, entry.key_id), []).append(entry.memory_id)
        self._store.audit.add([_stored(namespace, key_id, ids, at) for (_, key_id), ids in writes.items()])

    def _measure(self, namespace: str, records: int, now: float) -> None:
        """The rate since the first batch of the last seconds; a namespace that had none since is dropped."""
        for name in [name for name, done in self._done.items() if now - done[-1][0] > RATE_S]:
            del self._done[name]
        done = self._done.setdefault(namespace, deque())
        done.append((now, records))
        while now - done[0][0] > RATE_S:
            done.popleft()
        if len(done) > 1:
            since = sum(count for _, count in done) - done[0][1]
            self._queue.note_rate(namespace, since / max(1e-3, now - done[0][0]))


def _stored(namespace: str, key_id: str | None, ids: Sequence[str], at: datetime) -> AuditEntry:
    return AuditEntry(
        at=at, key_id=key_id, action="remember", namespace=namespace, subject=subject_of(ids), outcome="ok"
    )
