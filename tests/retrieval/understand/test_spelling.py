"""Typing errors that are mended, and words that stay as they are."""

from __future__ import annotations

import pytest

from fivefold.engine import Engine
from fivefold.retrieval.understand.spelling import Change, Mended, mend
from fivefold.values.query import EntityRef


@pytest.fixture
def home(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "The password of the wifi is Kormoran-77",
            "The electricity meter has the number 4711",
            "Ledbetter Steel pays 2.10 a mile",
            "We fly to Amsterdam on Saturday",
            "Szczecin has a lovely harbour",
            "The gate code of the garden is 5150",
            "Dr. Sørensen is my family doctor",
            "Pavel repairs our boiler, and my wife likes him",
            "The delivery address is Elm Road 4",
        ]
    )
    return engine


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("whats teh wfi pasword", "whats the wifi password"),
        ("elctricity meter nubmer", "electricity meter number"),
        ("wat is the gaet code of the gardn", "what is the gate code of the garden"),
        ("when do we fly to amstredam", "when do we fly to amsterdam"),
        ("what is szczezin like", "what is szczecin like"),
        ("who is my famly docter", "who is my family doctor"),
        ("wat does led better pay", "what does Ledbetter Steel pay"),
        ("delivry adress", "delivery address"),
        ("what about saterday", "what about saturday"),
        ("the wifipassword", "the wifi password"),
        ("is Amsterdm far", "is Amsterdam far"),
    ],
)
def test_typing_errors_are_mended(home: Engine, typed: str, meant: str) -> None:
    query = home.understand(typed)
    assert query.reading == meant
    assert query.to_read == meant
    assert any("read as" in line for line in query.describe())


@pytest.mark.parametrize(
    "question",
    [
        "what is the wifi password?",
        "where is the babysitter from",
        "who is our realtor",
        "does the parser handle JSONL",
        "what about Zebediah",
        "where is order AMSTREDAM-7",
        'what does "pasword" mean',
        "mail pasword@example.org please",
        "the file pasword.txt",
        "what is 4711",
        "paediatrician for Pavel",
    ],
)
def test_what_is_right_or_no_word_stays(home: Engine, question: str) -> None:
    assert home.understand(question).reading == ""


def test_the_mended_words_are_searched_with_those_that_were_typed(home: Engine) -> None:
    words = home.understand("elctricity nubmer").lexemes
    assert {"electr", "number", "nubmer"} <= set(words)


def test_a_mended_question_finds_its_memory(home: Engine) -> None:
    answer = home.recall("elctricity metre nubmer", k=1, recipe="lexical")
    assert "4711" in answer.hits[0].memory.content


def test_names_and_demands_stand_where_they_were_typed(home: Engine) -> None:
    query = home.understand("wehn do we fly to amstredam now")
    assert [(ref.text, ref.name) for ref in query.entities] == [("amstredam", "Amsterdam")]
    assert all(query.text[item.start : item.start + len(item.text)] == item.text for item in query.demands)
    assert {item.text for item in query.demands} == {"now"}


def test_places_of_a_mended_text_are_found_again() -> None:
    mended = Mended("the wifi password now", (Change(0, 3, "the"), Change(4, 7, "wifi"), Change(8, 15, "password")))
    assert mended.origin(4, 8) == (4, 7)
    assert mended.origin(9, 17) == (8, 15)
    assert mended.origin(18, 21) == (16, 19)
    assert mended.origin(4, 17) == (4, 15)


def test_a_word_that_was_forgotten_is_not_guessed(engine: Engine) -> None:
    engine.remember("Szczecin has a lovely harbour", id="harbour")
    assert engine.understand("what is szczezin like").reading == "what is szczecin like"
    engine.forget("harbour")
    assert engine.understand("what is szczezin like").reading == ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ['born " ', "`week; ", "“;’x-x ", "'tis ", "«a ", 'Ana "tea" \''])
def test_a_long_text_with_many_quotation_marks_is_read_in_linear_time(piece: str, home: Engine) -> None:
    """Ten times the longest question: what grows with the square of the length does not come to an end."""
    text = piece * (1_000_000 // len(piece))
    assert mend(text, [EntityRef("Ana", 0, ())], home._namespace.reader).text == text
