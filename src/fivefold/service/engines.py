"""One engine for each namespace of a store, created when it is first needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT
from fivefold.stores.protocol import Store
from fivefold.values.validate import checked_name
from fivefold.writing.extract import extractor as load_extractor

MOST_ENGINES = 256
"""The most engines in memory; one more drops the least recently used."""

THREADS = 32
"""The most routes that run at once, over all recalls."""


class Engines:
    """The engines share the store and one pool of threads. Closing them closes the store.

    The embedder is for new namespaces; existing ones keep the one they are pinned to.
    """

    def __init__(self, store: Store, embedder: str | None = None, extractor: str = "rules") -> None:
        self.store = store
        self._embedder = DEFAULT if embedder is None else embedder
        self._extractor = load_extractor(extractor)
        self._pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="fivefold-route")
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, namespace: str) -> Engine:
        name = checked_name(namespace, "namespace")
        engine = self._engines.get(name) or Engine(
            self.store, name, extractor=self._extractor, pool=self._pool, default_embedder=self._embedder
        )
        with self._lock:
            engine = self._engines.setdefault(name, engine)
            self._engines.move_to_end(name)
            if len(self._engines) > MOST_ENGINES:
                self._engines.popitem(last=False)
            return engine

    def close(self) -> None:
        self.store.close()
        self._pool.shutdown(wait=False)
