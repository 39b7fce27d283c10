"""Where learned rerankers are stored: in a table of a server, in a file next to a store file, or in memory."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol
from weakref import WeakKeyDictionary

from fivefold.errors import ReadOnly, StoreError
from fivefold.learning.reranker import Ranker, Verdict, dump_reranker, load_reranker
from fivefold.models.shipped import BadModel
from fivefold.stores.atomic_files import replacement
from fivefold.stores.interface import ModelStore, Store

NEVER = "nothing was trained yet"

_log = logging.getLogger("fivefold")
_stores: WeakKeyDictionary[Store, dict[str, RerankerStore]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class LearnedReranker:
    """A namespace's reranker where one is switched on, or the reason why there is none."""

    ranker: Ranker | None
    reason: str
    name: str = ""
    verdict: Verdict | None = None


CHECK_AGAIN_S = 5.0
"""How long a model from a server may be out of date after another process has trained it."""


class RerankerStore(Protocol):
    """Stores a namespace's reranker and reads it when it changes, also when another process changes it."""

    def load(self) -> LearnedReranker:
        """The current model. A model that cannot be used is logged once and leaves the reranker off."""

    def save(self, ranker: Ranker | None, verdict: Verdict) -> None:
        """Store a model with its verdict, all or nothing; the next recall uses it."""

    def remove(self) -> None:
        """Remove the model."""

    def check_writable(self) -> None:
        """Raise before training where the store is read-only and cannot take a model."""


class DatabaseRerankerStore:
    """In a table of the server, for all processes that use it."""

    def __init__(self, store: ModelStore, namespace: str) -> None:
        self.namespace = namespace
        self._store = store
        self._seen = 0
        self._next_check = 0.0
        self._learned = LearnedReranker(None, NEVER)
        self._lock = threading.Lock()

    def load(self) -> LearnedReranker:
        with self._lock:
            if monotonic() >= self._next_check:
                self._next_check = monotonic() + CHECK_AGAIN_S
                seen, data = self._store.load_model(self.namespace, self._seen)
                if seen != self._seen:
                    self._seen, self._learned = seen, _log_change(self._read(data), self.namespace)
            return self._learned

    def save(self, ranker: Ranker | None, verdict: Verdict) -> None:
        self._store.save_model(self.namespace, dump_reranker(ranker, verdict, self.namespace))
        self._next_check = 0.0

    def remove(self) -> None:
        self._store.save_model(self.namespace, None)
        self._next_check = 0.0

    def check_writable(self) -> None:
        """The server checks this itself."""

    def _read(self, data: bytes | None) -> LearnedReranker:
        if data is None:
            return LearnedReranker(None, NEVER)
        try:
            return _serving(*load_reranker(data, self.namespace))
        except BadModel as reason:
            return LearnedReranker(None, str(reason), "the stored model")


class FileRerankerStore:
    """In a file next to the store's, or in memory for a store in memory."""

    def __init__(self, location: str, namespace: str) -> None:
        self.namespace = namespace
        self.path = None if location == ":memory:" else model_path(location, namespace)
        self._store = location
        self._seen: tuple[int, int, int] | None = None
        self._learned = LearnedReranker(None, NEVER)
        self._lock = threading.Lock()

    def load(self) -> LearnedReranker:
        if self.path is None:
            return self._learned
        seen = _stamp(self.path)
        if seen != self._seen:
            with self._lock:
                if seen != self._seen:
                    self._learned = _log_change(self._read(self.path), self.namespace)
                    self._seen = seen
        return self._learned

    def save(self, ranker: Ranker | None, verdict: Verdict) -> None:
        data = dump_reranker(ranker, verdict, self.namespace)
        if self.path is None:
            self._learned = _serving(*load_reranker(data, self.namespace))
            return
        self.check_writable()
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            with replacement(self.path) as file:
                file.write(data)
        except OSError as error:
            raise StoreError(f"{str(self.path)!r} cannot be written: {error.strerror or error}") from None

    def remove(self) -> None:
        self._learned = LearnedReranker(None, NEVER)
        if self.path is not None:
            self.check_writable()
            self.path.unlink(missing_ok=True)

    def check_writable(self) -> None:
        if self.path is not None and not all(
            os.access(where, os.W_OK) for where in (self._store, self.path.parents[1])
        ):
            raise ReadOnly(f"{self._store!r} cannot be written: the file or its folder is read-only")

    def _read(self, path: Path) -> LearnedReranker:
        try:
            return _serving(*load_reranker(path.read_bytes(), self.namespace))
        except FileNotFoundError:
            return LearnedReranker(None, NEVER)
        except OSError as error:
            return LearnedReranker(None, f"the learned reranker's file cannot be opened: {error.strerror}", path.name)
        except BadModel as reason:
            return LearnedReranker(None, str(reason), path.name)


def _log_change(learned: LearnedReranker, namespace: str) -> LearnedReranker:
    """Log what was read; a model is read once for each change of it."""
    if learned.verdict is None and learned.name:
        _log.warning("%s: %s; recalls go on without it", learned.name, learned.reason)
    elif learned.ranker is None:
        _log.info("no learned reranker in namespace %r: %s", namespace, learned.reason)
    return learned


def reranker_store(store: Store, namespace: str) -> RerankerStore:
    """The one reranker store of a namespace of an open store."""
    with _lock:
        by_namespace = _stores.setdefault(store, {})
        if namespace not in by_namespace:
            if isinstance(store, ModelStore):
                by_namespace[namespace] = DatabaseRerankerStore(store, namespace)
            else:
                by_namespace[namespace] = FileRerankerStore(store.location, namespace)
        return by_namespace[namespace]


def drop_reranker(store: Store, namespace: str) -> None:
    """Remove the file of a namespace's reranker; a server deletes the model itself with the namespace."""
    if not isinstance(store, ModelStore):
        reranker_store(store, namespace).remove()
        if store.location != ":memory:":
            with suppress(OSError):  # the folder has the models of other namespaces, or is not there
                model_path(store.location, namespace).parent.rmdir()
    with _lock:
        _stores.get(store, {}).pop(namespace, None)


def model_path(location: str, namespace: str) -> Path:
    """`STORE.learned/NAMESPACE-digest.npz`: readable, and never the same for two namespaces."""
    digest = hashlib.blake2b(namespace.encode(), digest_size=6).hexdigest()
    readable = re.sub(r"[^\w.-]+", "_", namespace, flags=re.ASCII)[:40]
    return Path(f"{location}.learned") / f"{readable}-{digest}.npz"


def _serving(ranker: Ranker | None, verdict: Verdict) -> LearnedReranker:
    return LearnedReranker(ranker if verdict.on else None, verdict.reason, verdict.model, verdict)


def _stamp(path: Path) -> tuple[int, int, int]:
    """Changes with the file; always the same where there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino
