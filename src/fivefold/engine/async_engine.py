"""The engine for asynchronous code: every method of `Engine`, awaited, with the same arguments."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, Final, Generic, Literal, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from fivefold.engine.engine import Engine
from fivefold.engine.opening import SharedStore, open_engine, open_shared
from fivefold.errors import StoreClosed
from fivefold.models.embedders import Embedder
from fivefold.settings import Settings
from fivefold.stores.interface import Store
from fivefold.writing.entity_graph import Graph

READ_THREADS = WRITE_THREADS = LENGTHY_THREADS = ROUTE_THREADS = 2
"""Number of calls of each kind, and routes of recalls, that run at once. Only one thread runs Python at a time: more
threads would do no more work, and each that waits for its turn lets the event loop wait longer."""

AT_ONCE = 200
"""Items of a stream that are read at once."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Open = TypeVar("Open", Engine, SharedStore)

_of_stores: WeakKeyDictionary[Store, CallThreads] = WeakKeyDictionary()
_lock = threading.Lock()


CallKind = Literal["read", "write", "lengthy"]


class CallThreads:
    """Each kind of call has threads of its own: no read waits behind writes, and neither behind what takes minutes."""

    def __init__(self) -> None:
        counts: dict[CallKind, int] = {"lengthy": LENGTHY_THREADS, "write": WRITE_THREADS, "read": READ_THREADS}
        self._pools = {kind: ThreadPoolExecutor(count, f"fivefold-{kind}") for kind, count in counts.items()}
        self._closed = False

    def __deepcopy__(self, memo: dict[int, Any]) -> CallThreads:
        """The threads themselves, since a deep copy of an adapter works on the same open store."""
        return self

    async def run(self, kind: CallKind, call: Callable[[], R]) -> R:
        """Cancelled before it begins, a write never happens; cancelled later, it is completed all the same."""
        if self._closed:
            raise StoreClosed("this engine was closed; open the store again")
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._pools[kind], partial(context.run, call))

    async def close(self) -> None:
        """Wait for the calls that have begun; those that have not are cancelled."""
        self._closed = True
        for pool in self._pools.values():
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)


def threads_of(store: Store) -> CallThreads:
    """The threads of an open store."""
    with _lock:
        if store not in _of_stores:
            _of_stores[store] = CallThreads()
        return _of_stores[store]


async def stream(items: Iterator[R], threads: CallThreads) -> AsyncIterator[R]:
    """The items of an iterator, a few for each read."""
    while some := await threads.run("read", lambda: list(islice(items, AT_ONCE))):
        for item in some:
            yield item


class AsyncCalls(Generic[T_co]):
    """Has the methods of another object, which run in the threads of its store."""

    def __init__(self, target: T_co, threads: CallThreads) -> None:
        self._target = target
        self._threads = threads


class AsyncOwner(AsyncCalls[Open]):
    """Has the methods of what is open, and closes it."""

    @property
    def location(self) -> str:
        """The location of the store: a path, ':memory:' or an address without its password."""
        return self._target.location

    async def close(self) -> None:
        """Wait for the calls under way and close the store; an engine of a shared store leaves it open."""
        if getattr(self._target, "owns_store", True):
            await self._threads.close()
        await asyncio.to_thread(self._target.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _AwaitableMethod:
    """Makes of a method one that is awaited and runs in the threads of its kind."""

    def __init__(self, kind: CallKind) -> None:
        self._kind = kind

    def __call__(
        self, method: Callable[Concatenate[T, P], R]
    ) -> Callable[Concatenate[AsyncCalls[T], P], Coroutine[Any, Any, R]]:
        kind = self._kind

        @wraps(method)
        async def call(self: AsyncCalls[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
            bound: Callable[P, R] = getattr(self._target, method.__name__)
            return await self._threads.run(kind, partial(bound, *args, **kwargs))

        return call


reading: Final[_AwaitableMethod] = _AwaitableMethod("read")
writing: Final[_AwaitableMethod] = _AwaitableMethod("write")
lengthy: Final[_AwaitableMethod] = _AwaitableMethod("lengthy")


class AsyncGraph(AsyncCalls[Graph]):
    """The methods of `Graph`, awaited."""

    entities: Final = reading(Graph.entities)
    entity: Final = reading(Graph.entity)
    entities_by_id: Final = reading(Graph.entities_by_id)
    named: Final = reading(Graph.named)
    edges: Final = reading(Graph.edges)
    memories: Final = reading(Graph.memories)

    add: Final = writing(Graph.add)
    alias: Final = writing(Graph.alias)
    rename: Final = writing(Graph.rename)
    merge: Final = writing(Graph.merge)
    split: Final = writing(Graph.split)
    relate: Final = writing(Graph.relate)
    unrelate: Final = writing(Graph.unrelate)


class AsyncEngine(AsyncOwner[Engine]):
    """Memory for an agent in asynchronous code. Calls run in a few threads, so that the event loop goes on.

    Share it between tasks; close it, or use it in an `async with` block. A call can be cancelled: a write is then whole
    or absent, and the engine goes on. It costs nothing to wrap another engine, such as one of a `SharedStore`.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, threads_of(engine.store))

    remember: Final = writing(Engine.remember)
    remember_many: Final = writing(Engine.remember_many)
    remember_messages: Final = writing(Engine.remember_messages)
    update: Final = writing(Engine.update)
    supersede: Final = writing(Engine.supersede)
    reinstate: Final = writing(Engine.reinstate)
    forget: Final = writing(Engine.forget)
    forget_session: Final = writing(Engine.forget_session)
    pin: Final = writing(Engine.pin)
    unpin: Final = writing(Engine.unpin)
    correct: Final = writing(Engine.correct)
    hide: Final = writing(Engine.hide)
    approve: Final = writing(Engine.approve)
    reject: Final = writing(Engine.reject)
    feedback: Final = writing(Engine.feedback)
    unlearn: Final = writing(Engine.unlearn)
    configure: Final = writing(Engine.configure)

    import_jsonl: Final = lengthy(Engine.import_jsonl)
    export_jsonl: Final = lengthy(Engine.export_jsonl)
    import_markdown: Final = lengthy(Engine.import_markdown)
    export_markdown: Final = lengthy(Engine.export_markdown)
    sync: Final = lengthy(Engine.sync)
    train_reranker: Final = lengthy(Engine.train_reranker)
    doctor: Final = lengthy(Engine.doctor)
    check_drift: Final = lengthy(Engine.check_drift)
    reembed: Final = lengthy(Engine.reembed)
    sweep: Final = lengthy(Engine.sweep)
    health: Final = lengthy(Engine.health)
    link_repeats: Final = lengthy(Engine.link_repeats)

    recall: Final = reading(Engine.recall)
    context: Final = reading(Engine.context)
    plan: Final = reading(Engine.plan)
    understand: Final = reading(Engine.understand)
    feedback_count: Final = reading(Engine.feedback_count)
    learned: Final = reading(Engine.learned)
    namespaces: Final = reading(Engine.namespaces)
    own_settings: Final = reading(Engine.own_settings)
    exists: Final = reading(Engine.exists)
    embedder_pin: Final = reading(Engine.embedder_pin)
    get: Final = reading(Engine.get)
    stored_ids: Final = reading(Engine.stored_ids)
    stored_notes: Final = reading(Engine.stored_notes)
    memories: Final = reading(Engine.memories)
    quarantined: Final = reading(Engine.quarantined)
    links: Final = reading(Engine.links)
    sessions: Final = reading(Engine.sessions)
    turns: Final = reading(Engine.turns)
    last_turns: Final = reading(Engine.last_turns)
    session_memories: Final = reading(Engine.session_memories)
    neighbours: Final = reading(Engine.neighbours)
    history: Final = reading(Engine.history)
    profile: Final = reading(Engine.profile)
    agenda: Final = reading(Engine.agenda)
    changes: Final = reading(Engine.changes)
    recap: Final = reading(Engine.recap)
    extraction: Final = reading(Engine.extraction)
    erasure: Final = reading(Engine.erasure)
    stats: Final = reading(Engine.stats)

    @property
    def engine(self) -> Engine:
        """The engine itself, for adapters and other callers that take one."""
        return self._target

    @property
    def namespace(self) -> str:
        """The name of the namespace."""
        return self._target.namespace

    @property
    def settings(self) -> Awaitable[Settings]:
        """The namespace's settings, with defaults for all others: `await mem.settings`."""
        return self._threads.run("read", lambda: self._target.settings)

    @property
    def graph(self) -> AsyncGraph:
        """The entity graph, to look at and to edit."""
        return AsyncGraph(self._target.graph, self._threads)

    def export_lines(self) -> AsyncIterator[str]:
        """Every memory of the namespace as a line of JSON, oldest first: `async for line in mem.export_lines()`."""
        return stream(self._target.export_lines(), self._threads)


async def aopen(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    namespace: str = "default",
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
    key: str | None = None,
) -> AsyncEngine:
    """Open a namespace of a store for asynchronous code; takes the arguments of `open`."""
    return AsyncEngine(
        await _opened(partial(open_engine, location, namespace, embedder, extractor, ROUTE_THREADS, key))
    )


async def astore(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
    key: str | None = None,
) -> AsyncStore:
    """Open a store for asynchronous code; takes the arguments of `store`."""
    return AsyncStore(await _opened(partial(open_shared, location, embedder, extractor, ROUTE_THREADS, key)))


class AsyncStore(AsyncOwner[SharedStore]):
    """A store with all its namespaces, for asynchronous code. Close it, or use it in an `async with` block."""

    def __init__(self, store: SharedStore) -> None:
        super().__init__(store, threads_of(store.store))

    namespaces: Final = reading(SharedStore.namespaces)
    delete_namespace: Final = writing(SharedStore.delete_namespace)

    def namespace(self, name: str) -> AsyncEngine:
        """The engine of a namespace, which need not exist. Closing the engine leaves the store open."""
        return AsyncEngine(self._target.namespace(name))


async def _opened(open_it: Callable[[], Open]) -> Open:
    """Opens it; a store that is opened after the caller has gone is closed again."""

    def close(opening: asyncio.Future[Open]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            opening.result().close()

    opening = asyncio.ensure_future(asyncio.to_thread(open_it))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(close)
        raise
