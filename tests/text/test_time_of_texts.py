from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.text.time_grammar import dates_in
from fivefold.values.entities import Span
from fivefold.values.validate import MAX_READ
from tests.support.date_cases import CASES, NO_DATES

SAID = datetime(2025, 6, 11, 15, 30, tzinfo=UTC)
"""A Wednesday."""


def day(text: str, said_at: datetime = SAID) -> str:
    """The one day `text` speaks of."""
    (span,) = dates_in(text, said_at)
    assert span.end - span.start == timedelta(days=1)
    assert span.start.tzinfo is UTC
    return f"{span.start:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Born 1991-03-15 in Leeds", "1991-03-15"),
        ("due 15 March 2024", "2024-03-15"),
        ("due 15 March, 2024", "2024-03-15"),
        ("the 22nd july", "2025-07-22"),
        ("May 3rd, 2024", "2024-05-03"),
        ("March 15 2024 it is", "2024-03-15"),
        ("on Sept 5", "2025-09-05"),
        ("Feb. 3", "2025-02-03"),
        ("1 dec", "2025-12-01"),
        ("29 February 2024", "2024-02-29"),
        ("I saw her yesterday", "2025-06-10"),
        ("Today was long", "2025-06-11"),
        ("see you tonight", "2025-06-11"),
        ("this morning it rained", "2025-06-11"),
        ("last night it rained", "2025-06-10"),
        ("tomorrow then", "2025-06-12"),
        ("the day before yesterday", "2025-06-09"),
        ("last Monday", "2025-06-09"),
        ("last Wednesday", "2025-06-04"),
        ("next Wednesday", "2025-06-18"),
        ("next Thursday", "2025-06-12"),
        ("on Friday", "2025-06-13"),
        ("on Tuesday", "2025-06-10"),
        ("on Wednesday", "2025-06-11"),
        ("this Friday", "2025-06-13"),
        ("this Sunday", "2025-06-15"),
        ("ring Maryam tmrw at 5", "2025-06-12"),
        ("10 days ago", "2025-06-01"),
        ("in a day", "2025-06-12"),
        ("in 5 days", "2025-06-16"),
    ],
)
def test_each_form_of_a_day_is_read(text: str, expected: str) -> None:
    assert day(text) == expected


@pytest.mark.parametrize(
    ("text", "about", "days"),
    [
        ("two weeks ago", datetime(2025, 5, 28, tzinfo=UTC), 7),
        ("in a week", datetime(2025, 6, 18, tzinfo=UTC), 7),
        ("a month ago", datetime(2025, 5, 12, tzinfo=UTC), 30),
        ("in 3 months", datetime(2025, 9, 9, tzinfo=UTC), 30),
        ("2 years ago", datetime(2023, 6, 12, tzinfo=UTC), 365),
        ("in a year", datetime(2026, 6, 11, tzinfo=UTC), 365),
    ],
)
def test_lengths_away_are_read_as_wide_as_they_are_vague(text: str, about: datetime, days: int) -> None:
    (span,) = dates_in(text, SAID)
    assert span.end - span.start == timedelta(days=days)
    assert abs((span.start + (span.end - span.start) / 2) - about) <= timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("in February, 2024", "2024-02-01", "2024-03-01"),
        ("february 2023", "2023-02-01", "2023-03-01"),
        ("Dec 2024", "2024-12-01", "2025-01-01"),
        ("third quarter of 2024", "2024-07-01", "2024-10-01"),
        ("last Q1", "2025-01-01", "2025-04-01"),
        ("the previous summer", "2024-06-01", "2024-09-01"),
    ],
)
def test_a_unit_of_the_calendar_is_all_of_it(text: str, start: str, end: str) -> None:
    (span,) = dates_in(text, SAID)
    assert (f"{span.start:%Y-%m-%d}", f"{span.end:%Y-%m-%d}") == (start, end)


@pytest.mark.parametrize("text", CASES)
def test_the_dates_of_everyday_texts(text: str) -> None:
    assert " ".join(first_and_last(span) for span in dates_in(text, SAID)) == CASES[text]


def first_and_last(span: Span) -> str:
    first, last = span.start.date(), (span.end - timedelta(days=1)).date()
    return f"{first}" if first == last else f"{first}/{last}"


def test_days_are_those_of_the_zone_it_was_said_in() -> None:
    late = datetime(2025, 6, 11, 23, 30, tzinfo=UTC)
    (span,) = dates_in("I saw her today", late, timezone(timedelta(hours=2)))
    assert (span.start, span.end) == (datetime(2025, 6, 11, 22, tzinfo=UTC), datetime(2025, 6, 12, 22, tzinfo=UTC))


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["Sat ", "the 3 ", "in a week ", "May ", "on Monday ", "12/", "3.5.", "I was ", "mañana "]
)
def test_a_text_that_repeats_itself_is_read_in_one_pass(piece: str) -> None:
    found = dates_in(piece * (60_000 // len(piece)) + ". We met on 2025-06-03", SAID)
    assert found[-1].text == "2025-06-03" or len(found) == MAX_READ


NOTHING = (
    *NO_DATES,
    "30 Feb 2025",
    "2025-02-30",
    "29 Feb 2025",
    "32 May",
    "0 May 2025",
    "1 January 0000",
    "two weeks",
    "a year",
    "Friday",
    "12 Mayor",
    "marching 3",
    "12025-01-011",
    "every Q3",
    "trailing big time in the 4th quarter",
    "",
)


@pytest.mark.parametrize("text", NOTHING)
def test_words_that_only_look_like_a_date_are_none(text: str) -> None:
    assert dates_in(text, SAID) == ()


def test_a_bad_date_does_not_hide_the_good_ones() -> None:
    assert [span.text for span in dates_in("2025-02-30, then 1 May, then tomorrow", SAID)] == ["1 May", "tomorrow"]


@pytest.mark.parametrize(
    ("said_at", "text", "expected"),
    [
        (datetime(2025, 12, 30, tzinfo=UTC), "5 January", "2026-01-05"),
        (datetime(2025, 1, 3, tzinfo=UTC), "28 December", "2024-12-28"),
        (datetime(2025, 1, 3, tzinfo=UTC), "June 3", "2025-06-03"),
        (datetime(2025, 12, 30, tzinfo=UTC), "30 May", "2026-05-30"),
        (datetime(2025, 12, 30, tzinfo=UTC), "11 September", "2025-09-11"),
        (datetime(2024, 2, 29, tzinfo=UTC), "29 Feb", "2024-02-29"),
        (datetime(2023, 11, 5, tzinfo=UTC), "29 Feb", "2024-02-29"),
        (datetime(2023, 11, 5, tzinfo=UTC), "le 29 février", "2024-02-29"),
    ],
)
def test_without_a_year_the_nearest_is_meant(said_at: datetime, text: str, expected: str) -> None:
    assert day(text, said_at) == expected


def test_days_are_those_of_utc() -> None:
    late = datetime(2025, 6, 11, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert day("today", late) == "2025-06-12"


def test_a_span_keeps_its_words() -> None:
    assert [span.text for span in dates_in("Yesterday, or on 3rd of May, 2024?", SAID)] == [
        "Yesterday",
        "3rd of May, 2024",
    ]


@pytest.mark.parametrize("said_at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
@pytest.mark.parametrize(
    "text", ["yesterday", "tomorrow", "3 weeks ago", "in 3 weeks", "last Monday", "5 January", "Dec 9999"]
)
def test_the_ends_of_the_calendar_are_no_stumbling_block(said_at: datetime, text: str) -> None:
    assert all(span.start < span.end for span in dates_in(text, said_at))


WORDS = (
    "in on this last next a three 0 3 29 31 999 2024 9999 0000 2024-02-29 2025-99-99 Feb February 3rd of May, day days "
    "week month years ago yesterday tomorrow Monday sunday tonight ٣ . , weekend the 14th Christmas gestern Mai "
    "mañana pasado "
    "summer end mid- Q3 from to was will 24.6. 25/12 half two and a"
).split()


@settings(deadline=None)
@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_time_gives_spans_that_begin_before_they_end(text: str, said_at: datetime) -> None:
    for span in dates_in(text, said_at):
        assert span.start < span.end
        assert span.text in text
