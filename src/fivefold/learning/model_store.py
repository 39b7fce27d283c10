"""Where learned rerankers are kept: in a server's own table, in a file beside a file, in memory beside memory."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol
from weakref import WeakKeyDictionary

from fivefold.errors import ReadOnly, StoreError
from fivefold.learning.reranker import Ranker, Verdict, loaded, saved
from fivefold.models.binary import BadModel
from fivefold.stores.atomic_files import replacement
from fivefold.stores.protocol import ModelStore, Store

NEVER = "nothing was trained yet"

_log = logging.getLogger("fivefold")
_shelves: WeakKeyDictionary[Store, dict[str, ModelShelf]] = WeakKeyDictionary()
_making = threading.Lock()


@dataclass(frozen=True, slots=True)
class Learned:
    """What a namespace has learned: a ranker where one is switched on, or why there is none."""

    ranker: Ranker | None
    reason: str
    name: str = ""
    verdict: Verdict | None = None


LOOK_AGAIN_S = 5.0
"""How long a model read from a server may be out of date, should another process train it anew."""


class ModelShelf(Protocol):
    """A namespace's reranker, read when it is new or has changed, also by another process."""

    def learned(self) -> Learned:
        """The model as it stands. One that cannot be used is named once and leaves the reranker off."""

    def put(self, ranker: Ranker | None, verdict: Verdict) -> None:
        """Keep a model with its verdict, whole or not at all; it serves from the next recall on."""

    def remove(self) -> None:
        """Forget what was learned."""

    def check_writable(self) -> None:
        """A store that can only be read keeps no new model; better said before training than after."""


class ServerShelf:
    """In a table of the server, where all who use it find it."""

    def __init__(self, store: ModelStore, namespace: str) -> None:
        self.namespace = namespace
        self._store = store
        self._seen = 0
        self._look_at = 0.0
        self._learned = Learned(None, NEVER)
        self._lock = threading.Lock()

    def learned(self) -> Learned:
        with self._lock:
            if monotonic() >= self._look_at:
                self._look_at = monotonic() + LOOK_AGAIN_S
                seen, data = self._store.load_model(self.namespace, self._seen)
                if seen != self._seen:
                    self._seen, self._learned = seen, _told(self._read(data), self.namespace)
            return self._learned

    def put(self, ranker: Ranker | None, verdict: Verdict) -> None:
        self._store.save_model(self.namespace, saved(ranker, verdict, self.namespace))
        self._look_at = 0.0

    def remove(self) -> None:
        self._store.save_model(self.namespace, None)
        self._look_at = 0.0

    def check_writable(self) -> None:
        """The server says so itself."""

    def _read(self, data: bytes | None) -> Learned:
        if data is None:
            return Learned(None, NEVER)
        try:
            return _standing(*loaded(data, self.namespace))
        except BadModel as reason:
            return Learned(None, str(reason), "the kept model")


class FileShelf:
    """In a file beside the store's, or only in memory beside a store in memory."""

    def __init__(self, location: str, namespace: str) -> None:
        self.namespace = namespace
        self.path = None if location == ":memory:" else model_path(location, namespace)
        self._store = location
        self._seen: tuple[int, int, int] | None = None
        self._learned = Learned(None, NEVER)
        self._lock = threading.Lock()

    def learned(self) -> Learned:
        if self.path is None:
            return self._learned
        seen = _stamp(self.path)
        if seen != self._seen:
            with self._lock:
                if seen != self._seen:
                    self._learned = _told(self._read(self.path), self.namespace)
                    self._seen = seen
        return self._learned

    def put(self, ranker: Ranker | None, verdict: Verdict) -> None:
        data = saved(ranker, verdict, self.namespace)
        if self.path is None:
            self._learned = _standing(*loaded(data, self.namespace))
            return
        self.check_writable()
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            with replacement(self.path) as file:
                file.write(data)
        except OSError as error:
            raise StoreError(f"{str(self.path)!r} cannot be written: {error.strerror or error}") from None

    def remove(self) -> None:
        self._learned = Learned(None, NEVER)
        if self.path is not None:
            self.check_writable()
            self.path.unlink(missing_ok=True)

    def check_writable(self) -> None:
        if self.path is not None and not all(
            os.access(where, os.W_OK) for where in (self._store, self.path.parents[1])
        ):
            raise ReadOnly(f"{self._store!r} cannot be written: the file or its folder is read-only")

    def _read(self, path: Path) -> Learned:
        try:
            return _standing(*loaded(path.read_bytes(), self.namespace))
        except FileNotFoundError:
            return Learned(None, NEVER)
        except OSError as error:
            return Learned(None, f"the learned reranker's file cannot be opened: {error.strerror}", path.name)
        except BadModel as reason:
            return Learned(None, str(reason), path.name)


def _told(learned: Learned, namespace: str) -> Learned:
    """Said when a model is read, which happens once for each change of it."""
    if learned.verdict is None and learned.name:
        _log.warning("%s: %s; recalls go on without it", learned.name, learned.reason)
    elif learned.ranker is None:
        _log.info("no learned reranker in namespace %r: %s", namespace, learned.reason)
    return learned


def shelf_of(store: Store, namespace: str) -> ModelShelf:
    """The one shelf of a namespace of an open store."""
    with _making:
        shelves = _shelves.setdefault(store, {})
        if namespace not in shelves:
            if isinstance(store, ModelStore):
                shelves[namespace] = ServerShelf(store, namespace)
            else:
                shelves[namespace] = FileShelf(store.location, namespace)
        return shelves[namespace]


def model_path(location: str, namespace: str) -> Path:
    """`STORE.learned/NAMESPACE-digest.npz`: readable, and never the same for two namespaces."""
    digest = hashlib.blake2b(namespace.encode(), digest_size=6).hexdigest()
    readable = re.sub(r"[^\w.-]+", "_", namespace, flags=re.ASCII)[:40]
    return Path(f"{location}.learned") / f"{readable}-{digest}.npz"


def _standing(ranker: Ranker | None, verdict: Verdict) -> Learned:
    return Learned(ranker if verdict.on else None, verdict.reason, verdict.model, verdict)


def _stamp(path: Path) -> tuple[int, int, int]:
    """By which a change of the file is seen; the same for ever where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
