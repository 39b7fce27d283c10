"""The weekly check of the vocabulary in library use: in an idle moment, by a thread that ends with the engine (R5)."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.engine import engine as idle_check
from fivefold.stores import open_store
from fivefold.writing import rebuild as drift
from tests.support.clock import Clock
from tests.support.toy_engine import Toy, toy

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PATIENCE_S = 30.0


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def engine(store_path: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine whose store is idle as soon as nothing happens."""
    for name in ("IDLE_S", "AFTER_S", "AGAIN_S"):
        monkeypatch.setattr(idle_check, name, 0.0)
    opened = Engine(open_store(store_path), embedder=Toy(), clock=clock)
    opened.remember_many(["I take my tea without milk", "The kettle is blue"])
    yield opened
    opened.close()


def running() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "fivefold-check"]


def ask_and_wait(engine: Engine) -> datetime | None:
    """When the last check was, once the one after a recall has ended."""
    engine.recall("tea", recipe="lexical")
    until = monotonic() + PATIENCE_S
    while running() and monotonic() < until:
        sleep(0.002)
    assert not running()
    found = engine.stats().drift
    return None if found is None else found.checked_at


def test_R5_a_recall_lets_the_first_check_come_in_an_idle_moment(engine: Engine) -> None:
    assert engine.stats().drift is None
    assert ask_and_wait(engine) == NOW


def test_R5_the_next_check_comes_after_a_week(engine: Engine, clock: Clock) -> None:
    ask_and_wait(engine)
    clock.now = NOW + timedelta(days=6, hours=23)
    assert ask_and_wait(engine) == NOW
    clock.now = NOW + timedelta(days=7)
    assert ask_and_wait(engine) == clock.now


def test_R5_a_vocabulary_that_has_drifted_is_indexed_again(engine: Engine, clock: Clock) -> None:
    ask_and_wait(engine)
    engine.remember_many(["Saturn stands high tonight", "Clouds ruined the lunar eclipse", "Collimate the mirror"])
    clock.now += timedelta(days=7)
    ask_and_wait(engine)
    found = engine.stats().drift
    assert found is not None
    assert found.reindexed
    assert found.jaccard is not None
    assert found.jaccard < drift.MIN_JACCARD


def test_R5_a_setting_switches_it_off(engine: Engine) -> None:
    engine.configure(check_days=0)
    assert ask_and_wait(engine) is None


def test_R5_other_days_are_a_setting(engine: Engine, clock: Clock) -> None:
    engine.configure(check_days=30)
    ask_and_wait(engine)
    clock.now = NOW + timedelta(days=29)
    assert ask_and_wait(engine) == NOW


def test_R5_a_short_program_has_no_such_thread(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("tea")
        engine.recall("tea", recipe="lexical")
        assert not running()


def test_R5_it_waits_while_the_store_is_used_and_ends_with_the_engine(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_check, "IDLE_S", 3_600.0)
    engine.recall("tea", recipe="lexical")
    assert len(running()) == 1
    assert engine.stats().drift is None
    engine.close()
    assert not running()


def test_R5_it_ends_with_an_engine_that_nobody_closes(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_check, "AFTER_S", 0.0)
    engine = toy(store_path)
    engine.remember("tea")
    engine.recall("tea", recipe="lexical")
    (thread,) = running()
    store = engine.store
    del engine
    gc.collect()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    store.close()


def test_R5_a_check_is_given_up_when_the_store_is_used_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is used in the middle of the rebuild: nothing of it is stored, and it comes later."""
    begun, check = threading.Event(), drift.check

    def interrupted(*args: object) -> object:
        engine._namespace.activity.note()
        begun.set()
        return check(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(drift, "check", interrupted)
    assert ask_and_wait(engine) is None
    assert begun.is_set()
    monkeypatch.setattr(drift, "check", check)
    assert ask_and_wait(engine) == NOW


def test_R5_namespaces_of_a_shared_store_share_one_thread(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_check, "AFTER_S", 0.0)
    with fivefold.store(store_path, embedder=Toy()) as shared:
        for name in ("one", "two"):
            shared.namespace(name).remember("tea")
            shared.namespace(name).recall("tea", recipe="lexical")
        assert len(running()) == 1
        shared.namespace("one").close()
        assert len(running()) == 1
    assert not running()
