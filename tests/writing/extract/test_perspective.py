from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.values.entities import Statement
from fivefold.writing.extract.statements import as_first_person, statements


@pytest.mark.parametrize("speaker", [None, "user", "assistant"])
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("The user lives in Leeds", Statement("user", "lives in", "Leeds")),
        ("User moved to Bristol last week", Statement("user", "lives in", "Bristol", True)),
        ("The user has moved to Porto", Statement("user", "lives in", "Porto", True)),
        ("The user works at Volvo", Statement("user", "works at", "Volvo")),
        ("User joined Volvo as an engineer", Statement("user", "works at", "Volvo", True)),
        ("The user is 41 years old", Statement("user", "age", "41")),
        ("User is 41.", Statement("user", "age", "41")),
        ("The user turned 41 yesterday", Statement("user", "age", "41", True)),
        ("The user's address is 12 Elm Street", Statement("user", "address", "12 Elm Street")),
        ("User's phone number is 419-555-0187", Statement("user", "phone number", "419-555-0187")),
        ("The user's rent went up to 950", Statement("user", "rent", "950", True)),
        ("the user's boss is Tom", Statement("user", "boss", "Tom")),
        ("The user now prefers tea", Statement("user", "prefers tea", "tea", True)),
        ("Derek lives in Mansfield", Statement("derek", "lives in", "Mansfield")),
    ],
)
def test_the_user_is_the_subject_whoever_writes(text: str, statement: Statement, speaker: str | None) -> None:
    assert statements(text, speaker) == (statement,)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("You moved to Leeds", Statement("user", "lives in", "Leeds", True)),
        ("You said your budget is 300 euros", Statement("user", "budget", "300 euros")),
        ("Your badge ID is E-47821", Statement("user", "badge id", "E-47821")),
        ("Noted: your new dentist is Dr. Fuentes.", Statement("user", "dentist", "Dr. Fuentes", True)),
        ("Got it, your rent is 900 now.", Statement("user", "rent", "900", True)),
        ("You're 41.", Statement("user", "age", "41")),
    ],
)
def test_an_assistant_speaks_to_its_user(text: str, statement: Statement) -> None:
    assert statements(text, "assistant") == (statement,)
    assert statements(text, "user") == ()


@pytest.mark.parametrize(
    "text",
    [
        "I live in Paris",
        "We moved to Bath",
        "My favourite colour is green",
        "The total is 45 euros",
        "If you moved to Leeds, your rent is 300",
        "Is your badge ID E-1?",
        "You'll move to Leeds",
        "I think your rent is 900",
        "Maybe you live in Leeds",
        "You could work at Volvo",
    ],
)
def test_an_assistant_claims_nothing_of_itself_and_nothing_uncertain(text: str) -> None:
    assert statements(text, "assistant") == ()


@pytest.mark.parametrize(
    "text", ["The user guide is at 12 Elm Street", "User story 4 is done", "the users live in Leeds"]
)
def test_other_users_are_not_the_user(text: str) -> None:
    assert as_first_person(text, "user") == text


def test_a_named_speaker_speaks_of_somebody_else_as_the_user() -> None:
    assert statements("The user's address is 12 Elm Street", "Maya") != statements(
        "My address is 12 Elm Street", "Maya"
    )


@settings(deadline=None)
@given(st.text(), st.sampled_from([None, "assistant", "Maya"]))
def test_any_text_is_read(text: str, speaker: str | None) -> None:
    as_first_person(text, speaker)
