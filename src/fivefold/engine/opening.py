"""Opening a store: for one namespace, or for all of them."""

from __future__ import annotations

import os

from fivefold.engine.engine import ROUTE_THREADS, Engine
from fivefold.engine.shared_store import THREADS, SharedStore
from fivefold.errors import InvalidInput
from fivefold.models.embedders import Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.stores import open_store
from fivefold.values.validate import checked_name
from fivefold.writing.extract import extractor as load_extractor


def open(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    namespace: str = "default",
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
) -> Engine:
    """Open the store at `location`, a path, ':memory:' or postgresql://…, and look at it through one namespace.

    The first write pins the namespace to an embedder (`fivefold-minilm` unless named); later it need not be named.
    Any object with `pin`, `dimension` and `embed` serves as an embedder too.
    """
    return open_engine(location, namespace, embedder, extractor, ROUTE_THREADS)


def store(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
) -> SharedStore:
    """Open the store at `location` for many namespaces, such as one for each user.

    The embedder is for new namespaces; a namespace with memories keeps its own.
    """
    return open_shared(location, embedder, extractor, THREADS)


def open_engine(
    location: str | os.PathLike[str],
    namespace: str,
    embedder: str | Embedder | None,
    extractor: str,
    route_threads: int,
) -> Engine:
    """An engine on a store of its own; everything is checked before the store is opened, which may create it."""
    checked_name(namespace, "namespace")
    loaded = load_extractor(extractor)
    _check_embedder(embedder)
    opened = open_store(location)
    try:
        return Engine(opened, namespace, embedder, loaded, route_threads=route_threads)
    except BaseException:
        opened.close()
        raise


def open_shared(
    location: str | os.PathLike[str], embedder: str | Embedder | None, extractor: str, route_threads: int
) -> SharedStore:
    """A store for many namespaces, checked in the same way."""
    loaded = load_extractor(extractor)
    _check_embedder(embedder)
    return SharedStore(open_store(location), embedder, loaded, route_threads)


def _check_embedder(embedder: object) -> None:
    if isinstance(embedder, str):
        load_embedder(embedder)
    elif embedder is not None and not all(hasattr(embedder, name) for name in ("pin", "dimension", "embed")):
        raise InvalidInput("an embedder is a name, or an object with pin, dimension and embed")
