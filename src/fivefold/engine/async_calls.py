"""Calls of asynchronous code run in threads: a few for each store, whatever the number of its namespaces."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from fivefold.errors import StoreClosed
from fivefold.stores.protocol import Store

READS = 2
WRITES = 2
LENGTHY = 2
ROUTES = 2
"""How many calls of each kind, and routes of recalls, run at once. Only one thread runs Python at a time: more threads
would do no more work, and each that waits for its turn lets the event loop wait longer."""

SWITCH_S = 0.0005
"""After this long a thread lets another run, in place of Python's 5 ms: the event loop waits a tenth of the time."""

AT_ONCE = 200
"""Items of a stream that are read at once."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_of_stores: WeakKeyDictionary[Store, CallThreads] = WeakKeyDictionary()
_lock = threading.Lock()


class CallThreads:
    """Each kind of call has threads of its own: no read waits behind writes, and neither behind what takes long."""

    def __init__(self) -> None:
        self._reads = ThreadPoolExecutor(READS, thread_name_prefix="fivefold-read")
        self._writes = ThreadPoolExecutor(WRITES, thread_name_prefix="fivefold-write")
        self._lengthy = ThreadPoolExecutor(LENGTHY, thread_name_prefix="fivefold-lengthy")
        self._closed = False
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))

    def __deepcopy__(self, memo: dict[int, Any]) -> CallThreads:
        """The threads themselves, since a deep copy of an adapter works on the same open store."""
        return self

    async def read(self, call: Callable[[], R]) -> R:
        return await self._run(self._reads, call)

    async def write(self, call: Callable[[], R]) -> R:
        """Cancelled before it begins, a write never happens; cancelled later, it is completed all the same."""
        return await self._run(self._writes, call)

    async def work(self, call: Callable[[], R]) -> R:
        """For what may take minutes, such as an import; cancelled, it goes as with a write."""
        return await self._run(self._lengthy, call)

    async def close(self) -> None:
        """Wait for the calls that have begun; those that have not are cancelled."""
        self._closed = True
        await asyncio.to_thread(self._shut_down)

    async def _run(self, pool: ThreadPoolExecutor, call: Callable[[], R]) -> R:
        if self._closed:
            raise StoreClosed("this engine was closed; open the store again")
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(pool, partial(context.run, call))

    def _shut_down(self) -> None:
        for pool in (self._lengthy, self._writes, self._reads):
            pool.shutdown(wait=True, cancel_futures=True)


def threads_of(store: Store) -> CallThreads:
    """The threads of an open store."""
    with _lock:
        if store not in _of_stores:
            _of_stores[store] = CallThreads()
        return _of_stores[store]


async def stream(items: Iterator[R], threads: CallThreads) -> AsyncIterator[R]:
    """What an iterator gives, a few items for each read."""
    while some := await threads.read(lambda: list(islice(items, AT_ONCE))):
        for item in some:
            yield item


class AsyncCalls(Generic[T_co]):
    """Has the methods of another object, which run in the threads of its store."""

    def __init__(self, target: T_co, threads: CallThreads) -> None:
        self._target = target
        self._threads = threads


def reading(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[AsyncCalls[T], P], Coroutine[Any, Any, R]]:
    """The method, awaited."""

    @wraps(method)
    async def call(self: AsyncCalls[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound: Callable[P, R] = getattr(self._target, method.__name__)
        return await self._threads.read(partial(bound, *args, **kwargs))

    return call


def writing(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[AsyncCalls[T], P], Coroutine[Any, Any, R]]:
    """The method, awaited; it changes something."""

    @wraps(method)
    async def call(self: AsyncCalls[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound: Callable[P, R] = getattr(self._target, method.__name__)
        return await self._threads.write(partial(bound, *args, **kwargs))

    return call


def lengthy(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[AsyncCalls[T], P], Coroutine[Any, Any, R]]:
    """The method, awaited; it may take minutes."""

    @wraps(method)
    async def call(self: AsyncCalls[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound: Callable[P, R] = getattr(self._target, method.__name__)
        return await self._threads.work(partial(bound, *args, **kwargs))

    return call
