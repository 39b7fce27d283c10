"""What a recall may be asked for: the chances of its hits, and the least one that a hit must have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe_file import known_recipes
from tests.conformance.vectors import WordVectors

TEXTS = ("My badge ID is 4471", "I live in Leeds", "I take my tea without milk", "Sarah likes tea with lemon")
RECORDS = [
    {"id": text.split()[-1], "content": text, "event_at": f"2025-01-{day:02}T09:00Z"}
    for day, text in enumerate(TEXTS, 6)
]
"""Each has a day of its own: of two that were said at one time, the one written later counts as the newer."""
ASKED = "what is my badge ID?"
NOW = "2025-02-01T00:00Z"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with fivefold.open(":memory:") as engine:
        engine.remember_many(RECORDS)
        yield engine


@pytest.mark.parametrize("question", [ASKED, "how do I take my tea?", "what colour is the moon?", "?"])
def test_every_hit_and_the_recall_have_a_chance(engine: Engine, question: str) -> None:
    answer = engine.recall(question, now=NOW)
    assert answer.chance is not None
    chances = [answer.chance, *(hit.chance for hit in answer)]
    assert all(chance is not None and 0 <= chance <= 1 for chance in chances)
    again = engine.recall(question, now=NOW)
    assert [again.chance, *(hit.chance for hit in again)] == chances


def test_the_order_of_writing_changes_no_chance(engine: Engine) -> None:
    with fivefold.open(":memory:") as other:
        other.remember_many(RECORDS[::-1])
        there = {hit.memory.id: hit.chance for hit in other.recall(ASKED, now=NOW)}
    assert there == pytest.approx({hit.memory.id: hit.chance for hit in engine.recall(ASKED, now=NOW)}, abs=1e-5)


def test_in_an_empty_store_nothing_is_found() -> None:
    with fivefold.open(":memory:") as engine:
        answer = engine.recall(ASKED)
    assert (answer.found, answer.chance, len(answer)) == (False, 0.0, 0)
    assert "nothing stored seems to answer: 0 %" in answer.explain()


def test_json_and_the_explanation_have_the_chances(engine: Engine) -> None:
    answer = engine.recall(ASKED, overrides={"select.chance.found": 1.0})
    data = answer.to_dict()
    assert (data["chance"], data["found"]) == (answer.chance, False)
    assert [hit["chance"] for hit in data["hits"]] == [hit.chance for hit in answer]
    assert answer.chance is not None
    assert f"nothing stored seems to answer: {min(99, round(100 * answer.chance))} %" in answer.explain()
    assert all("% that it answers" in hit.explain() for hit in answer)


def test_hits_below_the_least_chance_are_dropped_with_the_reason(engine: Engine) -> None:
    every = engine.recall(ASKED, now=NOW)
    most = max(hit.chance or 0 for hit in every)
    answer = engine.recall(ASKED, min_chance=most, now=NOW)
    assert [hit.chance for hit in answer] == [most]
    assert {item.id: item.stage for item in answer.dropped} == {
        hit.memory.id: "min_chance" for hit in every if hit.memory.id != answer[0].memory.id
    }
    assert len(engine.recall(ASKED, min_chance=0)) == len(every)
    none = engine.recall(ASKED, min_chance=1)
    assert (len(none), none.found) == (0, False)
    assert engine.context(ASKED, min_chance=1).sources == ()


def test_a_least_chance_works_with_any_embedder() -> None:
    with fivefold.open(":memory:", embedder=WordVectors()) as engine:
        engine.remember("My badge ID is 4471")
        assert len(engine.recall(ASKED, min_chance=0)) == 1
        assert len(engine.recall(ASKED, min_chance=1)) == 0


@pytest.mark.parametrize("recipe", [name for name in known_recipes() if name != "default"])
def test_other_recipes_give_no_chances_and_refuse_a_least_one(engine: Engine, recipe: str) -> None:
    answer = engine.recall(ASKED, recipe=recipe)
    assert (answer.chance, answer.found) == (None, bool(answer.hits))
    assert {hit.chance for hit in answer} <= {None}
    assert "seems to answer" not in answer.explain()
    with pytest.raises(InvalidInput, match=f"min_chance needs a recipe .* {recipe!r} does not have; use 'default'"):
        engine.recall(ASKED, recipe=recipe, min_chance=0.5)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, True, "0.5", float("nan")])
def test_a_least_chance_is_a_share(engine: Engine, wrong: object) -> None:
    with pytest.raises(InvalidInput, match="min_chance must be"):
        engine.recall(ASKED, min_chance=wrong)  # type: ignore[arg-type]


def test_without_its_stage_the_default_recipe_gives_no_chance(engine: Engine) -> None:
    assert engine.recall(ASKED, overrides={"select.chance.on": False}).chance is None
    with pytest.raises(InvalidInput, match="stage 'chance'"):
        engine.recall(ASKED, overrides={"select.chance.on": False}, min_chance=0.5)
