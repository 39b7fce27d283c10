"""The weekly check of a vocabulary, while the store is not used, by a thread that ends with its engine (R5)."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from datetime import datetime
from time import monotonic

from fivefold.errors import FivefoldError, ReadOnly, StoreClosed
from fivefold.namespace import Activity
from fivefold.settings import settings_of
from fivefold.stores.interface import VOCABULARY, Store
from fivefold.values.times import utc_now
from fivefold.writing import rebuild as drift

IDLE_S = 30.0
"""For how long nothing was read or written before a check begins."""

AFTER_S = 60.0
"""For how long a store has been open before a check is considered, so that a short program never has that thread."""

AGAIN_S = 3_600.0
"""For how long a namespace is left alone that was looked at, whether its check was due or not."""

MOST = 1_000
"""The most namespaces that wait for an idle moment, and of which it is known when they were looked at."""

_log = logging.getLogger("fivefold")


class IdleCheck:
    """Checks the vocabularies of the namespaces that are asked, each at most once in its `check_days`.

    There is no thread until a recall asks for one, and none once there is nothing left to look at.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now) -> None:
        self.activity = Activity()
        self._store = store
        self._clock = clock
        self._opened = monotonic()
        self._looked: dict[str, float] = {}
        self._waiting: dict[str, None] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def end_with(self, owner: object) -> None:
        """Let the thread end when the owner is gone, also where nobody closes it."""
        weakref.finalize(owner, self._ended.set).atexit = False

    def recalled(self, namespace: str) -> None:
        """A namespace was asked; look at its vocabulary in the next idle moment. This only notes it."""
        now = monotonic()
        if now < self._opened + AFTER_S or now < self._looked.get(namespace, -AGAIN_S) + AGAIN_S:
            return
        with self._lock:
            if self._ended.is_set() or len(self._waiting) >= MOST:
                return
            self._waiting[namespace] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fivefold-check", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait until it has; a check under way is given up."""
        self._ended.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while (namespace := self._next()) is not None:
            try:
                self._check(namespace)
            except (_Interrupted, ReadOnly, StoreClosed):
                _log.debug("the check of the vocabulary of namespace %r was given up", namespace)
            except FivefoldError as error:
                _log.warning("the vocabulary of namespace %r could not be checked: %s", namespace, error)
            except Exception:
                _log.exception("the vocabulary of namespace %r could not be checked", namespace)

    def _next(self) -> str | None:
        """The next namespace, once the store is idle; None where nothing waits, or where it has ended."""
        while not self._ended.wait(max(0.0, self.activity.last + IDLE_S - monotonic())):
            if self.activity.last + IDLE_S <= monotonic():
                break
        with self._lock:
            if self._ended.is_set() or not self._waiting:
                self._thread = None
                return None
            namespace, _ = self._waiting.popitem()
            self._looked.pop(namespace, None)
            self._looked[namespace] = monotonic()
            if len(self._looked) > MOST:
                del self._looked[next(iter(self._looked))]
            return namespace

    def _check(self, namespace: str) -> None:
        admin, now = self._store.reader(namespace).admin, self._clock()
        days = settings_of(admin.settings()).check_days
        if not drift.is_due(admin.learned_value(VOCABULARY), now, days):
            return
        last = self.activity.last

        def go_on(done: int) -> None:
            if self._ended.is_set() or self.activity.last != last:
                raise _Interrupted

        report = drift.check(self._store, namespace, now, go_on)
        if report.reindexed:
            _log.info("the vocabulary of namespace %r has drifted; its lexical index was rebuilt", namespace)


class _Interrupted(Exception):
    """The store is used again, or closed: the check is left to another idle moment."""
