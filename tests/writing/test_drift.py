"""Vocabulary drift: noticed when a namespace comes to talk of other things, and put right with every answer kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fivefold import sample
from fivefold.engine import Engine
from fivefold.stores import open_store
from fivefold.stores.interface import VOCABULARY
from fivefold.values.recall import Recall
from fivefold.values.reports import Drift
from fivefold.writing import rebuild as drift
from tests.conformance.recipes import steady
from tests.conformance.vectors import WordVectors

NOW = datetime(2026, 3, 1, tzinfo=UTC)

KITCHEN = [
    "Bake the rye bread at 220 degrees until the crust is dark",
    "Bertil wants sourdough with caraway for the weekend market",
    "The oven thermostat sticks, so open the door a crack",
    "Knead the dough twice and let it rest under a damp towel",
    "Order flour, yeast and coarse salt from the mill in Falun",
    "Butter goes into the brioche only once the gluten holds",
]
SKY = [
    "Saturn stands high tonight and the rings are wide open",
    "The telescope mount drifts; polar alignment is off by a degree",
    "Clouds ruined the lunar eclipse above the observatory",
    "A comet of magnitude six passes Cassiopeia next month",
    "Collimate the mirror before photographing the Orion nebula",
    "Dark frames remove the amplifier glow of the camera sensor",
]


@pytest.fixture
def kitchen(store_path: str) -> Engine:
    engine = Engine(open_store(store_path), embedder=WordVectors(), clock=lambda: NOW)
    engine.remember_many(KITCHEN)
    return engine


def told(answer: Recall) -> list[tuple[str, float]]:
    return [(hit.memory.id, hit.score) for hit in answer]


def test_the_first_look_has_nothing_to_compare_with(kitchen: Engine) -> None:
    assert kitchen.stats().drift is None
    first = kitchen.check_drift()
    assert first == Drift(NOW, len(kitchen.store.reader("default").search.vocabulary(5_000)), None, reindexed=False)
    assert kitchen.stats().drift == first


def test_talk_that_stays_is_not_indexed_anew(kitchen: Engine) -> None:
    kitchen.check_drift()
    kitchen.remember("Bake the rye bread again tomorrow, and order flour from the mill")
    found = kitchen.check_drift()
    assert found.jaccard is not None
    assert drift.LEAST <= found.jaccard < 1
    assert not found.reindexed


def test_talk_that_changes_wholly_is_indexed_anew(kitchen: Engine) -> None:
    stored = [memory.id for memory, _ in kitchen.store.reader("default").memories.scan()]
    kitchen.check_drift()
    kitchen.remember_many(SKY)
    for id in stored:
        kitchen.forget(id)
    found = kitchen.check_drift()
    assert found.reindexed
    assert found.jaccard is not None
    assert found.jaccard < 0.1
    assert kitchen.stats().drift == found
    again = kitchen.check_drift()
    assert (again.jaccard, again.reindexed) == (1.0, False)


@pytest.mark.slow
def test_indexing_anew_changes_no_answer(store_path: str) -> None:
    engine = Engine(open_store(store_path), embedder=WordVectors(), clock=lambda: NOW)
    engine.remember_many(KITCHEN)
    engine.check_drift()
    engine.remember_many(sample.memories())
    recipes = [steady("lexical"), steady("default")]
    asked = [question.query for question in sample.questions()][:25]
    before = [told(engine.recall(text, recipe=recipe)) for text in asked for recipe in recipes]
    words = engine.store.reader("default").search.vocabulary(5_000)
    assert engine.check_drift().reindexed
    assert [told(engine.recall(text, recipe=recipe)) for text in asked for recipe in recipes] == before
    assert engine.store.reader("default").search.vocabulary(5_000) == words
    assert all(finding.ok for finding in engine.doctor())


def test_lexemes_come_by_how_many_memories_hold_them_then_by_themselves(store_path: str) -> None:
    engine = Engine(open_store(store_path), embedder=WordVectors())
    dated = {"event_at": "2025-01-06T09:00:00Z"}
    texts = ["zebra apple", "zebra apple apple", "zebra mango", "kiwi"]
    engine.remember_many([{"content": text, "session_id": "s", **dated} for text in texts])
    fruit = [word for word in engine.store.reader("default").search.vocabulary(100) if word in " ".join(texts)]
    assert fruit == ["zebra", "appl", "kiwi", "mango"]
    assert (
        engine.store.reader("default").search.vocabulary(2) == engine.store.reader("default").search.vocabulary(100)[:2]
    )


def test_what_is_kept_of_a_look_holds_no_word(kitchen: Engine) -> None:
    kitchen.check_drift()
    kept = kitchen.store.reader("default").admin.learned_value(VOCABULARY)
    assert kept is not None
    words = kitchen.store.reader("default").search.vocabulary(5_000)
    assert len(words) > 30
    assert not [word for word in words if len(word) > 4 and word in str(kept)]


def test_a_namespace_that_is_not_there_is_not_made(store_path: str) -> None:
    engine = Engine(open_store(store_path), clock=lambda: NOW)
    assert engine.check_drift() == Drift(NOW, 0, None, reindexed=False)
    assert engine.store.namespaces() == ()


def test_an_empty_namespace_stays_as_it_is(kitchen: Engine) -> None:
    for memory, _ in kitchen.store.reader("default").memories.scan():
        kitchen.forget(memory.id)
    assert [kitchen.check_drift().jaccard for _ in range(2)] == [None, 1.0]


def test_a_look_is_dated_by_the_clock(store_path: str) -> None:
    moments = iter(NOW + timedelta(days=day) for day in range(100))
    engine = Engine(open_store(store_path), embedder=WordVectors(), clock=lambda: next(moments))
    engine.remember("tea")
    first, second = engine.check_drift(), engine.check_drift()
    assert NOW < first.checked_at < second.checked_at
    shown = engine.stats().to_dict()["drift"]
    assert shown == {
        "checked_at": second.to_dict()["checked_at"],
        "lexemes": second.lexemes,
        "jaccard": 1.0,
        "reindexed": False,
    }


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [("", "", 1.0), ("a", "", 0.0), ("ab", "bc", 1 / 3), ("abc", "abc", 1.0), ("abcdefg", "abcdefghij", 0.7)],
)
def test_jaccard_by_hand(one: str, other: str, alike: float) -> None:
    assert drift.jaccard({c.encode() for c in one}, {c.encode() for c in other}) == pytest.approx(alike)
