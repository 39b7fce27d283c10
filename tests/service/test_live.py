"""The feed of what happens now: bounded, in order, of one store, by namespace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine, SharedStore
from fivefold.errors import FivefoldError
from fivefold.service.live import MAX_QUESTION_CHARS, LiveFeed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SharedStore]:
    with fivefold.store(str(tmp_path / "live.db")) as opened:
        yield opened


@pytest.fixture
def engine(store: SharedStore) -> Engine:
    return store.namespace("default")


@pytest.fixture
def feed(engine: Engine) -> Iterator[LiveFeed]:
    feed = LiveFeed(engine.store, most=5)
    yield feed
    feed.close()


def test_writes_and_recalls_are_events_in_their_order(engine: Engine, feed: LiveFeed) -> None:
    engine.remember("The spare key lies under the flowerpot", id="key")
    answer = engine.recall("where is the spare key?", recipe="lexical")
    with pytest.raises(FivefoldError):
        engine.update("none", content="x")
    wrote, recalled, failed = feed.after(0, "default")
    assert (wrote.action, wrote.memories, wrote.ids, wrote.failed) == ("remember", 1, ("key",), "")
    assert (recalled.action, recalled.question, recalled.ids) == ("recall", "where is the spare key?", ("key",))
    assert recalled.memories == len(answer) == 1
    assert (failed.action, failed.failed, failed.ids) == ("update", "NotFound", ())
    assert wrote.number < recalled.number < failed.number
    assert feed.after(wrote.number, "default") == [recalled, failed]
    assert feed.after(failed.number, "default") == []


def test_only_the_latest_stay(engine: Engine, feed: LiveFeed) -> None:
    for number in range(8):
        engine.remember(f"Parcel {number} has come", id=f"p{number}")
    assert [event.ids for event in feed.after(0, "default")] == [(f"p{number}",) for number in range(3, 8)]


def test_other_namespaces_and_other_stores_stay_apart(store: SharedStore, feed: LiveFeed, tmp_path: Path) -> None:
    with fivefold.open(str(tmp_path / "other.db")) as other:
        other.remember("The other store has this")
    store.namespace("team").recall("what does the team know?" + " really" * MAX_QUESTION_CHARS, recipe="lexical")
    assert feed.after(0, "default") == []
    (event,) = feed.after(0, "team")
    assert len(event.question) <= MAX_QUESTION_CHARS


def test_a_closed_feed_hears_nothing(engine: Engine) -> None:
    feed = LiveFeed(engine.store)
    feed.close()
    engine.remember("Nobody watches")
    assert feed.after(0, "default") == []


def test_an_event_goes_with_the_memories_it_names(store: SharedStore, engine: Engine, feed: LiveFeed) -> None:
    engine.remember_many([{"content": f"The spare key number {n} lies there", "id": f"key{n}"} for n in range(5)])
    engine.recall("where is the spare key?", recipe="lexical")
    engine.forget("key4")
    assert [event.action for event in feed.after(0, "default")] == ["forget"]
    engine.recall("where is the spare key?", recipe="lexical")
    with fivefold.open(store.location) as other:
        other.forget("key3")
    assert [event.action for event in feed.after(0, "default")] == ["forget"], "forgotten by another process too"
    engine.recall("where is the spare key?", recipe="lexical")
    store.delete_namespace("default")
    store.namespace("default").remember("Something new", id="new")
    assert [event.action for event in feed.after(0, "default")] == ["forget", "delete_namespace", "remember"]
