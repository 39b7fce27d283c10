"""Deleting a namespace: nothing of it stays, nothing else changes, and its name is as good as new."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from fivefold.engine import Engine
from fivefold.errors import NotFound
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.stores.records import RequestKey
from fivefold.values.times import utc_now

from .fixtures import StoreFixtures
from .forgetting import FORGOTTEN, QUESTIONS, REMAINING
from .store_pair import answers, contents_of, exported, opened, same_answers
from .vectors import WordTokens, WordVectors


class DeletionLaws(StoreFixtures):
    """Each deletes a namespace in which every part of the store has something."""

    def test_nothing_of_a_deleted_namespace_stays(self, store: Store) -> None:
        engine = _filled(store)
        name, count = engine.namespace, engine.stats().memories
        assert count > 0
        assert store.delete_namespace(name) == count
        assert name not in store.namespaces()
        assert not store.reader(name).exists()
        with store.snapshot(name) as look:
            assert {table: rows for table, rows in look.counts().items() if rows} == {}
        assert store.reader(name).memories.get("k0") is None
        assert store.reader(name).search.vector_space() is None

    def test_what_has_no_name_is_not_deleted(self, store: Store) -> None:
        engine = _filled(store)
        assert store.delete_namespace(f"{engine.namespace} and more") is None
        store.delete_namespace(engine.namespace)
        assert store.delete_namespace(engine.namespace) is None

    def test_other_namespaces_stay_as_they_are(self, store: Store) -> None:
        deleted, other = _filled(store), _filled(store)
        before = answers(other, *QUESTIONS), contents_of(other), exported(other)
        store.delete_namespace(deleted.namespace)
        same_answers(before[0], answers(other, *QUESTIONS))
        assert {**contents_of(other), "stats": None} == {**before[1], "stats": None}
        assert exported(other) == before[2]
        assert all(finding.ok for finding in other.doctor())

    def test_a_name_that_is_used_again_begins_with_nothing(self, store: Store) -> None:
        """The same engine goes on, and gives what one gives that never knew another."""
        again, never = _filled(store), opened(store, embedder=WordTokens())
        store.delete_namespace(again.namespace)
        assert again.recall("tea in the morning").hits == ()
        again.configure(route_budget_ms=never.settings.route_budget_ms)
        for engine in (again, never):
            engine.remember_many(REMAINING)
        same_answers(answers(never, *QUESTIONS), answers(again, *QUESTIONS))
        assert exported(again) == exported(never)
        assert (again.learned().weights.count, again.stats().feedback) == (0, 0)
        with pytest.raises(NotFound):
            again.get("g0")

    def test_others_who_have_the_store_open_see_it_gone_and_made_again(self, store: Store, location: str) -> None:
        engine = _filled(store)
        other = open_store(location)
        try:
            there = Engine(other, engine.namespace, WordTokens(), clock=engine._namespace.clock)
            assert there.get("k0").content == engine.get("k0").content
            assert there.recall("tea in the morning").hits
            store.delete_namespace(engine.namespace)
            assert not there.exists()
            assert there.recall("tea in the morning").hits == ()
            opened(store).remember("Another namespace takes no key of a deleted one")
            there.remember("The kettle is new", id="kettle")
            assert [memory.id for memory in engine.memories()] == ["kettle"]
        finally:
            other.close()

    def test_stored_responses_go_and_requests_under_way_stay(self, store: Store) -> None:
        engine, now = _filled(store), utc_now()
        later = now + timedelta(hours=1)
        done, running = (RequestKey(engine.namespace, "writer", key) for key in ("done", "running"))
        for request in (done, running):
            assert store.requests.claim(request, b"digest", "lease", now, later, later).attempt == 1
        store.requests.finish(done, "lease", 201, '{"stored": ["k0"]}')
        store.delete_namespace(engine.namespace)
        assert store.requests.claim(done, b"digest", "new", now, later, later).attempt == 1
        assert store.requests.claim(running, b"digest", "new", now, later, later).attempt is None

    def test_recalls_that_wait_to_be_logged_are_not_logged(self, store: Store) -> None:
        engine = _filled(store)
        recalled = engine.recall("tea in the morning")
        store.delete_namespace(engine.namespace)
        engine.remember("Something else")
        assert engine.stats().recalls == 0
        with pytest.raises(NotFound):
            engine.feedback(recalled.id, used=["k1"])

    def test_writes_meanwhile_are_whole_or_absent(self, store: Store) -> None:
        """Threads write while others delete; what is there at the end is sound."""
        engine = _filled(store)
        wrong: list[BaseException] = []

        def repeat(act: Callable[[int], object], times: int) -> None:
            try:
                for i in range(times):
                    act(i)
            except BaseException as error:
                wrong.append(error)

        def write(number: int) -> None:
            engine.remember_many([{"content": f"tea number {number} of {part}"} for part in ("one", "two")])

        threads = [threading.Thread(target=repeat, args=(write, 12)) for _ in range(2)]
        threads.append(threading.Thread(target=repeat, args=(lambda _: store.delete_namespace(engine.namespace), 6)))
        threads.append(threading.Thread(target=repeat, args=(lambda _: engine.recall("tea number"), 12)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert all(finding.ok for finding in engine.doctor())


def _filled(store: Store) -> Engine:
    """A namespace with notes, turns, entities, links, settings, recalls, feedback, and two spaces of vectors."""
    engine = opened(store, embedder=WordTokens())
    engine.configure(timezone="Asia/Tokyo")
    engine.remember_many([*REMAINING, *FORGOTTEN, {"content": "I lived in Leeds", "id": "old"}])
    engine.supersede("old", {"content": "I live in York", "id": "new"})
    engine.graph.relate(engine.graph.add("Ada").id, "knows", engine.graph.add("Bertil Berg").id)
    answer = engine.recall("tea in the morning", recipe="ditto")
    engine.feedback(answer, used=[answer[0].memory.id])
    with store.write(engine.namespace) as txn:
        txn.vectors.open_space("another@1", WordVectors(16).dimension, "building")
    return engine
