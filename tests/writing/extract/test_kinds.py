from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.values.memory import FACETS, TYPES, Facet, Type
from fivefold.writing.extract import facets_of, type_of
from fivefold.writing.extract.statements import Assertions, Claim, fits, is_state
from tests.support.type_cases import NO_PROCEDURES, TYPE_CASES


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("preference", "I prefer morning meetings"),
        ("preference", "My favourite colour is green"),
        ("preference", "I really love jazz"),
        ("preference", "We always enjoy a long walk"),
        ("preference", "I can't stand coriander"),
        ("preference", "I can’t stand coriander"),
        ("preference", "I’d rather take the train"),
        ("preference", "I'm not a fan of open offices"),
        ("preference", "Daniel prefers oat milk"),
        ("preference", "Window seats are my go-to, my usual is 12A"),
        ("preference", "I don't like coriander"),
        ("preference", "We do not enjoy crowds"),
        ("event", "I went to Paris with Daniel"),
        ("event", "We met Priya at the station"),
        ("event", "The crew launched Kestrel on the Frome"),
        ("event", "She got promoted"),
        ("event", "I had a checkup"),
        ("event", "The dentist appointment is tomorrow"),
        ("event", "My flight is on Friday"),
        ("event", "The conference starts 14 October"),
        ("event", "Tofu the cat died last night"),
        ("event", "Grandpa passed away"),
        ("event", "Freja was born in Gothenburg"),
        ("entity", "Priya is my manager"),
        ("entity", "Daniel Reyes is a nurse"),
        ("entity", "Kestrel was the second river sensor"),
        ("entity", "That tall man is our colleague"),
        ("procedure", "How to reset the boiler: hold the button"),
        ("procedure", "First open the valve, then press the switch"),
        ("procedure", "To flash the board, hold the button"),
        ("procedure", "When you restart the pump, slowly turn the red tap"),
        ("procedure", "Step 2 is the long one"),
        ("procedure", "The runbook is in the wiki"),
        ("procedure", "To reset the ward printer: hold the button, then press start"),
        ("procedure", "To flash a board: first unplug the battery"),
        ("fact", "To do this week: taxes"),
        ("fact", "Remind me to renew my passport before 30 June 2026"),
        ("fact", "My badge ID is E-47821"),
        ("fact", "The office is in Leeds"),
        ("fact", "Water boils at 100 degrees"),
        ("fact", "I live in Leeds"),
        ("fact", "It looks like rain"),
        ("fact", ""),
    ],
)
def test_wordings_tell_the_type(kind: Type, text: str) -> None:
    assert type_of(text) == kind


def test_a_preference_outranks_an_event_and_a_procedure_both() -> None:
    assert type_of("I went there and I love it") == "preference"
    assert type_of("How to make what I love") == "procedure"


@pytest.mark.parametrize(
    ("facet", "text"),
    [
        ("personal_info", "My name is Maya"),
        ("personal_info", "I live in Leeds"),
        ("personal_info", "I’m 34"),
        ("personal_info", "My sister has two kids"),
        ("preferences", "I prefer tea"),
        ("preferences", "My favorite food is soup"),
        ("preferences", "I hate early flights"),
        ("events", "I bought a bike"),
        ("events", "The race is on Sunday"),
        ("events", "We visited Bath last week"),
    ],
)
def test_wordings_tell_the_facet(facet: Facet, text: str) -> None:
    assert facets_of(text) == {facet: text}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TYPE_CASES.items() for text in texts])
def test_types_of_everyday_texts(kind: Type, text: str) -> None:
    assert type_of(text) == kind


@pytest.mark.parametrize("text", NO_PROCEDURES)
def test_a_procedure_says_what_to_do_and_an_entity_who_it_is(text: str) -> None:
    assert type_of(text) not in ("procedure", "entity")


@pytest.mark.parametrize("text", ["I'm allergic to penicillin", "I'm vegan", "I have a nut allergy. The sky is grey."])
def test_what_a_person_cannot_have_is_found_with_what_they_like(text: str) -> None:
    assert facets_of(text)["preferences"] == text.split(".", maxsplit=1)[0] + "." * ("." in text)


def test_each_facet_holds_its_own_sentences() -> None:
    text = "My name is Maya. I prefer tea. The sky is grey! We visited Bath.\nI love jazz"
    assert facets_of(text) == {
        "personal_info": "My name is Maya.",
        "preferences": "I prefer tea. I love jazz",
        "events": "We visited Bath.",
    }


def test_a_facet_nobody_spoke_of_is_absent() -> None:
    assert facets_of("The sky is grey.") == {}
    assert facets_of("") == {}


def test_questions_are_no_facets() -> None:
    assert facets_of("Did I tell you that I prefer tea?") == {}
    assert facets_of("Do you know my name? I live in Leeds.") == {"personal_info": "I live in Leeds."}


@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from("I prefer went . ? my name the\n first then".split(" "))).map(" ".join))
def test_any_text_has_a_type_and_bounded_facets(text: str) -> None:
    assert type_of(text) in TYPES
    facets = facets_of(text)
    assert set(facets) <= set(FACETS)
    assert all(said and len(said) <= 600 for said in facets.values())


def test_long_facets_are_cut() -> None:
    assert len(facets_of("I prefer tea. " * 200)["preferences"]) == 600


@pytest.mark.parametrize("claim", ["now", "change", "place"])
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("X", True),
        ("Hello. X. Bye?", True),
        ("I never do that, X", True),
        ("X, if you ask me", True),
        ("Update: X", True),
        ("X?", False),
        ("X, you know?!", False),
        ("If so, X", False),
        ("I wish X", False),
        ("It is not true that X", False),
        ("He said that X", False),
        ("Ana: hello. X", False),
        ("She wrote “hello. X”", False),
        ("> X", False),
        ("X any more", False),
    ],
)
def test_a_sentence_tells_what_holds_or_does_not(text: str, holds: bool, claim: Claim) -> None:
    start = text.index("X")
    assert Assertions(text, "user").holds(start, start + 1, claim) == holds


@pytest.mark.parametrize(
    ("after", "claims"),
    [
        (" in 2010", {"now"}),
        (" as a child", {"now"}),
        (" next week", {"now", "change"}),
        (" on Sunday", {"now", "change", "place"}),
    ],
)
def test_what_became_so_is_asked_when(after: str, claims: set[Claim]) -> None:
    told = Assertions("X" + after, "user")
    kinds: tuple[Claim, ...] = ("now", "change", "place")
    assert {claim for claim in kinds if told.holds(0, 1, claim)} == claims


@pytest.mark.parametrize(
    "value", ["expired", "not E-1", "a great way", "almost completely filled", "too long", "hopeless"]
)
def test_states(value: str) -> None:
    assert is_state(value)


@pytest.mark.parametrize("value", ["red", "abc", "Lucky", "a Saab", "45 seconds", "", "family"])
def test_values(value: str) -> None:
    assert not is_state(value)


@pytest.mark.parametrize(
    ("attribute", "value", "timed", "cued", "fit"),
    [
        ("budget", "45,000", False, False, True),
        ("budget", "forty thousand", False, False, True),
        ("budget", "a joke", False, False, False),
        ("e-mail", "a mess", False, False, False),
        ("badge id", "E-1", False, False, True),
        ("badge id", "somewhere near", False, False, False),
        ("deadline", "Friday", False, False, False),
        ("deadline", "Friday", False, True, True),
        ("deadline", "in May", False, False, True),
        ("meeting", "3pm", True, False, False),
        ("meeting", "3pm", True, True, True),
        ("stand-up", "9:30", True, False, True),
    ],
)
def test_attributes_ask_for_values_of_their_shape(
    attribute: str, value: str, timed: bool, cued: bool, fit: bool
) -> None:
    assert fits(attribute, value, timed, cued) == fit
