"""Questions that follow others are written out, so that they can be read alone."""

from __future__ import annotations

import pytest

from fivefold.engine import Engine
from fivefold.retrieval.understand.question import LONGEST, written_out


@pytest.fixture
def friends(engine: Engine) -> Engine:
    engine.remember_many(["Lena Brandt moved to Husum", "Karim met Lena Brandt in Husum", "Malte has a boat"])
    return engine


@pytest.mark.parametrize(
    ("question", "reading"),
    [
        ("and when is she back?", "and when is Lena back?"),
        ("what is her job?", "what is Lena's job?"),
        ("did I call her?", "did I call Lena?"),
    ],
)
def test_a_pronoun_becomes_the_name(friends: Engine, question: str, reading: str) -> None:
    assert friends.understand(question, history=["How is Lena doing?"]).reading == reading


def test_what_cannot_be_named_is_read_after_the_turn_before(friends: Engine) -> None:
    history = ["What did the dentist do?", "He put a crown on the lower left molar."]
    assert friends.understand("How much did that cost?", history=history).reading == (
        "He put a crown on the lower left molar. How much did that cost?"
    )


def test_a_short_answer_comes_with_its_question() -> None:
    history = ("Have I been paged at night?", "Yes, twice.")
    assert written_out("what was wrong the second time?", (), history) == " ".join(
        (*history, "what was wrong the second time?")
    )


@pytest.mark.parametrize(
    "question", ["Where do I live?", "is there anything on Friday?", "what did I say that I would buy"]
)
def test_a_question_of_its_own_stays(friends: Engine, question: str) -> None:
    assert friends.understand(question, history=["How is Lena doing?"]).reading == ""


def test_without_turns_before_nothing_is_written(friends: Engine) -> None:
    assert friends.understand("when is she back?").reading == ""


def test_a_long_turn_is_cut() -> None:
    assert len(written_out("how is it?", (), ("word " * 500,))) <= LONGEST + len(" how is it?")


def test_the_words_of_the_reading_are_searched(friends: Engine) -> None:
    assert "lena" in friends.understand("when is she back?", history=["How is Lena doing?"]).lexemes
