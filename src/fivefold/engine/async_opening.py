"""Opening a store from asynchronous code."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TypeVar

from fivefold.engine.async_calls import ROUTES, AsyncCalls, reading, threads_of, writing
from fivefold.engine.async_engine import AsyncEngine
from fivefold.engine.engine import Engine
from fivefold.engine.opening import open_engine, open_shared
from fivefold.engine.shared_store import SharedStore
from fivefold.models.embedders import Embedder

C = TypeVar("C", Engine, SharedStore)


async def aopen(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    namespace: str = "default",
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
) -> AsyncEngine:
    """As `open`, for asynchronous code."""
    return AsyncEngine(await _opened(partial(open_engine, location, namespace, embedder, extractor, ROUTES)))


async def astore(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
) -> AsyncStore:
    """As `store`, for asynchronous code."""
    return AsyncStore(await _opened(partial(open_shared, location, embedder, extractor, ROUTES)))


class AsyncStore(AsyncCalls[SharedStore]):
    """A store with all its namespaces, for asynchronous code. Close it, or use it in an `async with` block."""

    def __init__(self, store: SharedStore) -> None:
        super().__init__(store, threads_of(store.store))

    namespaces = reading(SharedStore.namespaces)
    delete_namespace = writing(SharedStore.delete_namespace)

    @property
    def location(self) -> str:
        """Where the store is: a path, ':memory:' or an address without its password."""
        return self._target.location

    def namespace(self, name: str) -> AsyncEngine:
        """The engine of a namespace, which need not exist. Closing the engine leaves the store open."""
        return AsyncEngine(self._target.namespace(name))

    async def close(self) -> None:
        """Wait for the calls under way and close the store for all its engines."""
        await self._threads.close()
        await asyncio.to_thread(self._target.close)

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _opened(open_it: Callable[[], C]) -> C:
    """What is opened after the caller has gone is closed again."""
    opening = asyncio.ensure_future(asyncio.to_thread(open_it))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close)
        raise


def _close(opening: asyncio.Future[C]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
