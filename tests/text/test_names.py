from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold import sample
from fivefold.text import names
from fivefold.text.lexemes import common_words, stop_words
from fivefold.text.names import MAX_NAME_CHARACTERS, MAX_TOPICS, mentions
from fivefold.values.entities import Mention
from fivefold.values.memory import ROLES


def named(text: str, speaker: str | None = None) -> set[str]:
    return {item.name for item in mentions(text, speaker) if item.kind == "name"}


def of_kind(kind: str, text: str) -> list[str]:
    return [item.name for item in mentions(text) if item.kind == kind]


@pytest.mark.parametrize(
    "text",
    ["Priya has the keys", "I gave Priya the keys", "The keys are with Priya.", "Yes! Priya, of course", "(Priya)"],
)
def test_a_name_is_found_wherever_it_stands(text: str) -> None:
    assert named(text) == {"Priya"}


@pytest.mark.parametrize("name", ["Emily", "Kelly", "Fred", "Sterling"])
def test_a_name_that_ends_like_an_adverb_or_verb_is_found_at_the_start_of_a_sentence(name: str) -> None:
    assert name in named(f"{name} is my sister")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I met Priya Raman there", "Priya Raman"),
        ("She works for Halden Instruments Limited now", "Halden Instruments Limited"),
        ("Studied at the University of Leeds", "University of Leeds"),
        ("He plays Ludwig van Beethoven", "Ludwig van Beethoven"),
        ("We asked Jean-Luc Picard", "Jean-Luc Picard"),
        ("Bought it at Marks & Spencer", "Marks & Spencer"),
        ("On the way to Émile Zoë", "Émile Zoë"),
        ("Yesterday Sam Osei called", "Sam Osei"),
        ("She moved to New York", "New York"),
    ],
)
def test_names_of_several_words_stay_together(text: str, name: str) -> None:
    assert name in named(text)


@pytest.mark.parametrize(
    "text", ["Maya's bike", "the bike is Maya's", "Maya’s bike", "MAYA and Maya's", "James' and Maya"]
)
def test_a_possessive_is_the_name_itself(text: str) -> None:
    assert "maya" in {name.casefold() for name in named(text)}
    assert not any("'" in name or "’" in name for name in named(text))


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("See JIRA-9921 for it", "JIRA-9921"),
        ("policy MM-770-4426, renewal in May", "MM-770-4426"),
        ("My badge ID is E-47821.", "E-47821"),
        ("We set retry_backoff_ms to 250", "retry_backoff_ms"),
        ("Write to sam.osei@larkfield.example, please", "sam.osei@larkfield.example"),
        ("It is in /srv/kestrel/calibration/v3.toml.", "/srv/kestrel/calibration/v3.toml"),
        ("It is in ~/notes/today.md", "~/notes/today.md"),
        (r"It is in C:\Users\maya\notes.txt", r"C:\Users\maya\notes.txt"),
        ("We ship 2.14.0-rc3 today", "2.14.0-rc3"),
        ("Docs: https://example.org/docs/start.", "https://example.org/docs/start"),
        ("The booking is K7PQ2X", "K7PQ2X"),
        ("(JIRA-9921)", "JIRA-9921"),
    ],
)
def test_identifiers_are_found_by_their_shape(text: str, identifier: str) -> None:
    assert of_kind("identifier", text) == [identifier]


def test_the_words_of_an_identifier_are_not_named_besides() -> None:
    assert mentions("JIRA-9921 and sam.Osei@Larkfield.example") == (
        Mention("JIRA-9921", "identifier"),
        Mention("sam.Osei@Larkfield.example", "identifier"),
    )


@pytest.mark.parametrize("text", ["34", "in 2025", "3.5 kg", "at 9:30", "the 2nd", "COVID", "a_", "1/2"])
def test_plain_numbers_and_words_are_no_identifiers(text: str) -> None:
    assert of_kind("identifier", text) == []


def test_identifiers_are_those_of_the_bare_expression() -> None:
    for item in sample.memories():
        bare = {match[0].rstrip(".,").casefold() for match in names._IDENTIFIER.finditer(item["content"])}
        assert {name.casefold() for name in of_kind("identifier", item["content"])} == bare


def test_the_speaker_is_a_person() -> None:
    assert mentions("I like tea", "Maya") == (Mention("Maya", "person"),)
    assert mentions("Maya likes tea", "Maya") == (Mention("Maya", "person", 2),)


@pytest.mark.parametrize("role", sorted(ROLES | {role.title() for role in ROLES} | {"AI"}))
def test_a_role_is_no_person(role: str) -> None:
    assert mentions("I like tea", role) == ()


def test_topics_are_the_nouns_that_articles_lead_first() -> None:
    assert of_kind("topic", "near telescopes, the garden and my violin") == ["garden", "violin", "telescope"]


def test_topics_are_capped() -> None:
    text = "the telescope, the garden, my violin, our boat, a piano, the kettle and some marmalade"
    assert of_kind("topic", text) == ["telescope", "garden", "violin", "boat"]
    assert MAX_TOPICS == 4


@pytest.mark.parametrize(
    "text",
    [
        "However it is late",
        "Please call back",
        "Running late again",
        "Finally done",
        "Monday in March",
        "I am here. You are there.",
        "Thanks! Great! Okay.",
        "Yesterday it rained",
        "Where is it? What now?",
    ],
)
def test_common_words_are_not_taken_as_names(text: str) -> None:
    assert named(text) == set()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Weight 82 kg this morning", set()),
        ("Poker has moved to Fridays", set()),
        ("Custody: Mondays and Wednesdays with Melissa's lawyer", {"Melissa"}),
        ("Orthopedist appointment on Tuesday", set()),
        ("Gate code is 4471", set()),
        ("User prefers tea. User's sister is Ana.", {"Ana"}),
        ("Easter Colleen came over", {"Colleen"}),
        ("Driver Mike Sandoval called in sick", {"Mike Sandoval"}),
        ("Lake Erie is cold", {"Lake Erie"}),
        ("We are insured with Great Prairie Casualty", {"Great Prairie Casualty"}),
        ("I took Melissa's Subaru Outback", {"Melissa", "Subaru Outback"}),
        ("VISA IS IN MY PASSPORT", set()),
        ("Mensaje de Mike Sandoval", {"Mike Sandoval"}),
        ("My flatmates are Jo and Al", {"Jo"}),
        ("Ich habe die Wohnung in Berlin mit der Anna gesehen", {"Berlin", "Anna"}),
        ("Registration closes soon", set()),
        ("Eleven boxes to go, nine done", set()),
    ],
)
def test_names_are_those_a_person_would_list(text: str, names: set[str]) -> None:
    assert named(text) == names


def test_a_name_counts_once_for_each_time_it_is_said() -> None:
    assert mentions("Leeds, always Leeds, never LEEDS") == (Mention("Leeds", "name", 3),)


def test_a_title_is_no_part_of_a_name() -> None:
    assert named("I saw Dr Okafor and Mrs Lindqvist") == {"Okafor", "Lindqvist"}


@settings(deadline=None)
@given(
    st.text() | st.lists(st.sampled_from("Maya's Leeds E-47821 a_b I the The kettle . , x@y.zz".split())).map(" ".join)
)
def test_any_text_gives_each_mention_once(text: str) -> None:
    found = mentions(text, "Maya")
    assert len({item.name.casefold() for item in found}) == len(found)
    assert all(item.name.strip() and item.count >= 1 for item in found)
    assert sum(item.kind == "topic" for item in found) <= MAX_TOPICS


def test_no_common_or_stop_word_is_a_name_in_the_sample() -> None:
    for item in sample.memories():
        assert not {name.casefold() for name in named(item["content"])} & (common_words() | stop_words())


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "x1",
        "aB3.",
        "a_",
        "A ",
        "Bob ",
        "Bob-",
        "A of ",
        "@",
        "a@",
        "a@b.",
        "1.",
        "1,000",
        "/a",
        "C:\\a",
        "1.1.1-",
        "_",
        "'",
    ],
)
def test_a_text_that_repeats_itself_is_read_in_one_pass(piece: str) -> None:
    found = mentions(f"Priya, {piece * (100_000 // len(piece))}")
    assert Mention("Priya", "name") in found
    assert all(len(item.name) <= MAX_NAME_CHARACTERS for item in found)


def test_what_is_longer_than_a_name_is_passed_over_and_its_neighbours_are_found() -> None:
    long = "x_" * MAX_NAME_CHARACTERS
    assert mentions(
        f"Priya {long}y has {'Bob ' * MAX_NAME_CHARACTERS}and the {'kettle' * MAX_NAME_CHARACTERS} E-47821"
    ) == (Mention("E-47821", "identifier"), Mention("Priya", "name"))
