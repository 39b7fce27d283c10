from __future__ import annotations

import pytest

from fivefold.engine import Engine


@pytest.fixture
def office(engine: Engine) -> Engine:
    engine.remember_many(
        [
            "Sarah Chen likes tea",
            "Tom Okafor likes coffee",
            "Quellwyn likes cocoa",
            "Bredworth likes juice",
            "Porto is rainy",
            "The Berlin Office has a new kitchen",
            "Kestrel needs a gasket",
            "Nightjar needs paint",
            "Tom Okafor owns Kestrel",
            "Marco works at Volvo",
            "JIRA-9921 needs a review",
            "My sister Ana likes wine",
        ]
    )
    return engine


def meant(engine: Engine, question: str, *turns: str) -> list[str]:
    """Whom or what the pronouns of the question mean."""
    return [ref.name for ref in engine.understand(question, history=turns).entities if ref.via.startswith("refers")]


@pytest.mark.parametrize("name", ["Sarah", "Sarah Chen", "Quellwyn"])
@pytest.mark.parametrize(
    "turn",
    [
        "I spoke to {} today",
        "I got an email from {}",
        "I had a call with {} at nine",
        "I met {} after work",
        "I saw {} on Friday",
        "Yesterday I wrote to {}",
        "There was a letter from {}",
        "I had lunch with {}",
        "{} called me",
        "I asked {} for the keys",
        "I have news from {}",
        "Did I tell you that {} is back?",
    ],
)
def test_she_is_the_woman_who_was_spoken_to_or_heard_from(office: Engine, turn: str, name: str) -> None:
    whole = "Sarah Chen" if name.startswith("Sarah") else name
    assert meant(office, "what does she like?", turn.format(name)) == [whole]


@pytest.mark.parametrize("turn", ["We talked about {}", "I have a photo of {}", "What do you think of {}?"])
def test_who_is_spoken_about_stays_a_person(office: Engine, turn: str) -> None:
    assert meant(office, "what does she like?", turn.format("Sarah")) == ["Sarah Chen"]


@pytest.mark.parametrize(
    "turn",
    [
        "I was in {} last week",
        "We moved to {}",
        "I flew back from {}",
        "The train to {} was late",
        "We met at {}",
        "I live near {}",
        "We visited {}",
    ],
)
@pytest.mark.parametrize("name", ["Porto", "the Berlin Office"])
def test_there_is_the_place_somebody_was_in_or_went_to(office: Engine, turn: str, name: str) -> None:
    assert meant(office, "what is new there?", turn.format(name)) == [name.removeprefix("the ")]


@pytest.mark.parametrize(
    "turn",
    [
        "We talked about {}",
        "I work on {} now",
        "The project {} is late",
        "I spent the day on {}",
        "We shipped {} on Monday",
        "The status of {} is red",
    ],
)
@pytest.mark.parametrize("name", ["Kestrel", "Nightjar", "JIRA-9921"])
def test_that_project_is_the_thing_somebody_works_on(office: Engine, turn: str, name: str) -> None:
    assert meant(office, "what does that project need?", turn.format(name)) == [name]


def test_he_is_no_woman_and_she_no_man(office: Engine) -> None:
    turns = ("I met Tom yesterday.", "Then I spoke to Sarah.")
    assert meant(office, "what does he like?", *turns) == ["Tom Okafor"]
    assert meant(office, "what does she like?", *turns) == ["Sarah Chen"]
    assert meant(office, "what do they like?", *turns) == ["Sarah Chen"]


def test_a_relative_of_the_turns_before_is_a_person(office: Engine) -> None:
    assert meant(office, "what does she like?", "I called my sister yesterday") == ["Ana"]


def test_there_is_also_where_somebody_works(office: Engine) -> None:
    assert meant(office, "who works there?", "Marco told me about Volvo") == ["Volvo"]


def test_there_is_is_no_place(office: Engine) -> None:
    assert meant(office, "is there any news?", "I was in Porto") == []
    assert meant(office, "what's there to eat?", "I was in Porto") == ["Porto"]


CONTEXTS = (
    "I spoke to {} today",
    "I got an email from {}",
    "We talked about {}",
    "What do you think of {}?",
    "I have a photo of {}",
    "I heard from {}",
    "Let me tell you about {}",
    "There was a message from {}",
    "{} came up again",
    "I remember {} well",
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("what does she like?", "Sarah Chen"),
        ("what does she like?", "Quellwyn"),
        ("what is new there?", "Porto"),
        ("what is new there?", "Berlin Office"),
        ("what does that project need?", "Kestrel"),
        ("what does that project need?", "Nightjar"),
    ],
)
def test_R1_a_pronoun_finds_its_name_in_ten_plain_contexts(office: Engine, question: str, name: str) -> None:
    missed = [turn for turn in CONTEXTS if meant(office, question, turn.format(name)) != [name]]
    assert missed == []


def test_R1_a_name_that_surely_is_something_else_is_not_meant(office: Engine) -> None:
    assert meant(office, "what is new there?", "I spoke to Sarah today") == []
    assert meant(office, "what does she like?", "We talked about JIRA-9921") == []
    assert meant(office, "what does she like?", "I got an email from Tom") == []


def test_R1_a_name_that_fits_comes_before_one_that_only_may(office: Engine) -> None:
    turns = ("I spoke to Quellwyn about Porto",)
    assert meant(office, "what does she like?", *turns) == ["Quellwyn"]
    assert meant(office, "what is new there?", *turns) == ["Porto"]


def test_R1_types_are_implied_after_the_parse(office: Engine) -> None:
    office.remember_many([{"content": f"I prefer seat {number}", "type": "preference"} for number in range(6)])
    question = "which seat do I prefer?"
    assert office.understand(question).type_hints == ()
    assert office.recall(question).query.type_hints == ("preference",)
    assert [(hint.type, hint.kept) for hint in office.plan(question).type_hints] == [("preference", True)]
