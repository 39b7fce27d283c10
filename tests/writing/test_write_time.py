"""A clock that is set back: what is said later still replaces what was said before, and comes after it in lists."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from fivefold.engine import Engine
from fivefold.stores import open_store
from tests.support.clock import Clock
from tests.support.toy_engine import Toy

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    store = open_store(":memory:")
    yield Engine(store, "default", Toy(), clock=clock)
    store.close()


def test_a_clock_that_is_set_back_breaks_no_order(engine: Engine, clock: Clock) -> None:
    engine.remember("My badge ID is E-47821", id="old", speaker="user")
    engine.remember("Hello there", id="t1", session_id="s")
    clock.now -= timedelta(hours=1)
    report = engine.remember("My badge ID is E-50113", id="new", speaker="user")
    engine.remember("How are you", id="t2", session_id="s")
    assert [(link.source, link.target) for link in report.superseded] == [("new", "old")]
    assert [memory.id for memory in engine.memories()] == ["t2", "new", "t1", "old"]
    assert [turn.id for turn in engine.turns("s")] == ["t1", "t2"]
    assert {"new", "t2"} <= {memory.id for memory in engine.memories(since=NOON)}
    assert {"new", "t2"} <= {memory.id for memory in engine.memories(filter={"written_since": NOON})}
    assert [finding for finding in engine.doctor() if not finding.ok] == []


def test_a_time_that_is_given_stays_and_a_clock_that_was_far_ahead_is_not_followed(
    engine: Engine, clock: Clock
) -> None:
    clock.now += timedelta(days=400)
    engine.remember("Written with a wrong clock")
    clock.now = NOON
    engine.remember("Written with a right clock", id="right")
    engine.remember("Long ago", id="given", event_at=NOON - timedelta(days=9))
    assert engine.get("right").created_at == NOON
    assert engine.get("given").event_at == NOON - timedelta(days=9)
