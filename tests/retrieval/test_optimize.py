"""The optimizer: which implied types count, by what the namespace has and what its memories of each type speak of."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import pytest

from fivefold.engine import Engine
from fivefold.stores.interface import TYPE_VOCABULARY
from fivefold.writing.type_vocabulary import load_type_vocabulary
from tests.support.toy_engine import toy

KESTREL = "what is my setting for the Kestrel timeout?"


@pytest.fixture
def workshop(store_path: str) -> Iterator[Engine]:
    """Ten preferences about tea, and ten facts, two of which are about Kestrel."""
    with toy(store_path) as engine:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many({"content": f"I prefer tea number {i}", "type": "preference"} for i in range(10))
        engine.remember_many({"content": f"tea was bought on day {i}", "type": "fact"} for i in range(8))
        engine.remember_many({"content": f"the kestrel timeout is {i} seconds", "type": "fact"} for i in (30, 40))
        yield engine


def hints(engine: Engine, question: str, recipe: str = "recall") -> list[tuple[str, bool, str]]:
    return [(hint.type, hint.kept, hint.reason) for hint in engine.plan(question, recipe=recipe).type_hints]


def test_R2_before_the_first_check_the_words_of_a_type_are_not_known(workshop: Engine) -> None:
    assert hints(workshop, KESTREL) == [("preference", True, "'setting' implies it")]


def test_R2_a_type_whose_memories_do_not_speak_of_what_is_asked_is_dropped(workshop: Engine) -> None:
    workshop.check_drift()
    reason = "its memories hardly speak of 'kestrel' (0.0%, others 20.0%), 'timeout' (0.0%, others 20.0%)"
    assert hints(workshop, KESTREL) == [("preference", False, reason)]
    answer = workshop.recall(KESTREL, recipe="recall")
    assert answer.query.type_hints == ()
    assert f"type preference is dropped: {reason}" in answer.explain()
    assert {hit.memory.type for hit in answer.hits[:2]} == {"fact"}
    runs = {run.route: run.reason for run in answer.routes}
    assert "of type" not in runs["lexical"]


def test_R2_a_type_whose_memories_speak_of_it_counts(workshop: Engine) -> None:
    workshop.check_drift()
    assert hints(workshop, "which tea do I prefer?") == [("preference", True, "'prefer' implies it")]


def test_R2_only_recipe_recall_asks_for_the_words_of_a_type(workshop: Engine) -> None:
    workshop.check_drift()
    for recipe in ("default", "memsense", "engram", "five-stage", "ditto"):
        assert hints(workshop, KESTREL, recipe) == [("preference", True, "'setting' implies it")]


def test_R2_words_that_nothing_has_decide_nothing(workshop: Engine) -> None:
    workshop.check_drift()
    assert [kept for _, kept, _ in hints(workshop, "what is my setting for the zeppelin?")] == [True]


def test_R2_the_densities_are_shares_of_the_memories_with_a_word(workshop: Engine) -> None:
    workshop.check_drift()
    saved = workshop.store.reader("default").admin.learned_value(TYPE_VOCABULARY)
    assert saved is not None
    assert "kestrel" not in str(saved)
    vocabulary = load_type_vocabulary("default", saved)
    assert vocabulary is not None
    assert vocabulary.memories == (10, 10, 0, 0, 0)
    tea, kestrel = vocabulary.densities("preference", ["tea", "kestrel", "kestrel", "zeppelin"])
    assert (tea.lexeme, tea.own, tea.others) == ("tea", 1.0, 0.8)
    assert tea.weight == pytest.approx(log(21 / 18.5))
    assert (kestrel.lexeme, kestrel.own, kestrel.others) == ("kestrel", 0.0, 0.2)
    assert kestrel.weight == pytest.approx(log(21 / 2.5))
    assert vocabulary.densities("event", ["tea"]) == ()
