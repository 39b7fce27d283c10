"""Opening a store: for one namespace, or for all of them."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from fivefold import observers
from fivefold.engine.engine import ROUTE_THREADS, Engine, IdleCheck
from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.reranker import drop_reranker
from fivefold.models.embedders import DEFAULT, Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.namespace import Namespace
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.text.lexemes import empty_text_caches
from fivefold.values.access import AuditEntry
from fivefold.values.entities import Extractor
from fivefold.values.times import utc_now
from fivefold.values.validate import checked_name
from fivefold.writing.extract import extractor as load_extractor

MAX_ENGINES = 256
"""Engines that stay in memory unused; one more drops the least recently used."""

MAX_ROUTES = 16
"""Routes that run at once, over all recalls of all namespaces."""


class SharedStore:
    """A store with all its namespaces. Safe to share between threads; close it, or use it in a `with` block.

    Its engines share its connections and one pool of threads, so a namespace costs next to nothing.
    """

    def __init__(
        self,
        store: Store,
        embedder: str | Embedder | None = None,
        extractor: str | Extractor = "rules",
        threads: int = MAX_ROUTES,
    ) -> None:
        """The embedder is for new namespaces; existing ones keep the one they are pinned to."""
        self.store = store
        self._embedder = DEFAULT if embedder is None else embedder
        self._extractor = load_extractor(extractor) if isinstance(extractor, str) else extractor
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="fivefold-route")
        self._idle_check = IdleCheck(store)
        self._idle_check.end_with(self)
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def location(self) -> str:
        """The location of the store: a path, ':memory:' or an address without its password."""
        return self.store.location

    def namespace(self, name: str) -> Engine:
        """The engine of a namespace, which need not exist. Closing the engine leaves the store open."""
        name = checked_name(name, "namespace")
        with self._lock:
            engine = self._engines.pop(name, None) or self._engine(name)
            self._engines[name] = engine
            if len(self._engines) > MAX_ENGINES:
                self._engines.popitem(last=False)
            return engine

    def namespaces(self) -> tuple[str, ...]:
        """The names of all namespaces that were ever written to, sorted."""
        return self.store.namespaces()

    def delete_namespace(self, name: str) -> int:
        """Delete a namespace with everything in it, for good; returns the number of its memories.

        The audit log notes the deletion. A later write to that name starts an empty namespace.
        """
        name = checked_name(name, "namespace")
        count = self.remove_namespace(name)
        entry = AuditEntry(
            at=utc_now(), key_id=None, action="delete_namespace", namespace=name, subject=None, outcome="ok"
        )
        self.store.audit.add([entry])
        return count

    def remove_namespace(self, name: str) -> int:
        """Delete a namespace without an audit entry, for callers that write it themselves."""
        began = time.time_ns()
        with self._lock:
            self._engines.pop(name, None)
        drop_reranker(self.store, name)
        count = self.store.delete_namespace(name)
        empty_text_caches()
        if count is None:
            raise NotFound(f"there is no namespace {name!r} to delete")
        observers.deleted(self.store, name, began)
        return count

    def close(self) -> None:
        """Close the store for all its engines; using them afterwards is an error."""
        self._idle_check.stop()
        self.store.close()
        self._pool.shutdown(wait=False)

    def __enter__(self) -> SharedStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _engine(self, name: str) -> Engine:
        return Engine(
            self.store,
            name,
            extractor=self._extractor,
            pool=self._pool,
            default_embedder=self._embedder,
            idle_check=self._idle_check,
        )


def space_of(engines: SharedStore, name: str) -> Namespace:
    """A namespace with the models that serve it, for a server that stores what waited."""
    activity = engines._idle_check.activity
    return Namespace(engines.store, name, None, engines._extractor, utc_now, engines._embedder, activity)


def open(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    namespace: str = "default",
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
    key: str | None = None,
) -> Engine:
    """Open the store at `location`, a path, ':memory:' or postgresql://…, and look at it through one namespace.

    The first write pins the namespace to an embedder (`fivefold-minilm` unless named); later it need not be named.
    Any object with `pin`, `dimension` and `embed` serves as an embedder too. A new file is encrypted with `key`, and
    an encrypted one opened with it; if it is left out, the variable FIVEFOLD_STORE_KEY or the system's keyring has it.
    """
    return open_engine(location, namespace, embedder, extractor, ROUTE_THREADS, key)


def store(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
    key: str | None = None,
) -> SharedStore:
    """Open the store at `location` for many namespaces, such as one for each user.

    The embedder is for new namespaces; a namespace with memories keeps its own. `key` opens an encrypted file.
    """
    return open_shared(location, embedder, extractor, MAX_ROUTES, key)


def open_engine(
    location: str | os.PathLike[str],
    namespace: str,
    embedder: str | Embedder | None,
    extractor: str,
    route_threads: int,
    key: str | None = None,
) -> Engine:
    """An engine on a store of its own; everything is checked before the store is opened, which may create it."""
    checked_name(namespace, "namespace")
    loaded = _checked_extractor(extractor, embedder)
    opened = open_store(location, key)
    try:
        return Engine(opened, namespace, embedder, loaded, route_threads=route_threads)
    except BaseException:
        opened.close()
        raise


def open_shared(
    location: str | os.PathLike[str],
    embedder: str | Embedder | None,
    extractor: str,
    route_threads: int,
    key: str | None = None,
) -> SharedStore:
    """A store for many namespaces; everything is checked before it is opened."""
    loaded = _checked_extractor(extractor, embedder)
    return SharedStore(open_store(location, key), embedder, loaded, route_threads)


def _checked_extractor(extractor: str, embedder: object) -> Extractor:
    """The extractor of that name; an embedder that cannot be used is refused too."""
    loaded = load_extractor(extractor)
    if isinstance(embedder, str):
        load_embedder(embedder)
    elif embedder is not None and not all(hasattr(embedder, name) for name in ("pin", "dimension", "embed")):
        raise InvalidInput("an embedder is a name, or an object with pin, dimension and embed")
    return loaded
