"""The order of writes of one process: those of one namespace come one after another, as the database wants them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from fivefold.errors import StoreError


class Turns:
    """A lock for each namespace that is written to. Without it, writes that wait for the lock in the database would
    take all connections, and the writes of other namespaces would wait too."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()

    @contextmanager
    def of(self, namespace: int, patience_s: float) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(namespace, threading.Lock())
        if not lock.acquire(timeout=patience_s):
            raise StoreError(
                f"other writes of this namespace took longer than {patience_s:g} s; nothing was changed, try again"
            )
        try:
            yield
        finally:
            lock.release()
