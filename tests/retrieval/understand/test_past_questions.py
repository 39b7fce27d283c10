"""Whom a name means, by whom it meant before: the prior of R7 comes from past questions in the recipe `recall`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fivefold.engine import Engine
from fivefold.retrieval.understand.entities import prior
from fivefold.values.query import EntityRef
from tests.support.toy_engine import toy


@pytest.fixture
def office(store_path: str) -> Iterator[Engine]:
    """Two people of one name, each in one memory."""
    with toy(store_path) as engine:
        engine.remember("Sam Whitfield climbs rocks", id="rocks")
        engine.remember("Sam Osei sells valves", id="valves")
        yield engine


def sam(engine: Engine, recipe: str = "recall") -> EntityRef:
    (ref,) = engine.recall("what about Sam?", recipe=recipe).query.entities
    return ref


def asked(engine: Engine) -> dict[str, float | None]:
    return {meaning.name: meaning.asked for meaning in sam(engine).meanings}


def test_R7_without_past_questions_the_memories_decide(office: Engine) -> None:
    assert [meaning.confidence for meaning in sam(office).meanings] == [0.45, 0.45]
    assert [meaning.asked for meaning in sam(office, "default").meanings] == [None, None]


def test_R7_a_name_means_whom_it_meant_before(office: Engine) -> None:
    """Prior (3 + 1/2) / 4. It weighs 0.5, the words around, of which nothing is known, 0.3 for both; a part is 0.9."""
    for _ in range(3):
        office.recall("which valves does Sam sell?", recipe="lexical")
    ref = sam(office)
    assert ref.name == "Sam Osei"
    assert {meaning.name: meaning.asked for meaning in ref.meanings} == {"Sam Osei": 3.0, "Sam Whitfield": 0.0}
    shares = [(0.5 * before + 0.3) / 1.1 for before in (3.5 / 4, 0.5 / 4)]
    found = [meaning.confidence for meaning in ref.meanings]
    assert found == pytest.approx([0.9 * share for share in shares], abs=1e-4)


def test_R7_the_trace_says_how_often(office: Engine) -> None:
    office.recall("which valves does Sam sell?", recipe="lexical")
    shown = office.recall("what about Sam?", recipe="recall")
    said = "'Sam' may mean Sam Osei (0.55, meant in 1 past question), Sam Whitfield (0.35, meant in 0 past questions)"
    assert said in shown.explain()
    assert shown.to_dict()["query"]["entities"][0]["meanings"][0]["asked"] == 1.0


def test_R7_what_was_used_says_more_than_what_came_first(office: Engine) -> None:
    answer = office.recall("which valves does Sam sell?", recipe="lexical")
    office.feedback(answer, used=["rocks"])
    assert asked(office) == {"Sam Whitfield": 1.0, "Sam Osei": 0.0}


def test_R7_a_whole_name_says_itself_whom_it_means(office: Engine) -> None:
    answer = office.recall("what does Sam Whitfield sell?", recipe="lexical")
    office.feedback(answer, used=["valves"])
    assert asked(office) == {"Sam Whitfield": 1.0, "Sam Osei": 0.0}


def test_R7_a_word_that_only_contains_the_name_counts_nothing(office: Engine) -> None:
    office.recall("a sample of valves and the same", recipe="lexical")
    assert asked(office) == {"Sam Whitfield": 0.0, "Sam Osei": 0.0}


def test_R7_other_recipes_take_the_prior_of_the_memories(office: Engine) -> None:
    for _ in range(3):
        office.recall("which valves does Sam sell?", recipe="lexical")
    assert [meaning.confidence for meaning in sam(office, "engram").meanings] == [0.45, 0.45]


def test_R7_the_shares_of_the_memories_count_as_one_question() -> None:
    assert prior({1: 3.0, 2: 0.0}, {1: 0.25, 2: 0.75}) == {1: 0.8125, 2: 0.1875}
    assert prior({}, {1: 0.25, 2: 0.75}) == {1: 0.25, 2: 0.75}
