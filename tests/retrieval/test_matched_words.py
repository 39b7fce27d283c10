"""Which words met: pairs of words that stand where they say, for the stage and for the route of late interaction."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fivefold
from fivefold.engine import Engine
from tests.conformance.vectors import WordVectors

PARAGRAPH = "We looked at the vineyard paths above the river and compared the prices of the small hotels. "
LONG = "\n\n".join(
    (PARAGRAPH * 6, PARAGRAPH * 7, f"The doctor says I am allergic to penicillin. {PARAGRAPH * 3}", "The end.")
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with fivefold.open(":memory:") as opened:
        opened.remember(LONG, id="long", speaker="Freja")
        opened.remember("Is penicillin a medicine?", id="before", speaker="Jonas", session_id="s", turn_index=0)
        opened.remember("Yes, and I am allergic to it", id="after", speaker="Freja", session_id="s", turn_index=1)
        opened.remember("I take my tea without milk", id="tea", speaker="Freja")
        yield opened


@pytest.mark.parametrize("recipe", ["default", "late"])
def test_words_stand_where_they_say(engine: Engine, recipe: str) -> None:
    answer = engine.recall("Which medicine is Freja allergic to?", recipe=recipe)
    assert {hit.memory.id for hit in answer} == {"long", "before", "after", "tea"}
    for hit in answer:
        assert hit.passage is not None
        for word in hit.passage.words:
            assert word.question in answer.query.text
            if word.start >= 0:
                assert hit.memory.content[word.start : word.end] == word.memory
                assert hit.passage.start <= word.start < word.end <= hit.passage.end
    pairs = {(hit.memory.id, word.question, word.memory) for hit in answer for word in hit.passage.words}  # type: ignore[union-attr]
    assert {("long", "allergic", "allergic"), ("after", "allergic", "allergic")} <= pairs


def test_a_word_outside_of_the_content_has_no_place_in_it(engine: Engine) -> None:
    answer = engine.recall("Which medicine is Freja allergic to?")
    (after,) = (hit for hit in answer if hit.memory.id == "after")
    assert after.passage is not None
    outside = [word for word in after.passage.words if word.start < 0]
    assert {word.memory for word in outside} & {"Freja", "medicine", "penicillin"}
    assert all((word.start, word.end) == (-1, -1) for word in outside)


@pytest.mark.parametrize("recipe", ["default", "late"])
def test_the_passage_that_matched_is_at_hand(engine: Engine, recipe: str) -> None:
    hit = next(hit for hit in engine.recall("What am I allergic to?", recipe=recipe) if hit.memory.id == "long")
    assert hit.passage is not None
    assert "allergic to penicillin" in hit.text
    assert hit.text == LONG[hit.passage.start : hit.passage.end] != LONG
    (late,) = (item for item in hit.candidate.evidence if item.route == "late")
    assert late.note == hit.passage.describe()
    assert f"passage {hit.passage.part + 1} of {hit.passage.parts}; " in late.note
    assert hit.to_dict()["passage"]["words"] == [word.to_dict() for word in hit.passage.words]


def test_an_explanation_shows_what_matched_of_a_long_memory(engine: Engine) -> None:
    hit = next(hit for hit in engine.recall("What am I allergic to?") if hit.memory.id == "long")
    heading = hit.explain().splitlines()[0]
    assert "allergic to penicillin" in heading
    assert len(heading) < 400 < len(LONG)
    by_words = engine.recall("vineyard hotels", recipe="lexical")[0]
    assert (by_words.memory.id, by_words.passage, by_words.text) == ("long", None, LONG)
    assert len(by_words.explain().splitlines()[0]) < 400


def test_a_model_without_token_vectors_names_no_words() -> None:
    with fivefold.open(":memory:", embedder=WordVectors()) as plain:
        plain.remember("I am allergic to penicillin")
        assert [hit.passage for hit in plain.recall("What am I allergic to?")] == [None]
