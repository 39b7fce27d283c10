"""What holds for every built-in recipe: the law, the same answer twice, as-of, degraded and empty answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from tests.conformance.recipes import steady
from tests.retrieval.test_pipeline import lawful
from tests.support.toy_engine import Toy, toy

pytestmark = pytest.mark.slow

every_recipe = pytest.mark.parametrize("name", known_recipes())
UNITS = ("memory", "turn", "session")

# The law

words = st.sampled_from("alpha Beta gamma Delta I prefer tea and met Kappa yesterday lately E-478 why who".split())
said = st.lists(words, min_size=1, max_size=6).map(" ".join)
days = st.integers(1, 28).map(lambda day: f"2025-02-{day:02}T09:00:00Z")
records = st.lists(
    st.fixed_dictionaries(
        {"content": said, "event_at": days},
        optional={
            "session_id": st.sampled_from(["s", "t"]),
            "user_text": said,
            "assistant_text": said,
            "task_tag": words,
            "tags": st.lists(words, max_size=2),
            "type": st.sampled_from(["event", "fact", "preference"]),
            "memory_score": st.floats(0, 1),
            "speaker": st.sampled_from(["Ann", "user", "assistant"]),
        },
    ),
    max_size=12,
)


@every_recipe
def test_the_parts_add_up_whatever_is_stored_and_asked(name: str) -> None:
    @settings(max_examples=10, deadline=None)
    @given(held=records, question=said, k=st.integers(1, 15), unit=st.sampled_from(UNITS), noise=st.booleans())
    def adds_up(held: list[dict[str, Any]], question: str, k: int, unit: str, noise: bool) -> None:
        recipe = load_recipe(load_recipe(name) if noise else steady(name), {"unit": unit})
        with toy(":memory:") as engine:
            engine.remember_many(held)
            answer = engine.recall(question, k=k, recipe=recipe, now="2025-03-01T00:00:00Z")
            assert not answer.degraded
            assert len(answer) <= k
            lawful(answer)
            ids = [hit.memory.id for hit in answer]
            gone = [item.id for item in answer.dropped]
            assert len(set(ids + gone)) == len(ids + gone)
            _fits(answer, unit)

    adds_up()


def _fits(answer: fivefold.Recall, unit: str) -> None:
    """Only what the unit allows: no session among turns, no session twice."""
    if unit == "turn":
        assert all(hit.memory.kind != "session" for hit in answer)
    if unit == "session":
        sessions = [hit.memory.session_id for hit in answer if hit.memory.session_id]
        assert len(sessions) == len(set(sessions))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(min_size=1, max_size=80), name=st.sampled_from(known_recipes()), k=st.integers(1, 30))
def test_any_text_is_answered_by_the_law_or_is_a_clear_error(
    sample_engine: Engine, question: str, name: str, k: int
) -> None:
    try:
        answer = sample_engine.recall(question, k=k, recipe=name)
    except fivefold.InvalidInput:
        return
    assert not answer.degraded
    lawful(answer)


@every_recipe
@pytest.mark.parametrize("unit", UNITS)
def test_the_sample_is_answered_by_the_law_for_every_unit(sample_engine: Engine, name: str, unit: str) -> None:
    for question in sample.questions()[::6]:
        answer = sample_engine.recall(question.query, recipe=name, now=question.now, overrides={"unit": unit})
        lawful(answer)
        _fits(answer, unit)


# The same answer twice


@every_recipe
def test_the_same_question_gives_the_same_answer(sample_engine: Engine, name: str) -> None:
    recipe = steady(name)
    for question in sample.questions()[::8]:
        first, second = (sample_engine.recall(question.query, recipe=recipe, now=question.now) for _ in range(2))
        assert [(hit.memory.id, hit.candidate) for hit in first] == [(hit.memory.id, hit.candidate) for hit in second]
        assert first.dropped == second.dropped


@every_recipe
def test_the_answer_is_the_same_from_disk_and_from_memory(
    sample_path: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A namespace too large to be held at its first recall is searched in the file, and the hits are the same."""
    monkeypatch.setattr("fivefold.stores.sqlite.vector_cache.SMALL_SIZE", 5)
    with fivefold.open(sample_path) as engine:
        first, second = (
            engine.recall("who works on the Kestrel?", recipe=steady(name), now="2025-12-01T00:00:00Z")
            for _ in range(2)
        )
    assert [hit.memory.id for hit in first] == [hit.memory.id for hit in second]
    assert [hit.score for hit in first] == pytest.approx([hit.score for hit in second], abs=1e-4)


# As of an earlier time


@pytest.fixture
def year(store_path: str) -> Iterator[Engine]:
    """A session and notes of early 2025, and the same talk going on after March."""
    told = [
        ("I moved the kestrel nest to the barn", "s", "2025-01-10"),
        ("The barn roof leaks badly", "s", "2025-01-11"),
        ("Kestrel chicks hatched in the barn", "s", "2025-05-02"),
        ("A kestrel sat on the fence", None, "2025-02-01"),
        ("The kestrel nest was painted green", None, "2025-06-01"),
        ("The kestrel nest is empty", "t", "2025-07-01"),
    ]
    with toy(store_path) as engine:
        engine.remember_many(
            [
                {
                    "content": content,
                    "session_id": session,
                    "event_at": f"{day}T09:00:00Z",
                    "type": "event",
                    "speaker": ("Ann", "Bo")[i % 2],
                }
                for i, (content, session, day) in enumerate(told)
            ]
        )
        yield engine


@every_recipe
@pytest.mark.parametrize("unit", UNITS)
def test_asked_as_of_an_earlier_time_what_came_later_is_unknown(year: Engine, name: str, unit: str) -> None:
    answer = year.recall(
        "kestrel nest in the barn", k=20, recipe=name, now="2025-03-01T00:00:00Z", overrides={"unit": unit}
    )
    assert len(answer) > 0
    later = [hit.memory.content for hit in answer if hit.memory.event_at > answer.query.now]
    assert later == []
    beside = [memory.content for hit in answer for memory in hit.neighbours if memory.event_at > answer.query.now]
    assert beside == []


@every_recipe
def test_what_is_unknown_as_of_then_is_named_as_dropped(year: Engine, name: str) -> None:
    answer = year.recall("kestrel nest in the barn", k=20, recipe=name, now="2025-03-01T00:00:00Z")
    assert "not yet known on 01 Mar 2025" in {item.reason for item in answer.dropped}
    assert not {item.id for item in answer.dropped} & {hit.memory.id for hit in answer}


@every_recipe
def test_a_memory_replaced_later_still_holds_as_of_before(store_path: str, name: str) -> None:
    with toy(store_path) as engine:
        engine.remember("I live in Leeds", id="old", event_at="2025-01-06T09:00:00Z")
        engine.remember("I moved from Leeds to Bristol", id="new", event_at="2025-06-07T09:00:00Z")
        answer = engine.recall("where do I live, in Leeds?", recipe=name, now="2025-03-01T00:00:00Z")
    assert [hit.memory.id for hit in answer] == ["old"]


# Degraded and empty answers


class Failing(Toy):
    def embed(self, texts: object, progress: object = None) -> Any:
        raise fivefold.EmbedderError("the model server is away")


@pytest.mark.parametrize("name", ["default", "memsense", "five-stage", "engram", "recall", "lexical"])
def test_a_failing_embedder_leaves_the_answer_by_words(store_path: str, name: str) -> None:
    with toy(store_path) as engine:
        engine.remember("My badge ID is E-47821", id="badge")
        engine.remember_many([f"remark number {i}" for i in range(5)])
    with fivefold.open(store_path, embedder=Failing()) as broken:
        answer = broken.recall("badge E-47821", recipe=name)
    assert answer[0].memory.id == "badge"
    lawful(answer)
    searches = {part.route: part.search for part in answer.plan.routes if part.run}
    assert set(answer.degraded) == {route for route, search in searches.items() if search in {"dense", "associative"}}
    for run in answer.routes:
        if run.status == "failed":
            assert "the model server is away" in run.reason


@pytest.mark.parametrize("name", ["dense", "ditto"])
def test_without_words_a_failing_embedder_leaves_nothing_and_says_so(store_path: str, name: str) -> None:
    with toy(store_path) as engine:
        engine.remember("My badge ID is E-47821")
    with fivefold.open(store_path, embedder=Failing()) as broken:
        answer = broken.recall("badge E-47821", recipe=name)
    assert len(answer) == 0
    assert answer.degraded == (load_recipe(name).routes[0].name,)


@pytest.mark.parametrize("name", ["memsense", "five-stage", "ditto"])
def test_a_statement_that_fails_names_the_routes_that_ran(
    sample_engine: Engine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> object:
        raise OSError("index gone")

    monkeypatch.setattr("fivefold.stores.sqlite.search.SqliteSearchReader.rrf", broken)
    monkeypatch.setattr("fivefold.stores.sqlite.search.SqliteSearchReader.composite", broken)
    answer = sample_engine.recall("what is it?", recipe=name)
    assert len(answer) == 0
    status = {run.route: run.status for run in answer.routes}
    assert status == {part.route: "failed" if part.run else "skipped" for part in answer.plan.routes}


def test_a_statement_that_is_late_is_left_out_and_its_routes_named(
    store_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*given: object) -> list[object]:
        time.sleep(0.5)
        return []

    with toy(store_path) as engine:
        engine.remember("My badge ID is E-47821")
        engine.configure(route_budget_ms=50)
        monkeypatch.setattr("fivefold.stores.sqlite.search.SqliteSearchReader.rrf", slow)
        answer = engine.recall("what is it?", recipe="five-stage")
    assert {run.route: run.status for run in answer.routes} == {"dense": "late", "lexical": "skipped"}
    assert answer.degraded == ("dense",)


@every_recipe
def test_an_empty_or_missing_namespace_gives_an_empty_answer(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "m.db")
    with toy(path, "here") as engine:
        engine.forget(engine.remember("a secret of this namespace", id="gone").id)
        for unit in UNITS:
            emptied = engine.recall("secret namespace", recipe=name, overrides={"unit": unit})
            assert (len(emptied), emptied.dropped, emptied.degraded) == (0, (), ())
    with toy(path, "elsewhere") as missing:
        answer = missing.recall("secret namespace", recipe=name)
        assert (len(answer), answer.dropped, answer.degraded) == (0, (), ())
        assert missing.store.namespaces() == ("here",)
