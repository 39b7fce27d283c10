"""The engine in asynchronous code: the same methods, many tasks at once, and calls that are cancelled."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fivefold
from fivefold.engine import async_engine as async_opening
from fivefold.engine.async_engine import (
    LENGTHY_THREADS,
    READ_THREADS,
    ROUTE_THREADS,
    WRITE_THREADS,
    AsyncEngine,
    AsyncGraph,
)
from fivefold.engine.engine import Engine
from fivefold.engine.opening import SharedStore
from fivefold.writing.entity_graph import Graph
from tests.support.toy_engine import Toy, toy

PATIENCE_S = 60.0
TASKS = 100


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE_S))


class Gate(Toy):
    """An embedder that waits until its gate is opened, and says when it begins."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.open = threading.Event()

    def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
        self.began.release()
        assert self.open.wait(PATIENCE_S)
        return super().embed(texts, progress)


# every method


@pytest.mark.parametrize(
    ("blocking", "awaited", "apart"),
    [
        (Engine, AsyncEngine, {"close", "export_lines", "settings", "graph", "location"}),
        (Graph, AsyncGraph, set()),
        (SharedStore, fivefold.AsyncStore, {"close", "namespace", "location", "remove_namespace"}),
    ],
)
def test_every_method_is_awaited_with_the_same_arguments(blocking: type, awaited: type, apart: set[str]) -> None:
    names = {name for name, _ in inspect.getmembers(blocking) if not name.startswith("_")}
    assert apart <= names
    for name in names - apart:
        method = getattr(awaited, name, None)
        assert method is not None, f"{awaited.__name__} has no {name}; add it as reading, writing or lengthy"
        assert inspect.iscoroutinefunction(method), name
        assert inspect.signature(method) == inspect.signature(getattr(blocking, name)), name
        assert method.__doc__ == getattr(blocking, name).__doc__
    for name in apart - {"remove_namespace"}:
        assert hasattr(awaited, name)


def test_what_is_written_is_read_and_exported(store_path: str) -> None:
    async def main() -> None:
        async with await fivefold.aopen(store_path, embedder=Toy()) as mem:
            report = await mem.remember("I take tea with Ada Lovelace", id="tea")
            assert report.stored == ("tea",)
            await mem.remember_many(f"note number {number}" for number in range(500))
            assert (await mem.recall("tea", 1))[0].memory.id == "tea"
            assert "tea" in str(await mem.context("who takes tea?"))
            assert (await mem.settings).hops == (await mem.configure(hops=1)).hops + 1
            assert (await mem.graph.entity("Ada Lovelace")).name == "Ada Lovelace"
            await mem.graph.alias("Ada Lovelace", "the countess")
            assert (await mem.graph.entity("the countess")).name == "Ada Lovelace"
            lines = [json.loads(line) async for line in mem.export_lines()]
            assert len(lines) == (await mem.stats()).memories == 501
            assert lines[0]["id"] == "tea"
            async for line in mem.export_lines():
                assert json.loads(line)["id"] == "tea"
                break
            assert (mem.namespace, mem.location) == ("default", store_path)
            with pytest.raises(fivefold.NotFound):
                await mem.get("unknown")
        with pytest.raises(fivefold.StoreClosed):
            await mem.get("tea")

    run(main())


def test_values_of_the_context_are_seen_in_the_thread(store_path: str) -> None:
    """So that a span of a recall belongs to the request that asked."""
    asker = contextvars.ContextVar("asker", default="nobody")
    seen: list[str] = []

    class Curious(Toy):
        def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
            seen.append(asker.get())
            return super().embed(texts, progress)

    async def main() -> None:
        async with await fivefold.aopen(store_path, embedder=Curious()) as mem:
            asker.set("ana")
            await mem.remember("tea")

    run(main())
    assert set(seen) == {"ana"}


# many tasks


def threads() -> int:
    """The threads of fivefold in this process; earlier tests may have left some."""
    return sum(thread.name.startswith("fivefold-") for thread in threading.enumerate())


@pytest.mark.slow
def test_an_agent_loop_of_many_tasks_loses_nothing(store_path: str) -> None:
    """Each remembers what it sees and recalls it, while the event loop and the threads stay few."""
    ticks, before = 0, threads()

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    async def agent(mem: AsyncEngine, number: int) -> None:
        for step in range(3):
            id = f"{number}-{step}"
            await mem.remember(f"agent {number} saw sign X{number}Y{step}", id=id, session_id=f"run {number}")
            answer = await mem.recall(f"X{number}Y{step}", 3, recipe="lexical")
            assert id in [hit.memory.id for hit in answer]
        assert [turn.id for turn in await mem.turns(f"run {number}")] == [f"{number}-{step}" for step in range(3)]

    async def main() -> None:
        async with await fivefold.aopen(store_path, embedder=Toy()) as mem:
            await mem.configure(find_changes=False)
            ticking = asyncio.create_task(tick())
            await asyncio.gather(*(agent(mem, number) for number in range(TASKS)))
            ticking.cancel()
            ids = [f"{number}-{step}" for number in range(TASKS) for step in range(3)]
            assert await mem.stored_ids(ids) == set(ids)
            assert threads() - before <= READ_THREADS + WRITE_THREADS + LENGTHY_THREADS + ROUTE_THREADS
            assert all(finding.ok for finding in await mem.doctor())

    asyncio.run(main())
    assert ticks > 3 * TASKS


@pytest.mark.slow
def test_many_users_share_the_threads_of_one_store(store_path: str) -> None:
    before = threads()

    async def main() -> None:
        async with await fivefold.astore(store_path, embedder=Toy()) as store:
            users = [store.namespace(f"user {number}") for number in range(TASKS)]
            await asyncio.gather(*(user.remember("I take tea", id="tea") for user in users))
            answers = await asyncio.gather(*(user.recall("tea") for user in users))
            assert [answer[0].memory.namespace for answer in answers] == [user.namespace for user in users]
            await users[0].close()
            assert (await users[0].get("tea")).content == "I take tea", "the store stays open"
            assert await store.delete_namespace("user 0") == 1
            assert len(await store.namespaces()) == TASKS - 1
            assert threads() - before <= READ_THREADS + WRITE_THREADS + LENGTHY_THREADS + ROUTE_THREADS
        with pytest.raises(fivefold.StoreClosed):
            await users[1].get("tea")

    run(main())


def test_reads_go_on_while_all_writes_wait(store_path: str) -> None:
    async def main() -> None:
        gate = Gate()
        gate.open.set()
        async with await fivefold.aopen(store_path, embedder=gate) as mem:
            await mem.remember("tea", id="tea")
            gate.open.clear()
            writes = [asyncio.create_task(mem.remember(f"note {number}")) for number in range(3 * WRITE_THREADS)]
            while not gate.began.acquire(blocking=False):
                await asyncio.sleep(0.001)
            assert (await mem.get("tea")).content == "tea"
            assert (await mem.stats()).memories == 1
            gate.open.set()
            await asyncio.gather(*writes)
            assert (await mem.stats()).memories == 1 + 3 * WRITE_THREADS

    run(main())


# cancelling


def test_a_cancelled_write_is_whole_or_absent_and_the_engine_goes_on(store_path: str) -> None:
    async def main() -> None:
        gate = Gate()
        async with await fivefold.aopen(store_path, embedder=gate) as mem:
            begun = [asyncio.create_task(mem.remember_many(batch(number))) for number in range(WRITE_THREADS)]
            for _ in begun:
                while not gate.began.acquire(blocking=False):
                    await asyncio.sleep(0.001)
            waiting = [
                asyncio.create_task(mem.remember_many(batch(number)))
                for number in range(WRITE_THREADS, WRITE_THREADS + 3)
            ]
            await asyncio.sleep(0.01)
            for task in (*begun, *waiting):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            gate.open.set()
            await mem.remember("after", id="after")
            assert (await mem.get("after")).content == "after"
        with toy(store_path) as engine:
            for number in range(WRITE_THREADS):
                assert len(engine.stored_ids(ids(number))) == 5, "what had begun is whole"
            for number in range(WRITE_THREADS, WRITE_THREADS + 3):
                assert engine.stored_ids(ids(number)) == set(), "what had not begun is absent"
            assert all(finding.ok for finding in engine.doctor())

    run(main())


def test_time_limits_and_cancelled_groups_leave_the_store_sound(store_path: str) -> None:
    """Writes and reads are cancelled at every moment of their life; each batch is there whole or not at all."""

    async def impatient(mem: AsyncEngine, number: int) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.002 * (number % 40)):
                await mem.remember_many(batch(number))
                await mem.recall("note")

    async def main() -> None:
        async with await fivefold.aopen(store_path, embedder=Toy()) as mem:
            await asyncio.gather(*(impatient(mem, number) for number in range(TASKS)))
            await mem.remember("after", id="after")
        with toy(store_path) as engine:
            assert engine.get("after").content == "after"
            assert {len(engine.stored_ids(ids(number))) for number in range(TASKS)} <= {0, 5}
            assert all(finding.ok for finding in engine.doctor())

    run(main())


def test_closing_waits_for_what_has_begun(store_path: str) -> None:
    async def main() -> None:
        gate = Gate()
        mem = await fivefold.aopen(store_path, embedder=gate)
        writing = asyncio.create_task(mem.remember("tea", id="tea"))
        while not gate.began.acquire(blocking=False):
            await asyncio.sleep(0.001)
        closing = asyncio.create_task(mem.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        with pytest.raises(fivefold.StoreClosed):
            await mem.get("tea")
        gate.open.set()
        await closing
        assert (await writing).stored == ("tea",)
        await mem.close()

    run(main())


def test_a_store_that_is_opened_too_late_is_closed(store_path: str) -> None:
    async def main() -> None:
        opened: list[Engine] = []
        go_on, begun = threading.Event(), threading.Event()

        def slowly() -> Engine:
            begun.set()
            assert go_on.wait(PATIENCE_S)
            opened.append(toy(store_path))
            return opened[0]

        opening = asyncio.create_task(async_opening._opened(slowly))
        await until(begun.is_set)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        go_on.set()
        await until(lambda: bool(opened) and is_closed(opened[0]))

    run(main())


def test_what_cannot_be_opened_says_so(tmp_path: Any) -> None:
    with pytest.raises(fivefold.StoreError, match="is a folder"):
        asyncio.run(fivefold.aopen(tmp_path))
    with pytest.raises(fivefold.InvalidInput, match="namespace"):
        asyncio.run(fivefold.aopen(tmp_path / "x.db", namespace=""))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def is_closed(engine: Engine) -> bool:
    try:
        engine.stats()
    except fivefold.StoreClosed:
        return True
    return False


def batch(number: int) -> list[dict[str, object]]:
    return [{"content": f"note {id}", "id": id} for id in ids(number)]


def ids(number: int) -> list[str]:
    return [f"{number}-{part}" for part in range(5)]
