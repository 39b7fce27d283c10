"""Which words met: pairs of words that stand where they say, for the stage and for the route of late interaction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import log, sqrt

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.protocols import SearchContext
from fivefold.retrieval.routes.late import LUCK_SHARE, SCORE_DEVIATION, late_scores, lucky_gain
from fivefold.values.recall import Recall
from fivefold.values.vectors import QuestionReading
from tests.conformance.vectors import WordVectors
from tests.support.toy_engine import toy

# Late interaction with the shipped model: in its own recipe, in the default, over long texts, and where it is off.

LONG = " ".join(f"Section {i} is about the usual upkeep of shelf {i} and says nothing else of note." for i in range(60))
KEY = "The spare key of the boathouse hangs behind the blue paint can."


@pytest.fixture(scope="module")
def boathouse() -> Iterator[Engine]:
    with fivefold.open(":memory:") as engine:
        engine.remember_many(
            [
                {"content": f"{LONG} {KEY} {LONG}", "id": "manual"},
                {"content": "We painted the boat green in June.", "id": "boat"},
                {"content": "Which colour did you paint it?", "speaker": "Ben", "session_id": "s", "id": "asked"},
                {"content": "Dark green, like my grandmother's.", "speaker": "Ana", "session_id": "s", "id": "told"},
                {"content": "The cat slept on the shelf all day.", "id": "cat"},
            ]
        )
        yield engine


def late_line(answer: Recall, id: str) -> str:
    hit = next(hit for hit in answer if hit.memory.id == id)
    return next(item.note or "" for item in hit.candidate.evidence if item.route == "late")


def test_the_default_recipe_names_the_words_that_met(boathouse: Engine) -> None:
    answer = boathouse.recall("what colour is the boat?")
    assert "“colour” ~ " in late_line(answer, "boat")
    hit = next(hit for hit in answer if hit.memory.id == "boat")
    assert hit.candidate.passage is not None
    for word in hit.candidate.passage.words:
        if word.start >= 0:
            assert hit.memory.content[word.start : word.end] == word.memory


def test_what_was_said_before_is_read_along(boathouse: Engine) -> None:
    """The answer shares no word with the question; the turn before it does."""
    answer = boathouse.recall("Which colour was it painted?", recipe="late")
    assert "asked" in [hit.memory.id for hit in answer]
    assert [hit.memory.id for hit in answer].index("told") < [hit.memory.id for hit in answer].index("cat")


def test_of_a_long_text_the_passage_that_matched_is_shown(boathouse: Engine) -> None:
    answer = boathouse.recall("where is the spare key of the boathouse?")
    hit = answer[0]
    assert hit.memory.id == "manual"
    found = hit.candidate.passage
    assert found is not None
    assert found.parts > 8
    assert "The spare key of the boathouse" in hit.memory.content[found.start : found.end]


def test_a_long_text_is_one_hit_and_not_found_for_being_long(boathouse: Engine) -> None:
    for recipe in ("default", "late", "dense"):
        answer = boathouse.recall("where did the cat sleep?", recipe=recipe)
        ids = [hit.memory.id for hit in answer]
        assert len(ids) == len(set(ids))
        assert ids[0] == "cat"


def test_more_passages_are_lowered_by_what_the_best_of_many_gains() -> None:
    assert lucky_gain(1, SCORE_DEVIATION) == 0.0
    assert lucky_gain(8, 0.1) == pytest.approx(LUCK_SHARE * 0.1 * sqrt(2 * log(8)))
    gains = [lucky_gain(count, SCORE_DEVIATION) for count in range(1, 40)]
    assert all(first < second for first, second in pairwise(gains))


def test_the_same_question_gives_the_same_scores(boathouse: Engine) -> None:
    first, second = (boathouse.recall("the green boat", recipe="late") for _ in range(2))
    assert [(hit.memory.id, hit.score) for hit in first] == [(hit.memory.id, hit.score) for hit in second]


def test_an_embedder_without_token_vectors_leaves_the_fused_order(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember_many(["green tea", "black tea", "a boat"])
        answer = engine.recall("green tea")
        run = next(run for run in answer.routes if run.route == "late")
        assert (run.status, run.reason) == ("skipped", "the namespace has no token vectors")
        assert not answer.degraded
        assert answer[0].memory.content == "green tea"
        alone = engine.recall("green tea", recipe="late")
        assert alone[0].memory.content == "green tea"


def test_memories_without_token_vectors_have_no_score(boathouse: Engine) -> None:
    reader = boathouse.store.reader("default")
    context = SearchContext(
        boathouse.understand("x"), reader, boathouse.settings, reader.search.vector_space(), boathouse_question()
    )
    assert late_scores(context, [987_654]) == {}
    assert late_scores(context, []) == {}


def boathouse_question() -> QuestionReading:
    from fivefold.models.embedders import embedder, read_question

    return read_question(embedder("fivefold-minilm"), "the boat")


def test_the_turns_next_to_the_best_become_candidates() -> None:
    """Dense search brings one turn, and late interaction the one next to it."""
    with fivefold.open(":memory:") as engine:
        engine.remember_many([f"note number {i} about gardens and hedges" for i in range(30)])
        engine.remember("What is the name of your boat?", speaker="Ben", session_id="s", id="asked")
        engine.remember("Kittiwake.", speaker="Ana", session_id="s", id="told")
        narrow = {"routes.dense.depth": 1, "routes.lexical.on": False, "routes.session_lexical.on": False}
        question = "what is the name of the boat?"
        for turns, found in ((0, 1), (1, 2)):
            answer = engine.recall(question, 1, overrides=narrow | {"routes.late.next_turns": turns})
            assert {run.route: run.found for run in answer.routes}["late"] == found


PARAGRAPH = "We looked at the vineyard paths above the river and compared the prices of the small hotels. "
LETTER = "\n\n".join(
    (PARAGRAPH * 6, PARAGRAPH * 7, f"The doctor says I am allergic to penicillin. {PARAGRAPH * 3}", "The end.")
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with fivefold.open(":memory:") as opened:
        opened.remember(LETTER, id="long", speaker="Freja")
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
    assert hit.text == LETTER[hit.passage.start : hit.passage.end] != LETTER
    (late,) = (item for item in hit.candidate.evidence if item.route == "late")
    assert late.note == hit.passage.describe()
    assert f"passage {hit.passage.part + 1} of {hit.passage.parts}; " in late.note
    assert hit.to_dict()["passage"]["words"] == [word.to_dict() for word in hit.passage.words]


def test_an_explanation_shows_what_matched_of_a_long_memory(engine: Engine) -> None:
    hit = next(hit for hit in engine.recall("What am I allergic to?") if hit.memory.id == "long")
    heading = hit.explain().splitlines()[0]
    assert "allergic to penicillin" in heading
    assert len(heading) < 400 < len(LETTER)
    by_words = engine.recall("vineyard hotels", recipe="lexical")[0]
    assert (by_words.memory.id, by_words.passage, by_words.text) == ("long", None, LETTER)
    assert len(by_words.explain().splitlines()[0]) < 400


def test_a_model_without_token_vectors_names_no_words() -> None:
    with fivefold.open(":memory:", embedder=WordVectors()) as plain:
        plain.remember("I am allergic to penicillin")
        assert [hit.passage for hit in plain.recall("What am I allergic to?")] == [None]
