from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.text.names import mentions
from fivefold.values.entities import Extraction, Mention
from fivefold.values.memory import TYPES, Record, Type
from fivefold.writing.extract import Rules, importance, memory_score

named = st.lists(
    st.builds(Mention, st.text(min_size=1), st.sampled_from(["person", "name", "identifier", "topic"])), max_size=40
).map(tuple)

SMALL_TALK = [
    "ok",
    "Thanks!",
    "haha nice one",
    "Good morning to you",
    "Sounds good, see you",
    "Sure, no problem",
    "yes",
]
STATEMENTS = [
    "My badge ID is E-47821 and the card is in the other coat",
    "I prefer morning meetings, nine to eleven if possible",
    "I moved from Leeds to Bristol to work with Priya Raman",
    "I'm allergic to penicillin, says Dr Okafor",
]


def read(text: str) -> Extraction:
    return Rules().extract(Record(content=text, speaker="user"))


@settings(deadline=None)
@given(st.text(), st.sampled_from(TYPES), named, st.booleans())
def test_worth_lies_between_0_and_1(text: str, kind: Type, found: tuple[Mention, ...], states: bool) -> None:
    assert 0 <= importance(text, kind, found, states) <= 1
    assert 0 <= memory_score(text, found) <= 1


@pytest.mark.parametrize("talk", SMALL_TALK)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_small_talk_is_worth_less_than_a_statement(talk: str, statement: str) -> None:
    assert read(talk).importance < read(statement).importance
    assert read(talk).memory_score < read(statement).memory_score


def test_a_question_is_worth_less_than_its_answer() -> None:
    asked, told = "Does Daniel live in Bristol near the harbour?", "Daniel does live in Bristol near the harbour."
    found = mentions(told)
    assert importance(asked, "fact", found, False) < importance(told, "fact", found, False)
    assert memory_score(asked, found) < memory_score(told, found)


def test_what_is_named_stated_or_counted_matters_more() -> None:
    text = "the kettle stands beside the window there"
    bare = importance(text, "fact", (), False)
    assert bare < importance(text, "fact", (Mention("Leeds", "name"),), False)
    assert bare < importance(text, "fact", (), True)
    assert bare < importance(f"{text} 42", "fact", (), False)
    assert bare == importance(text, "fact", (Mention("kettle", "topic"),), False)


def test_preferences_matter_more_than_plain_facts() -> None:
    by_type = {kind: importance("one two three four five six", kind, (), False) for kind in TYPES}
    assert max(by_type, key=lambda kind: by_type[kind]) == "preference"
    assert min(by_type, key=lambda kind: by_type[kind]) == "fact"


def test_importance_by_hand() -> None:
    # 0.3 + 0.05 fact + 0.07 one name + 0.1 figure + 0.15 statement + 0.05 first person
    found = (Mention("E-47821", "identifier"), Mention("badge", "topic"))
    assert importance("My badge ID is E-47821", "fact", found, True) == 0.72


def test_memory_score_by_hand() -> None:
    # 0.4 · 6/12 long + 0.4 · (2 · 0.25 + 0.25) specific + 0.2 statement
    found = (Mention("Leeds", "name"), Mention("house", "topic"))
    assert memory_score("the house in Leeds has 3", found) == 0.7


def test_a_very_long_text_is_about_too_much() -> None:
    assert memory_score("word " * 300, ()) < memory_score("word " * 40, ())
