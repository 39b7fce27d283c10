"""The engine for asynchronous code: every method of `Engine`, awaited, with the same arguments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from types import TracebackType

from fivefold.engine.async_calls import AsyncCalls, lengthy, reading, stream, threads_of, writing
from fivefold.engine.engine import Engine
from fivefold.settings import Settings
from fivefold.writing.graph import Graph


class AsyncGraph(AsyncCalls[Graph]):
    """The methods of `Graph`, awaited."""

    entities = reading(Graph.entities)
    entity = reading(Graph.entity)
    entities_by_id = reading(Graph.entities_by_id)
    named = reading(Graph.named)
    edges = reading(Graph.edges)
    memories = reading(Graph.memories)

    add = writing(Graph.add)
    alias = writing(Graph.alias)
    rename = writing(Graph.rename)
    merge = writing(Graph.merge)
    split = writing(Graph.split)
    relate = writing(Graph.relate)
    unrelate = writing(Graph.unrelate)


class AsyncEngine(AsyncCalls[Engine]):
    """Memory for an agent in asynchronous code. Calls run in a few threads, so that the event loop goes on.

    Share it between tasks; close it, or use it in an `async with` block. A call can be cancelled: a write is then whole
    or absent, and the engine goes on. It costs nothing to wrap another engine, such as one of a `SharedStore`.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, threads_of(engine.store))

    remember = writing(Engine.remember)
    remember_many = writing(Engine.remember_many)
    remember_messages = writing(Engine.remember_messages)
    update = writing(Engine.update)
    supersede = writing(Engine.supersede)
    reinstate = writing(Engine.reinstate)
    forget = writing(Engine.forget)
    forget_session = writing(Engine.forget_session)
    pin = writing(Engine.pin)
    unpin = writing(Engine.unpin)
    feedback = writing(Engine.feedback)
    unlearn = writing(Engine.unlearn)
    configure = writing(Engine.configure)

    import_jsonl = lengthy(Engine.import_jsonl)
    export_jsonl = lengthy(Engine.export_jsonl)
    train_reranker = lengthy(Engine.train_reranker)
    doctor = lengthy(Engine.doctor)
    check_drift = lengthy(Engine.check_drift)
    reembed = lengthy(Engine.reembed)
    sweep = lengthy(Engine.sweep)
    health = lengthy(Engine.health)
    link_repeats = lengthy(Engine.link_repeats)

    recall = reading(Engine.recall)
    context = reading(Engine.context)
    plan = reading(Engine.plan)
    understand = reading(Engine.understand)
    feedback_count = reading(Engine.feedback_count)
    learned = reading(Engine.learned)
    namespaces = reading(Engine.namespaces)
    own_settings = reading(Engine.own_settings)
    exists = reading(Engine.exists)
    embedder_pin = reading(Engine.embedder_pin)
    get = reading(Engine.get)
    stored_ids = reading(Engine.stored_ids)
    stored_notes = reading(Engine.stored_notes)
    memories = reading(Engine.memories)
    links = reading(Engine.links)
    sessions = reading(Engine.sessions)
    turns = reading(Engine.turns)
    last_turns = reading(Engine.last_turns)
    session_memories = reading(Engine.session_memories)
    neighbours = reading(Engine.neighbours)
    history = reading(Engine.history)
    extraction = reading(Engine.extraction)
    erasure = reading(Engine.erasure)
    stats = reading(Engine.stats)

    @property
    def engine(self) -> Engine:
        """The engine itself, for what takes one, such as the adapters."""
        return self._target

    @property
    def namespace(self) -> str:
        """The name of the namespace."""
        return self._target.namespace

    @property
    def location(self) -> str:
        """Where the store is: a path, ':memory:' or an address without its password."""
        return self._target.location

    @property
    def settings(self) -> Awaitable[Settings]:
        """The namespace's settings, defaults where nothing is set: `await mem.settings`."""
        return self._threads.read(lambda: self._target.settings)

    @property
    def graph(self) -> AsyncGraph:
        """The entity graph, to look at and to edit."""
        return AsyncGraph(self._target.graph, self._threads)

    def export_lines(self) -> AsyncIterator[str]:
        """Every memory of the namespace as a line of JSON, oldest first: `async for line in mem.export_lines()`."""
        return stream(self._target.export_lines(), self._threads)

    async def close(self) -> None:
        """Wait for the calls under way and close the store. That of a shared store stays open."""
        if self._target.owns_store:
            await self._threads.close()
        await asyncio.to_thread(self._target.close)

    async def __aenter__(self) -> AsyncEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
