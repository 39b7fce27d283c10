"""The time of a question: ahead where it speaks of what is to come, from an event of the store, in other languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fivefold.engine import Engine
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.query import Query

NOW = "2025-06-11T15:30:00Z"
"""A Wednesday."""


def days(query: Query) -> str:
    """The window as its first and last day."""
    if query.window is None:
        return "-"
    return f"{query.window.start:%m-%d} to {query.window.end:%m-%d}"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("anything tomorrow?", "06-12 to 06-13"),
        ("what's on tomorrow morning?", "06-12 to 06-12"),
        ("what about the day after tomorrow", "06-13 to 06-14"),
        ("what's on next week", "06-16 to 06-23"),
        ("what do I have on Friday?", "06-13 to 06-14"),
        ("what did I have on Friday?", "06-06 to 06-07"),
        ("who comes this Friday?", "06-13 to 06-14"),
        ("who came this Friday?", "06-06 to 06-07"),
        ("are we free this weekend?", "06-14 to 06-16"),
        ("what did we do this weekend?", "06-07 to 06-09"),
        ("what did I plan for next weekend?", "06-21 to 06-23"),
        ("when is the wedding next month?", "07-01 to 08-01"),
        ("what's coming up?", "06-11 to 06-26"),
        ("what's coming up in October?", "10-01 to 11-01"),
        ("what happened in October?", "10-01 to 11-01"),
        ("anything in the next 10 days?", "06-11 to 06-22"),
        ("what do I have in two weeks?", "06-22 to 06-29"),
        ("what's left for the rest of the week", "06-11 to 06-16"),
        ("am I doing anything on the 20th of June?", "06-20 to 06-21"),
        ("what's on the 20th of June?", "06-20 to 06-21"),
        ("what did I do on the 20th of June?", "06-20 to 06-21"),
        ("do I have to pay anything by Friday?", "06-11 to 06-14"),
        ("what's planned for July", "07-01 to 08-01"),
        ("the flight next Monday", "06-16 to 06-17"),
        ("what did she say the other day?", "06-01 to 06-11"),
        ("what was that a while ago about the boat", "06-11 to 05-21"),
        ("what happened in the last days of May?", "05-21 to 06-01"),
        ("what did May say", "-"),
        ("what did I say about my knee in April and May?", "04-01 to 06-01"),
        ("what did we do over Christmas?", "12-21 to 12-31"),
    ],
)
def test_a_window_lies_ahead_where_the_question_does(engine: Engine, question: str, expected: str) -> None:
    assert days(engine.understand(question, now=NOW)) == expected


@pytest.mark.parametrize("time", ["in October", "the 22nd of August", "for Christmas"])
def test_the_same_date_is_another_year_ahead_and_back(engine: Engine, time: str) -> None:
    ahead = engine.understand(f"what's planned {time}?", now=NOW).window
    back = engine.understand(f"what happened {time.replace('for', 'at')}?", now=NOW).window
    assert ahead is not None
    assert back is not None
    assert (ahead.start.year, back.start.year) == (2025, 2024)


def test_days_are_those_of_the_clock_that_asks(engine: Engine) -> None:
    def start(now: str) -> datetime:
        window = engine.understand("what did I do yesterday?", now=now).window
        assert window is not None
        return window.start

    assert start("2025-06-11T20:30:00-05:00") == datetime(2025, 6, 10, 5, tzinfo=UTC)
    assert start("2025-06-12T01:30:00Z") == datetime(2025, 6, 11, tzinfo=UTC)
    engine.configure(timezone="Europe/Berlin")
    assert start("2025-06-11T20:30:00-05:00") == datetime(2025, 6, 10, 22, tzinfo=UTC)


@pytest.fixture
def moved(engine: Engine) -> Engine:
    engine.remember("We moved to the flat in Ghent today, boxes everywhere", event_at="2025-03-02T18:00:00Z")
    engine.remember("I joined Nordwind as an analyst on 7 April 2025", event_at="2025-04-20T09:00:00Z")
    engine.remember("My wedding with Ola was lovely", event_at="2025-05-11T09:00:00Z")
    engine.remember("Lunch was late", event_at="2025-05-20T09:00:00Z")
    return engine


def test_an_event_of_the_store_opens_a_window(moved: Engine) -> None:
    since = moved.understand("what have I bought since we moved to Ghent?", now=NOW)
    assert days(since) == "03-02 to 06-11"
    demand = since.demand("window")
    assert demand is not None
    assert not demand.decides
    before = moved.understand("who did I see before the wedding?", now=NOW).window
    assert before is not None
    assert (before.start, before.end) == (EARLIEST, datetime(2025, 5, 11, 9, tzinfo=UTC))


def test_a_date_that_the_memory_names_is_the_day_of_the_event(moved: Engine) -> None:
    window = moved.understand("what changed since I joined Nordwind", now=NOW).window
    assert window is not None
    assert window.start == datetime(2025, 4, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        "what happened since the burglary?",
        "since I sold the boat, what did I do?",
        "who lived here before Ola?",
        "who looked after my wedding dress?",
    ],
)
def test_an_event_that_nobody_stated_opens_none(moved: Engine, question: str) -> None:
    assert moved.understand(question, now=NOW).window is None


def test_the_running_conversation_is_not_the_last_one(engine: Engine) -> None:
    engine.remember("see you", session_id="old", event_at="2025-06-01T10:00:00Z")
    engine.remember("hello again", session_id="new", event_at="2025-06-11T15:20:00Z")
    window = engine.understand("what changed since we last talked?", now=NOW).window
    assert window is not None
    assert window.start == datetime(2025, 6, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "expected", "kinds"),
    [
        ("Was habe ich gestern gemacht?", "06-10 to 06-11", {"window!"}),
        ("Was habe ich letzte Woche mit Anna gemacht?", "06-04 to 06-11", {"window"}),
        ("Was steht nächste Woche an?", "06-16 to 06-23", {"window!"}),
        ("Wie viele Bücher habe ich im März gelesen?", "03-01 to 04-01", {"window", "count"}),
        ("Wo wohne ich jetzt?", "-", {"current"}),
        ("Wer war früher mein Chef?", "-", {"past"}),
        ("Was darf ich nicht essen?", "-", {"negation", "current"}),
        ("¿Qué hice el viernes pasado?", "06-06 to 06-07", {"window!"}),
        ("¿Qué tengo mañana?", "06-12 to 06-13", {"window!"}),
        ("¿Dónde vivo ahora?", "-", {"current"}),
        ("¿Quién era mi jefe antes?", "-", {"past"}),
        ("Qu'est-ce que j'ai fait hier ?", "06-10 to 06-11", {"window!"}),
        ("Où habite ma sœur maintenant ?", "-", {"current"}),
        ("Qu'est-ce que j'ai acheté en avril ?", "04-01 to 05-01", {"window"}),
        ("Cosa ho fatto la settimana scorsa?", "06-04 to 06-11", {"window!"}),
        ("Come si chiama mia zia?", "-", {"current"}),
        ("O que eu fiz ontem?", "06-10 to 06-11", {"window!"}),
        ("Onde mora o meu filho?", "-", {"current"}),
    ],
)
def test_other_languages(engine: Engine, question: str, expected: str, kinds: set[str]) -> None:
    query = engine.understand(question, now=NOW)
    assert days(query) == expected
    assert {f"{item.kind}{'!' * item.decides}" for item in query.demands} == kinds
    assert query.window is None or query.window.text in question


def start_since(engine: Engine, question: str, session_id: str | None) -> datetime | None:
    window = engine.recall(question, now=NOW, session_id=session_id).query.window
    return window.start if window else None


@pytest.mark.parametrize(
    "question", ["what changed since we last talked?", "anything new since last time?", "news since my last session"]
)
def test_R8_since_we_last_talked_begins_with_the_end_of_the_session_before(engine: Engine, question: str) -> None:
    assert start_since(engine, question, "new") is None
    engine.remember("see you", session_id="old", event_at="2025-06-01T10:00:00Z")
    engine.remember("hello again", session_id="new", event_at="2025-06-11T09:00:00Z")
    before, running = (datetime(2025, 6, day, hour, tzinfo=UTC) for day, hour in ((1, 10), (11, 9)))
    assert start_since(engine, question, "new") == before
    assert start_since(engine, question, "another") == running
    assert start_since(engine, question, None) == running  # silent for more than two hours, so it is over


def test_R8_a_session_that_ended_an_hour_ago_is_the_one_before_for_a_new_one(engine: Engine) -> None:
    engine.remember("see you", session_id="old", event_at="2025-06-11T14:30:00Z")
    assert start_since(engine, "what is new since we last talked?", "new") == datetime(2025, 6, 11, 14, 30, tzinfo=UTC)
    assert start_since(engine, "what is new since we last talked?", None) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what changed since I joined?", "04-07 to 06-11"),
        ("what changed since I joined the company?", "04-07 to 06-11"),
        ("what did I do since joining Nordwind?", "04-07 to 06-11"),
        ("what have we done since the wedding?", "05-11 to 06-11"),
        ("what happened since Mia was born?", "05-03 to 06-11"),
        ("what happened after the outage?", "03-12 to 06-10"),
        ("what did I do since my promotion?", "-"),
        ("where was I after Mia?", "-"),
    ],
)
def test_R8_an_event_that_the_store_knows_anchors_the_window(moved: Engine, question: str, expected: str) -> None:
    moved.remember("Mia likes to sleep", event_at="2025-05-04T09:00:00Z")
    moved.remember("Mia was born on 3 May 2025", event_at="2025-05-05T09:00:00Z")
    moved.remember("The outage of the billing system is over", event_at="2025-03-12T09:00:00Z")
    assert days(moved.understand(question, now=NOW)) == expected


def test_R8_yesterday_is_the_24_hours_before_now_in_the_recipe_recall(engine: Engine) -> None:
    def window(question: str, recipe: str) -> tuple[datetime, datetime] | None:
        found = engine.recall(question, recipe=recipe, now=NOW).query.window
        return (found.start, found.end) if found else None

    rolling = (datetime(2025, 6, 10, 15, 30, tzinfo=UTC), datetime(2025, 6, 11, 15, 30, tzinfo=UTC))
    whole = (datetime(2025, 6, 10, tzinfo=UTC), datetime(2025, 6, 11, tzinfo=UTC))
    assert window("what did I do yesterday?", "recall") == rolling
    assert window("what did I do yesterday?", "default") == whole
    before = (datetime(2025, 6, 9, tzinfo=UTC), datetime(2025, 6, 10, tzinfo=UTC))
    assert window("what did I do the day before yesterday?", "recall") == before
