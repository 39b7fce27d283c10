""""""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.values.entities import Correction, Statement
from fivefold.writing.extract.statements import (
    as_first_person,
    predicate_of,
    refers_back,
    same_value,
    single_valued,
    statements,
)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("I live in Leeds", Statement("user", "lives in", "Leeds")),
        ("I'm living in New York these days", Statement("user", "lives in", "New York")),
        ("We live in the Netherlands", Statement("user", "lives in", "Netherlands")),
        ("Daniel lives in Bristol", Statement("daniel", "lives in", "Bristol")),
        ("Priya Raman lives in Zürich", Statement("priya raman", "lives in", "Zürich")),
        ("I moved to Bristol", Statement("user", "lives in", "Bristol", True)),
        ("I moved from Leeds to Bristol", Statement("user", "lives in", "Bristol", True)),
        ("We've just moved to Bristol", Statement("user", "lives in", "Bristol", True)),
        ("We’ve finally moved house to Bristol", Statement("user", "lives in", "Bristol", True)),
        ("Daniel relocated to Cape Town", Statement("daniel", "lives in", "Cape Town", True)),
        ("I moved to the Bristol office", Statement("user", "works in", "Bristol office", True)),
        ("I work at Halden Instruments", Statement("user", "works at", "Halden Instruments")),
        ("Priya works for Larkfield", Statement("priya", "works at", "Larkfield")),
        ("I joined Larkfield", Statement("user", "works at", "Larkfield", True)),
        ("I've started working at Larkfield", Statement("user", "works at", "Larkfield", True)),
        ("I'm 34", Statement("user", "age", "34")),
        ("I’m 34, by the way", Statement("user", "age", "34")),
        ("I am 34 years old", Statement("user", "age", "34")),
        ("I turned 35 on Sunday", Statement("user", "age", "35", True)),
        ("My badge ID is E-47821", Statement("user", "badge id", "E-47821")),
        ("my dentist is Dr Okafor", Statement("user", "dentist", "Dr Okafor")),
        ("Our wifi password is heron-42.", Statement("user", "wifi password", "heron-42")),
        ("My blood type is AB, I think", Statement("user", "blood type", "AB")),
        ("The timeout is 45 seconds", Statement("user", "timeout", "45 seconds")),
        ("The deadline is now 14 March", Statement("user", "deadline", "14 March", True)),
        ("The port is actually 8080", Statement("user", "port", "8080", True)),
        ("The launch was moved to 3 June", Statement("user", "launch", "3 June", True)),
        ("The rent went up to 1,150", Statement("user", "rent", "1,150", True)),
        ("My rent is 1,150 now", Statement("user", "rent", "1,150", True)),
        ("The deadline slipped from 3 May to 10 May", Statement("user", "deadline", "10 May", True)),
        ("Our stand-up has moved from Monday to Tuesday", Statement("user", "stand-up", "Tuesday", True)),
        ("The budget changed from 40,000 to 45,000", Statement("user", "budget", "45,000", True)),
        ("The rate was raised from 1.5 to 2.25", Statement("user", "rate", "2.25", True)),
        ("New phone number: 07700 900123", Statement("user", "phone number", "07700 900123", True)),
        ("I have a new address: 4 Mill Lane", Statement("user", "address", "4 Mill Lane", True)),
        ("We agreed the budget at 45,000", Statement("user", "budget", "45,000")),
        ("Retry limit is 5", Statement("user", "retry limit", "5")),
        ("retry_backoff_ms = 250", Statement("user", "retry_backoff_ms", "250")),
        ("My e-mail is sam.osei@larkfield.example", Statement("user", "e-mail", "sam.osei@larkfield.example")),
        ("The config file is /srv/kestrel/v3.toml.", Statement("user", "config file", "/srv/kestrel/v3.toml")),
        ("I prefer tea", Statement("user", "prefers tea", "tea")),
        ("I prefer tea now", Statement("user", "prefers tea", "tea now", True)),
        ("Daniel's birthday is 3 May", Statement("daniel", "birthday", "3 May")),
        ("Priya’s desk is now 12", Statement("priya", "desk", "12", True)),
        (
            "My dentist is Dr. O'Sullivan on Baggot Street",
            Statement("user", "dentist", "Dr. O'Sullivan on Baggot Street"),
        ),
        ("My dentist is now Dr. Weber in Rathmines", Statement("user", "dentist", "Dr. Weber in Rathmines", True)),
        ("My tutor is Prof. Ito. She is strict", Statement("user", "tutor", "Prof. Ito")),
        ("My neighbours are Mr. and Mrs. Lane", Statement("user", "neighbours", "Mr. and Mrs. Lane")),
        ("My flat is No. 7 on Mill St. in Leeds", Statement("user", "flat", "No. 7 on Mill St. in Leeds")),
        ("My address is 12 Mill St. My dog is ill", Statement("user", "address", "12 Mill St")),
        ("My shift is 9 a.m. to 5 p.m.", Statement("user", "shift", "9 a.m. to 5 p.m.")),
        ("My favorite color is green", Statement("user", "favourite colour", "green")),
        ("My favourite season is spring", Statement("user", "favourite season", "spring")),
        ("My email is sam@larkfield.example", Statement("user", "e-mail", "sam@larkfield.example")),
        ("My phone is 07700 900123", Statement("user", "phone number", "07700 900123")),
        ("My phone is a Pixel 8", Statement("user", "phone", "a Pixel 8")),
        ("My wifi password is abc!23", Statement("user", "wifi password", "abc!23")),
        ("My dog is called Rex", Statement("user", "dog name", "Rex")),
        ("My dog's name is Rex", Statement("user", "dog name", "Rex")),
        ("Ana’s dog is called Rex", Statement("ana", "dog name", "Rex")),
        ("My deadline is on 3 May", Statement("user", "deadline", "3 May")),
        ("My new dentist is Dr. Weber", Statement("user", "dentist", "Dr. Weber", True)),
        ("My new colleague is Bo", Statement("user", "colleague", "Bo")),
        ("Update: my rent is 950", Statement("user", "rent", "950", True)),
        ("I now prefer tea", Statement("user", "prefers tea", "tea", True)),
        ("I prefer the new office", Statement("user", "prefers offic", "the new office")),
        ("My friend Ana lives in Lyon", Statement("ana", "lives in", "Lyon")),
        ("The watch says my resting heart rate is 64", Statement("user", "resting heart rate", "64")),
        ("As I said, my badge ID is E-1", Statement("user", "badge id", "E-1")),
        ("I hope you are well, my badge ID is E-1", Statement("user", "badge id", "E-1")),
        ("I moved to Bristol last week", Statement("user", "lives in", "Bristol", True)),
        ("My sister is now a doctor", Statement("user", "sister", "a doctor")),
        ("My car is now a Saab", Statement("user", "car", "a Saab", True)),
        ("Maya: I live in Leeds", Statement("maya", "lives in", "Leeds")),
    ],
)
def test_statements_are_read(text: str, statement: Statement) -> None:
    assert statement in statements(text, "Maya" if statement.subject == "maya" else "user")


def test_a_preference_is_stated_of_each_of_its_words() -> None:
    assert statements("I'd prefer the window seat", "user") == (
        Statement("user", "prefers window", "the window seat"),
        Statement("user", "prefers seat", "the window seat"),
    )


def test_several_statements_of_a_text_are_all_read() -> None:
    text = "I'm 34. I live in Leeds and work. My dentist is Dr Okafor, my favourite colour is green"
    found = statements(text, "user")
    assert {(statement.attribute, statement.value) for statement in found} == {
        ("age", "34"),
        ("lives in", "Leeds"),
        ("dentist", "Dr Okafor"),
        ("favourite colour", "green"),
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("My staff number is SM-20931 and my locker code is 4471", ["SM-20931", "4471"]),
        ("My name is Priya and my cat is Miso", ["Priya", "Miso"]),
        ("My name is Priya and I like tea", ["Priya"]),
        ("My name is Priya because of an aunt", ["Priya"]),
        ("My vet is Rowan but she is away", ["Rowan"]),
        ("My favourite film is Alien which I saw twice", ["Alien"]),
        ("My desk is 12 so come by", ["12"]),
        ("My car is a Saab (a red one)", ["a Saab"]),
        ("My favourite bands are Blur and the Smiths", ["Blur and the Smiths"]),
    ],
)
def test_a_value_ends_where_the_next_clause_begins(text: str, values: list[str]) -> None:
    assert [statement.value for statement in statements(text, "user")] == values


def test_a_value_is_cut_between_words() -> None:
    (statement,) = statements("My tagline is Every word of this one counts, and then some", "user")
    assert statement.value == "Every word of this one counts"
    text = "My tagline is Every single word of this far too long tagline counts for something"
    (statement,) = statements(text, "user")
    assert statement.value == "Every single word of this far too long tagline counts for"
    assert statements("My site is https://" + "x" * 80, "user") == ()


@pytest.mark.parametrize("before", ["Hello there. ", "Good news! ", "Two things: ", "Right; "])
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("My dentist is Dr Okafor", Statement("user", "dentist", "Dr Okafor")),
        ("Our vet is called Rowan", Statement("user", "vet name", "Rowan")),
        ("The capital is Lisbon", Statement("user", "capital", "Lisbon")),
    ],
)
def test_a_statement_is_read_in_any_sentence(before: str, text: str, statement: Statement) -> None:
    assert statements(text, "user") == statements(before + text, "user") == (statement,)


def test_of_two_values_for_one_attribute_the_later_stands() -> None:
    assert statements("My port is 80. My port is 81.", "user") == (Statement("user", "port", "81"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather is nice",
        "My only problem is money",
        "I'm 5 minutes late",
        "I moved the chair to the wall",
        "I work at night",
        "Where do I live?",
        "Do you live in hope?",
        "It is raining",
        "Trying new stuff is great",
        "Painting in my garden is 10 minutes of peace",
        "It's great to see how passionate you are",
        "My budget is tight",
        "My name is hard to spell",
        "My rent is 3 days late",
        "My rent is 30% of my pay",
        "My meeting is at 3pm",
        "My deadline is at 3pm",
        "My deadline is Friday",
        "My birthday is in 3 days",
        "The address is 12 High Street",
        "Your badge ID is E-2",
        "My other phone number is 07700 900124",
        "Ana has a new phone number: 07700 900124",
        "One of my favourite films is Alien",
        "The train goes from Leeds to Bristol",
        "The shift goes from 9 to 5",
        "I turned 40 pages",
        "I work at Christmas",
        "My password is in the safe",
    ],
)
def test_talk_states_nothing(text: str) -> None:
    assert statements(text, "user") == ()


@pytest.mark.parametrize(
    "text",
    [
        *("Do I live in Lyon?", "I live in Lyon, right?", "What if my badge ID is E-2?", "What if my badge ID is E-2"),
        *("If I live in Lyon I'd be happy", "My rent is 950 if we stay", "Unless my badge ID is E-2, call me"),
        *("I wish my rent is 800", "I hope my rent is 800", "Maybe I live in Lyon", "Suppose my badge ID is E-2"),
        *("For example, my badge ID is E-2", "Imagine the launch was moved to 26 June"),
        *("I never moved to Lyon", "I don't live in Lyon", "I don't think I live in Lyon", "My badge ID is not E-2"),
        *(
            "I don't live in Paris any more",
            "My badge ID is no longer E-2",
            "I'm no longer vegetarian",
            "I left Google",
        ),
        *("I am moving to Lyon next year", "I'm moving to Lyon", "I will live in Lyon", "I'm going to live in Lyon"),
        *("My rent is 950 from next month", "I'd live in Lyon", "The launch might have moved to 26 June"),
        *("My friend Ana said: I live in Lyon", "Ana told me that I live in Lyon", "Ana thinks I live in Lyon"),
        *('"I live in Lyon," said Ana.', "“It is cold. I live in Lyon.”", "Ana: I live in Lyon", "> I live in Lyon"),
        *("I live in Lyon, Ana said", "Ana wrote: hi. I live in Lyon", "According to Ana, I live in Lyon"),
        *("I moved back to Berlin in 2010", "In 2010 I moved to Lyon", "I moved to Lyon in May 1999"),
        *("I moved to Lyon as a child, before Paris", "I moved to Lyon when I was ten", "I moved to Lyon years ago"),
        *("Back then I moved to Lyon", "I used to live in Lyon", "I moved to Lyon, then to Paris"),
        *("I moved to Lyon for two years", "I moved to Lyon but moved back", "I started at Larkfield in 2012"),
        *("When I turned 18, I left", "In 2019 the budget went up to 45,000"),
    ],
)
def test_what_is_not_claimed_to_hold_now_is_unread(text: str) -> None:
    assert statements(text, "user") == ()


@pytest.mark.parametrize(
    "place",
    [
        *("Slack", "Python 3.12", "Google", "Google Docs", "GitLab", "AWS", "Team Blue", "Mattermost chat"),
        *("the Cloud", "Room 4"),
    ],
)
@pytest.mark.parametrize("who", ["I", "We", "Daniel"])
def test_not_every_move_is_a_move_of_home(who: str, place: str) -> None:
    assert statements(f"{who} moved to {place}", "user") == ()


def test_what_others_do_is_not_said_of_the_speaker() -> None:
    assert statements("My sister moved to Oslo", "user") == ()
    assert statements("Our stand-up moved to Slack", "user") == ()
    assert statements("The meeting was moved to Room 4", "user") == statements("I moved to Thursday", "user") == ()
    assert statements("Who lives in Leeds", "user") == ()
    assert (
        statements("I joined Ana for lunch", "user")
        == statements("We joined Ana", "user")
        == statements("I joined Reddit", "user")
        == ()
    )


@pytest.mark.parametrize("state", "expired broken gone lost late fine ready blocked missing weak hopeless".split())
@pytest.mark.parametrize("adverb", ["", "now ", "really ", "finally ", "not ", "too ", "very "])
def test_a_state_is_no_value(adverb: str, state: str) -> None:
    assert statements(f"My password is {adverb}{state}", "user") == ()
    assert statements(f"My car is {adverb}{state}", "user") == ()


@pytest.mark.parametrize("text", ["My car is now in the garage", "My desk is now tidy", "My cat is now 5 kilos"])
def test_news_of_a_thing_is_not_another_thing(text: str) -> None:
    assert not any(statement.update for statement in statements(text, "user"))


@pytest.mark.parametrize("speaker", ["assistant", "Assistant", "system", "ai", "tool"])
def test_an_assistant_states_nothing(speaker: str) -> None:
    assert statements("I live in Leeds. My name is Bot. I'm 34", speaker) == ()


@pytest.mark.parametrize(
    ("speaker", "subject"),
    [(None, "user"), ("user", "user"), ("Human", "user"), ("Maya", "maya"), ("Maya Lindqvist", "maya lindqvist")],
)
def test_first_person_means_the_speaker(speaker: str | None, subject: str) -> None:
    assert [statement.subject for statement in statements("I live in Leeds", speaker)] == [subject]


@pytest.mark.parametrize(
    "attribute",
    [
        *("lives in", "works at", "works in", "age", "phone number", "e-mail", "email", "wifi password", "badge id"),
        *("favourite colour", "favorite food", "resting heart rate", "request timeout", "time-out", "port", "address"),
        *("name", "budget", "staff number", "locker code", "date birth"),
    ],
)
def test_these_attributes_hold_one_value(attribute: str) -> None:
    assert single_valued(attribute)


@pytest.mark.parametrize(
    "attribute",
    [
        "hobby",
        "sister",
        "prefers tea",
        "colleague",
        "valid",
        "grid",
        "candidate",
        "support",
        "report",
        "corporate sponsor",
        "dog name",
        "phone",
        "favourite films",
    ],
)
def test_these_attributes_may_hold_several(attribute: str) -> None:
    assert not single_valued(attribute)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Actually it's 45 now", "45"),
        ("actually, it’s 45", "45"),
        ("Oh, actually it is 45 seconds now.", "45 seconds"),
        ("Correction: it's Thursday", "Thursday"),
        ("No, make that 7", "7"),
        ("Scratch that, it's green", "green"),
        ("Wait, it's Thursday!", "Thursday"),
        ("It's 45 now", "45"),
        ("it is actually 45 now", "45"),
        ("  Sorry, I meant: it's 9:30  ", "9:30"),
    ],
)
def test_a_correction_gives_the_new_value(text: str, value: str) -> None:
    assert refers_back(text) == Correction(value)


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("I said 30, but it's 45 now", Correction("45", "30")),
        ("We had 30 seconds, but actually it's 45 seconds now", Correction("45 seconds", "30 seconds")),
        ("It was 30 in the notes, but it’s 45 now", Correction("45", "30")),
    ],
)
def test_a_correction_may_repeat_the_old_value(text: str, correction: Correction) -> None:
    assert refers_back(text) == correction


@pytest.mark.parametrize(
    "text",
    [
        *("", "hello", "it is nice", "no worries", "I actually live here", "That was it", "Now then", "No, it's fine"),
        *(
            "Sorry, that's my fault",
            "Actually it's raining now",
            "No, that's OK",
            "It's late now",
            "Wait, it's Thursday?",
        ),
        *("No, it's 5 minutes away", "Wait, it's Thursday then?"),
    ],
)
def test_talk_corrects_nothing(text: str) -> None:
    assert refers_back(text) is None


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("My badge ID is E-47821", "badge id is E-47821"),
        ("I live in Leeds", "lives in Leeds"),
        ("I work at Halden", "works at Halden"),
        ("I moved to the Leeds office", "works in Leeds office"),
        ("I'm 34", "age is 34"),
        ("I prefer tea", "prefers tea"),
        ("I'd prefer the window seat", "prefers the window seat"),
        ("Hello there", None),
    ],
)
def test_the_predicate_is_the_first_statement_as_a_phrase(text: str, predicate: str | None) -> None:
    assert predicate_of(statements(text, "user")) == predicate


@pytest.mark.parametrize(("one", "other"), [("Leeds", "leeds"), ("45 seconds", "the 45 seconds"), ("45,000", "45000")])
def test_wording_of_no_weight_leaves_a_value_the_same(one: str, other: str) -> None:
    assert same_value(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("Leeds", "Bristol"), ("45", "450"), ("E-47821", "E-47822"), ("tea", "green tea")]
)
def test_other_values_are_not_the_same(one: str, other: str) -> None:
    assert not same_value(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["my a is ", "I live in Leeds and ", "I moved from A-A ", '"', "“", "...", "A: ", "a.m. "]
)
def test_long_texts_are_read_too(unit: str) -> None:
    assert len(statements(unit * 20_000, "user")) <= 2


WORDS = (
    "I my The Daniel's is moved from to Leeds 34 45,000 now actually new : = . , it's but was prefer lives in if not ? "
    '" Dr. called said \n'
).split(" ")


@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join), st.sampled_from(["user", "Maya", None]))
def test_any_text_states_whole_statements_once(text: str, speaker: str | None) -> None:
    found = statements(text, speaker)
    assert len({(statement.subject, statement.attribute) for statement in found}) == len(found)
    assert all(statement.subject and statement.attribute and 0 < len(statement.value) <= 61 for statement in found)
    correction = refers_back(text)
    assert correction is None or correction.value


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
