"""Writes that are accepted now and stored soon: what a client sees of them, and how many may wait."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Literal

from fivefold import observers
from fivefold.engine import SharedStore
from fivefold.engine.opening import space_of
from fivefold.errors import (
    DamagedStore,
    DiskFull,
    NewerSchema,
    NotFound,
    QueueFull,
    ReadOnly,
    ServerAway,
    StoreClosed,
    StoreError,
    StoreReplaced,
)
from fivefold.namespace import Namespace
from fivefold.service.audit import subject_of
from fivefold.service.limits import LimitExceeded, Limits
from fivefold.service.problems import problem_of
from fivefold.service.shared_tables import Table
from fivefold.stores.interface import Store
from fivefold.stores.records import QueuedState, QueueEntry, QueueLength
from fivefold.values.access import AuditEntry
from fivefold.values.fields import build
from fivefold.values.memory import Record
from fivefold.values.reports import Report
from fivefold.values.serialize import Value
from fivefold.values.times import new_id, utc_now
from fivefold.values.validate import checked_name, is_name
from fivefold.writing.queue_entries import check_entries, entries_of, write_entries

QUEUE_BYTES = 64_000_000
"""Bytes of one namespace that may wait."""

MAX_FULL_NAMESPACES = 8
"""Maximum number of full namespaces that may wait at once, over the whole store."""

MAX_RETRY_S = 60
"""Maximum time that a client is told to wait before it sends again."""

MAX_RATES = 1_000
"""Namespaces whose rate is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWrite(Value):
    """A write that was accepted and is stored soon: what of it still waits, and the report of what is stored."""

    id: str
    state: Literal["waiting", "done"]
    waiting: tuple[str, ...]
    """Ids of the memories that are not stored yet."""
    ahead: int
    """Records of the namespace that are stored before them."""
    report: Report | None = None
    """The report of the records stored so far; null while none is stored, or if they have been forgotten."""
    notes: tuple[str, ...] = ()
    """Notes of the check, such as a time without a zone; only in the first answer."""
    problem: str | None = None
    """Why the last try to store it failed."""
    next_try_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState(Value):
    """The write queue of a namespace: its length, the room left in it, and the time it will take."""

    waiting: int
    bytes: int
    room: int
    """Records that may still be added."""
    oldest_at: datetime | None
    """Time at which the oldest waiting write was accepted."""
    per_second: float | None
    """Records of the namespace stored per second lately; null if that is not known."""
    seconds_left: int | None
    """Seconds at that rate until all of them are stored."""


class WriteQueue:
    """Accepts writes: they are checked, durable when `add` returns, and stored in the background."""

    def __init__(
        self, engines: SharedStore, limits: Limits, rates: Table, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._engines = engines
        self._queue = engines.store.queue
        self._limits = limits
        self._rates = rates
        self._clock = clock
        self.added: threading.Event = threading.Event()
        """Set when something was added, for the thread that stores it."""

    def add_records(
        self, namespace: str, records: Sequence[object], key_id: str | None, write: str | None = None
    ) -> QueuedWrite:
        """Accept records, all or none. The same `write` again is accepted once."""
        space = space_of(self._engines, checked_name(namespace, "namespace"))
        return self._add(space.name, *check_entries(space, records), key_id, write)

    def add_messages(
        self, namespace: str, messages: Sequence[object], session_id: str, key_id: str | None, write: str | None = None
    ) -> QueuedWrite:
        """Accept the messages of a conversation, all or none."""
        space = space_of(self._engines, checked_name(namespace, "namespace"))
        return self._add(space.name, *check_entries(space, messages, session_id), key_id, write)

    def write(self, namespace: str, id: str) -> QueuedWrite:
        """The state of a write."""
        state = self._queue.state(namespace, id) if is_name(id) else None
        if state is None:
            raise NotFound(f"namespace {namespace!r} has no write {id!r} in its queue; results are kept for 24 hours")
        return _seen(id, state)

    def cancel(self, namespace: str, id: str) -> QueuedWrite:
        """Drop what of a write is not stored yet; the answer says what is."""
        before = self.write(namespace, id)
        if self._queue.cancel(namespace, id):
            self._engines.store.checkpoint()
        return QueuedWrite(id=id, state="done", waiting=(), ahead=0, report=before.report)

    def state(self, namespace: str) -> QueueState:
        """The length and pace of a namespace's queue."""
        own = self._queue.length(namespace)
        rate = self._rate(namespace)
        return QueueState(
            waiting=own.records,
            bytes=own.bytes,
            room=max(0, self._limits.queue - own.records),
            oldest_at=self._queue.oldest(namespace),
            per_second=rate,
            seconds_left=None if not rate else ceil(own.records / rate),
        )

    def waiting(self) -> int:
        """Records that wait, over all namespaces."""
        return sum(length.records for length in self._queue.lengths())

    def note_rate(self, namespace: str, per_second: float) -> None:
        """The thread that stores says how fast it is."""
        self._rates.change(namespace, lambda before: repr(per_second))

    def retry_after_s(self, namespace: str, error: QueueFull) -> int:
        """After how many seconds there is room again, as far as one can say."""
        waiting = self.waiting() if error.waiting is None else self._queue.length(namespace).records
        rate = self._rate(namespace) or 1.0
        return max(1, min(MAX_RETRY_S, ceil(waiting / rate / 10)))

    def _add(
        self, namespace: str, records: Sequence[Record], notes: tuple[str, ...], key_id: str | None, write: str | None
    ) -> QueuedWrite:
        most, lengths = self._limits.queue, self._queue.lengths()
        if len(records) > most:
            message = f"{len(records):,} records in one write, and at most {most:,} may wait; send fewer at once"
            raise LimitExceeded("batch-too-large", most, message)
        waiting_records = sum(length.records for length in lengths)
        waiting_bytes = sum(length.bytes for length in lengths)
        if (
            waiting_records + len(records) > MAX_FULL_NAMESPACES * most
            or waiting_bytes > MAX_FULL_NAMESPACES * QUEUE_BYTES
        ):
            raise QueueFull(None, MAX_FULL_NAMESPACES * most)
        id = write or new_id()
        entries = entries_of(records, id, key_id, self._clock())
        ahead = self._queue.length(namespace).records
        if not self._queue.add(namespace, id, entries, QueueLength(namespace, most, QUEUE_BYTES)):
            return self.write(namespace, id)
        self.added.set()
        waiting = tuple(entry.memory_id for entry in entries)
        return QueuedWrite(id=id, state="waiting", waiting=waiting, ahead=ahead, notes=notes)

    def _rate(self, namespace: str) -> float | None:
        stored = self._rates.get(namespace)
        return None if stored is None else float(stored)


def _seen(id: str, state: QueuedState) -> QueuedWrite:
    return QueuedWrite(
        id=id,
        state="done" if state.done else "waiting",
        waiting=state.waiting,
        ahead=state.ahead,
        report=None if state.report is None else build(Report, json.loads(state.report)),
        problem=state.problem,
        next_try_at=state.next_try_at,
    )


BATCH_RECORDS = 128
"""Records that are stored together."""

POLL_S = 0.25
"""Interval at which another process's additions are looked for."""

FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 30.0
"""First and maximum pause before a store that cannot be written is tried again."""

MAX_TRY_WAIT = timedelta(hours=1)
"""Maximum wait before a record that cannot be stored is tried again."""

RATE_S = 30.0
"""Seconds over which the rate is measured."""

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

    If a second server drains the same queue, each record is still stored once: it leaves the queue in the transaction
    that stores it, and a transaction that finds it gone is undone.
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
            for name in [length.namespace for length in self._store.queue.lengths()]:
                if self._stopped.is_set():
                    return taken
                if batch := self._store.queue.first(name, BATCH_RECORDS, self._clock()):
                    found = True
                    taken += self._store_batch(name, batch)
        return taken

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
            except Exception as error:
                if isinstance(error, StoreError):
                    _log.warning("what waits cannot be stored now; tried again in %g s: %s", pause, error)
                else:
                    _log.exception("what waits could not be stored; tried again in %g s", pause)
                self._stopped.wait(pause)
                pause = min(2 * pause, MAX_PAUSE_S)

    def _store_batch(self, namespace: str, batch: Sequence[QueueEntry]) -> int:
        """Store records together; if that fails for another reason than the whole store, each alone."""
        try:
            done = _Target(self._store, namespace, space_of(self._engines, namespace)).remember_queued(batch)
        except WHOLE_STORE:
            raise
        except Exception as error:
            if len(batch) == 1:
                entry = batch[0]
                wait = min(MAX_TRY_WAIT, timedelta(seconds=2 ** min(entry.tries, 20)))
                self._store.queue.postpone(namespace, entry, problem_of(error).detail, self._clock() + wait)
                return 0
            return sum(self._store_batch(namespace, [entry]) for entry in batch if not self._stopped.is_set())
        if done is None:
            return 0
        self._note(namespace, batch)
        return len(batch)

    def _note(self, namespace: str, batch: Sequence[QueueEntry]) -> None:
        """Note how fast it was stored, and in the audit log who sent it."""
        self._measure(namespace, len(batch), time.monotonic())
        at = self._clock()
        writes: dict[tuple[str, str | None], list[str]] = {}
        for entry in batch:
            writes.setdefault((entry.write, entry.key_id), []).append(entry.memory_id)
        entries = [
            AuditEntry(at=at, key_id=key, action="remember", namespace=namespace, subject=subject_of(ids), outcome="ok")
            for (_, key), ids in writes.items()
        ]
        self._store.audit.add(entries)

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
