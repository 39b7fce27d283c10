"""Records that wait to be stored: each is stored once or forgotten, and nothing of it stays."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fivefold.engine import Engine
from fivefold.errors import NotFound, QueueFull
from fivefold.stores.interface import Store
from fivefold.stores.records import QueueEntry, QueueLength
from fivefold.values.memory import Record
from fivefold.values.times import utc_now
from fivefold.writing.queue_entries import entries_of, write_entries

from .fixtures import StoreFixtures

ROOM = 10


class QueueLaws(StoreFixtures):
    """Each adds records to the queue of a new namespace."""

    def test_records_wait_in_their_order_and_are_counted(self, engine: Engine) -> None:
        queue, name = engine.store.queue, engine.namespace
        assert _added(engine, "one", "tea", "milk")
        assert _added(engine, "two", "bread")
        assert not _added(engine, "two", "bread"), "the same write again"
        waiting = queue.first(name, ROOM, utc_now())
        assert [(entry.write, entry.place, entry.memory_id) for entry in waiting] == [
            ("one", 0, "tea"),
            ("one", 1, "milk"),
            ("two", 0, "bread"),
        ]
        size = sum(len(entry.record.encode()) for entry in waiting)
        assert queue.length(name) == QueueLength(name, 3, size)
        assert QueueLength(name, 3, size) in queue.lengths()
        assert queue.oldest(name) == waiting[0].added_at
        state = queue.state(name, "two")
        assert state is not None
        assert (state.done, state.waiting, state.ahead, state.report) == (False, ("bread",), 2, None)
        assert queue.state(name, "three") is None

    def test_a_full_queue_takes_nothing_of_a_write(self, engine: Engine) -> None:
        queue, name = engine.store.queue, engine.namespace
        assert _added(engine, "one", *(f"r{number}" for number in range(ROOM - 1)))
        with pytest.raises(QueueFull) as full:
            _added(engine, "two", "tea", "milk")
        assert (full.value.waiting, full.value.limit) == (ROOM - 1, ROOM)
        assert (queue.length(name).records, queue.state(name, "two")) == (ROOM - 1, None)
        assert _added(engine, "two", "tea")

    def test_what_is_stored_leaves_the_queue_in_the_same_step(self, engine: Engine) -> None:
        queue, name = engine.store.queue, engine.namespace
        engine.remember("Here is milk", id="known")
        _added(engine, "one", "tea", "milk", "bread")
        first, last = queue.first(name, 2, utc_now()), queue.first(name, 3, utc_now())[2:]
        write_entries(engine._namespace, first)
        assert queue.length(name).records == 1
        assert write_entries(engine._namespace, [*first, *last]) is None
        assert queue.length(name).records == 1
        write_entries(engine._namespace, last)
        assert {memory.id for memory in engine.memories()} == {"known", "tea", "bread"}
        assert [length for length in queue.lengths() if length.namespace == name] == []
        state = queue.state(name, "one")
        assert state is not None
        assert (state.done, state.waiting) == (True, ())
        assert state.report is not None
        assert '"stored": ["tea", "bread"]' in state.report
        assert '"id": "known"' in state.report

    def test_what_cannot_be_stored_waits_and_lets_the_others_by(self, engine: Engine) -> None:
        queue, name, now = engine.store.queue, engine.namespace, utc_now()
        _added(engine, "one", "tea", "milk")
        queue.postpone(name, queue.first(name, 1, now)[0], "no model", now + timedelta(hours=1))
        assert [entry.memory_id for entry in queue.first(name, ROOM, now)] == ["milk"]
        (again,) = queue.first(name, 1, now + timedelta(hours=2))
        assert (again.memory_id, again.tries) == ("tea", 1)
        state = queue.state(name, "one")
        assert state is not None
        assert (state.problem, state.next_try_at) == ("no model", now + timedelta(hours=1))

    def test_what_waits_can_be_forgotten(self, engine: Engine) -> None:
        queue, name = engine.store.queue, engine.namespace
        _added(engine, "one", "tea", "milk", session_id="s1")
        _added(engine, "two", "bread")
        assert queue.holds(name, "tea")
        assert engine.forget("tea").content == "Here is tea"
        assert not queue.holds(name, "tea")
        with pytest.raises(NotFound):
            engine.forget("tea")
        assert engine.forget_session("s1") == 1
        assert queue.cancel(name, "two") == 1
        assert queue.cancel(name, "two") == 0
        assert queue.first(name, ROOM, utc_now()) == []
        assert queue.length(name).records == 0
        state = queue.state(name, "one")
        assert state is not None
        assert state.done
        assert queue.state(name, "two") is None

    def test_a_namespace_is_deleted_with_what_waits(self, store: Store, engine: Engine) -> None:
        name = engine.namespace
        _added(engine, "one", "tea")
        assert store.delete_namespace(name) == 0, "nothing of it was stored yet"
        assert store.delete_namespace(name) is None
        engine.remember("Here is bread")
        _added(engine, "two", "tea")
        assert store.delete_namespace(name) == 1
        assert store.queue.first(name, ROOM, utc_now()) == []
        assert (store.queue.length(name).records, store.queue.state(name, "two")) == (0, None)


def _added(engine: Engine, write: str, *ids: str, session_id: str | None = None) -> bool:
    records = [Record(content=f"Here is {id}", id=id, session_id=session_id) for id in ids]
    entries: list[QueueEntry] = entries_of(records, write, None, utc_now())
    name = engine.namespace
    return engine.store.queue.add(name, write, entries, QueueLength(name, ROOM, 1_000_000))
