"""Every expression of a question with the window it stands for, computed by hand; words that only look like time; and
the settings of fuzzy words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fivefold import InvalidInput
from fivefold.text.time_grammar import EARLIEST, TimeSettings, find_window
from fivefold.values.fields import build

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2025, 6, 11, 15, 30, tzinfo=BERLIN)
"""A Wednesday."""
TALK = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
NOW_TEXT = "2025-06-11T15:30"


def local(text: str) -> datetime:
    return EARLIEST if text == "ever" else datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


def check(text: str, start: str, end: str, now: datetime = NOW) -> None:
    window = find_window(text, now, BERLIN, last_talk=TALK)
    assert window is not None, text
    assert (window.start, window.end) == (local(start), local(end)), text
    assert window.start.tzinfo is UTC
    assert window.end.tzinfo is UTC


GOLDEN = [
    # days
    ("yesterday", "2025-06-10", "2025-06-11"),
    ("today", "2025-06-11", "2025-06-12"),
    ("tonight", "2025-06-11T18:00", "2025-06-12"),
    ("this morning", "2025-06-11", "2025-06-11T12:00"),
    ("this afternoon", "2025-06-11T12:00", "2025-06-11T18:00"),
    ("this evening", "2025-06-11T18:00", "2025-06-12"),
    ("last night", "2025-06-10T18:00", "2025-06-11T06:00"),
    ("yesterday evening", "2025-06-10T18:00", "2025-06-11"),
    ("yesterday's", "2025-06-10", "2025-06-11"),
    ("the day before yesterday", "2025-06-09", "2025-06-10"),
    ("earlier today", "2025-06-11", NOW_TEXT),
    # ago
    ("3 days ago", "2025-06-08", "2025-06-09"),
    ("three days ago", "2025-06-08", "2025-06-09"),
    ("a day ago", "2025-06-10", "2025-06-11"),
    ("a week ago", "2025-06-01", "2025-06-08"),
    ("two weeks ago", "2025-05-25", "2025-06-01"),
    ("3 weeks ago", "2025-05-18", "2025-05-25"),
    ("a month ago", "2025-04-26", "2025-05-26"),
    ("six months ago", "2024-11-26", "2024-12-26"),
    ("a year ago", "2023-12-12", "2024-12-11"),
    ("2 years ago", "2022-12-11", "2023-12-11"),
    ("a couple of years ago", "2022-12-11", "2023-12-11"),
    ("a couple of days ago", "2025-06-09", "2025-06-10"),
    ("an hour ago", "2025-06-11T14:00", "2025-06-11T15:00"),
    ("3 hours ago", "2025-06-11T12:00", "2025-06-11T13:00"),
    ("a few days ago", "2025-06-06T15:30", "2025-06-09T15:30"),
    ("a few weeks ago", "2025-05-07T15:30", "2025-05-28T15:30"),
    ("a few months ago", "2025-03-13T15:30", "2025-05-12T15:30"),
    ("a few years ago", "2020-06-11T15:30", "2023-06-11T15:30"),
    # running and rolling
    ("last week", "2025-06-04T15:30", NOW_TEXT),
    ("past week", "2025-06-04T15:30", NOW_TEXT),
    ("this week", "2025-06-09", NOW_TEXT),
    ("earlier this week", "2025-06-09", NOW_TEXT),
    ("the week before last", "2025-05-28T15:30", "2025-06-04T15:30"),
    ("last month", "2025-05-01", "2025-06-01"),
    ("the past month", "2025-05-11T15:30", NOW_TEXT),
    ("this month", "2025-06-01", NOW_TEXT),
    ("earlier this month", "2025-06-01", NOW_TEXT),
    ("the month before last", "2025-04-01", "2025-05-01"),
    ("last quarter", "2025-01-01", "2025-04-01"),
    ("this quarter", "2025-04-01", NOW_TEXT),
    ("the past quarter", "2025-03-11T15:30", NOW_TEXT),
    ("last year", "2024-01-01", "2025-01-01"),
    ("the past year", "2024-06-11T15:30", NOW_TEXT),
    ("this year", "2025-01-01", NOW_TEXT),
    ("earlier this year", "2025-01-01", NOW_TEXT),
    ("the year before last", "2023-01-01", "2024-01-01"),
    ("the last 3 days", "2025-06-08T15:30", NOW_TEXT),
    ("the past 2 weeks", "2025-05-28T15:30", NOW_TEXT),
    ("past two months", "2025-04-11T15:30", NOW_TEXT),
    ("in the last five years", "2020-06-11T15:30", NOW_TEXT),
    ("in the last 24 hours", "2025-06-10T15:30", NOW_TEXT),
    ("in the last hour", "2025-06-11T14:30", NOW_TEXT),
    ("in the last few weeks", "2025-05-07T15:30", NOW_TEXT),
    ("recently", "2025-05-12T15:30", NOW_TEXT),
    ("lately", "2025-05-12T15:30", NOW_TEXT),
    # weekdays and weekends
    ("last Tuesday", "2025-06-10", "2025-06-11"),
    ("last Wednesday", "2025-06-04", "2025-06-05"),
    ("on Friday", "2025-06-06", "2025-06-07"),
    ("on Wednesday", "2025-06-11", "2025-06-12"),
    ("this Friday", "2025-06-06", "2025-06-07"),
    ("on friday evening", "2025-06-06T18:00", "2025-06-07"),
    ("on Fri", "2025-06-06", "2025-06-07"),
    ("the weekend", "2025-06-07", "2025-06-09"),
    ("on the weekend", "2025-06-07", "2025-06-09"),
    ("over the weekend", "2025-06-07", "2025-06-09"),
    ("last weekend", "2025-06-07", "2025-06-09"),
    ("the weekend before last", "2025-05-31", "2025-06-02"),
    ("in Monday's meeting", "2025-06-09", "2025-06-10"),
    # dates
    ("March 15th", "2025-03-15", "2025-03-16"),
    ("15 March", "2025-03-15", "2025-03-16"),
    ("on the 15th of March", "2025-03-15", "2025-03-16"),
    ("15 july", "2024-07-15", "2024-07-16"),
    ("on may 3", "2025-05-03", "2025-05-04"),
    ("15/03/2024", "2024-03-15", "2024-03-16"),
    ("03/04/2024", "2024-04-03", "2024-04-04"),
    ("03/15/2024", "2024-03-15", "2024-03-16"),
    ("15.03.2024", "2024-03-15", "2024-03-16"),
    ("2024-03-15", "2024-03-15", "2024-03-16"),
    ("2024-03-15T09:30:00Z", "2024-03-15", "2024-03-16"),
    ("7 May 2023", "2023-05-07", "2023-05-08"),
    ("May 7 2023", "2023-05-07", "2023-05-08"),
    ("May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("Sunday, 7 May 2023", "2023-05-07", "2023-05-08"),
    ("8 May", "2025-05-08", "2025-05-09"),
    ("29 February", "2024-02-29", "2024-03-01"),
    ("on 7 May 2030", "2030-05-07", "2030-05-08"),
    ("15.03.24", "2024-03-15", "2024-03-16"),
    ("15/3/24", "2024-03-15", "2024-03-16"),
    ("15th of Mar, '24", "2024-03-15", "2024-03-16"),
    ("Mar 15 ’24", "2024-03-15", "2024-03-16"),
    ("15-Mar-2024", "2024-03-15", "2024-03-16"),
    ("3 to 7 May", "2025-05-03", "2025-05-08"),
    ("May 3-7, 2024", "2024-05-03", "2024-05-08"),
    ("the week of 3 May", "2025-04-28", "2025-05-05"),
    ("around 15 March", "2025-03-12", "2025-03-19"),
    ("the morning of 15 March", "2025-03-15", "2025-03-15T12:00"),
    # months, quarters, years
    ("in June 2024", "2024-06-01", "2024-07-01"),
    ("June 2024", "2024-06-01", "2024-07-01"),
    ("may 2024", "2024-05-01", "2024-06-01"),
    ("in December", "2024-12-01", "2025-01-01"),
    ("in May", "2025-05-01", "2025-06-01"),
    ("in may", "2025-05-01", "2025-06-01"),
    ("back in march", "2025-03-01", "2025-04-01"),
    ("during June", "2025-06-01", "2025-07-01"),
    ("last May", "2025-05-01", "2025-06-01"),
    ("last June", "2024-06-01", "2024-07-01"),
    ("this April", "2025-04-01", "2025-05-01"),
    ("in 2022", "2022-01-01", "2023-01-01"),
    ("in Q3", "2024-07-01", "2024-10-01"),
    ("in Q2", "2025-04-01", "2025-07-01"),
    ("Q3 2025", "2025-07-01", "2025-10-01"),
    ("third quarter of 2024", "2024-07-01", "2024-10-01"),
    ("the third quarter of last year", "2024-07-01", "2024-10-01"),
    ("early June", "2025-06-01", "2025-06-11"),
    ("mid June", "2025-06-11", "2025-06-21"),
    ("mid-May", "2025-05-11", "2025-05-21"),
    ("late May", "2025-05-21", "2025-06-01"),
    ("late June", "2024-06-21", "2024-07-01"),
    ("early 2024", "2024-01-01", "2024-05-01"),
    ("mid-2024", "2024-05-01", "2024-09-01"),
    ("late 2024", "2024-09-01", "2025-01-01"),
    ("late last year", "2024-09-01", "2025-01-01"),
    ("the first week of May", "2025-05-01", "2025-05-08"),
    ("the second week of May", "2025-05-08", "2025-05-15"),
    ("the last week of May", "2025-05-25", "2025-06-01"),
    ("the last Friday of May", "2025-05-30", "2025-05-31"),
    ("the beginning of May", "2025-05-01", "2025-05-11"),
    ("the end of May", "2025-05-21", "2025-06-01"),
    ("the end of last month", "2025-05-21", "2025-06-01"),
    ("the first half of last year", "2024-01-01", "2024-07-01"),
    ("the 1990s", "1990-01-01", "2000-01-01"),
    ("in the nineties", "1990-01-01", "2000-01-01"),
    ("the '90s", "1990-01-01", "2000-01-01"),
    ("the late nineties", "1997-01-01", "2000-01-01"),
    # seasons and holidays
    ("the summer of 2025", "2025-06-01", "2025-09-01"),
    ("summer 2023", "2023-06-01", "2023-09-01"),
    ("last summer", "2024-06-01", "2024-09-01"),
    ("this winter", "2024-12-01", "2025-03-01"),
    ("in spring", "2025-03-01", "2025-06-01"),
    ("in the autumn", "2024-09-01", "2024-12-01"),
    ("last fall", "2024-09-01", "2024-12-01"),
    ("the summer before last", "2023-06-01", "2023-09-01"),
    ("around Christmas", "2024-12-21", "2024-12-31"),
    ("over Christmas", "2024-12-24", "2024-12-28"),
    ("on Christmas Eve", "2024-12-24", "2024-12-25"),
    ("at Easter", "2025-04-18", "2025-04-22"),
    ("Easter 2024", "2024-03-29", "2024-04-02"),
    ("at New Year", "2024-12-31", "2025-01-02"),
    ("on New Year's Eve", "2024-12-31", "2025-01-01"),
    ("on Halloween", "2024-10-31", "2024-11-01"),
    ("on Thanksgiving", "2024-11-28", "2024-11-29"),
    ("the day after Christmas", "2024-12-28", "2024-12-29"),
    ("two days before Easter", "2025-04-16", "2025-04-17"),
    ("the Friday before Christmas", "2024-12-20", "2024-12-21"),
    ("the Sunday before 25 May 2023", "2023-05-21", "2023-05-22"),
    ("on the Monday after 1 June 2023", "2023-06-05", "2023-06-06"),
    ("the weekend before Easter", "2025-04-12", "2025-04-14"),
    # ranges
    ("since yesterday", "2025-06-10", NOW_TEXT),
    ("since May", "2025-05-01", NOW_TEXT),
    ("since 2019", "2019-01-01", NOW_TEXT),
    ("since the weekend", "2025-06-07", NOW_TEXT),
    ("since the beginning of the year", "2025-01-01", NOW_TEXT),
    ("until May", "ever", "2025-06-01"),
    ("till yesterday", "ever", "2025-06-11"),
    ("before May", "ever", "2025-05-01"),
    ("before 7 May 2023", "ever", "2023-05-07"),
    ("after May", "2025-06-01", NOW_TEXT),
    ("after June", "2024-07-01", NOW_TEXT),
    ("after 15 March 2024", "2024-03-16", NOW_TEXT),
    ("between May and July", "2024-05-01", "2024-08-01"),
    ("between 3 May and 7 June 2024", "2024-05-03", "2024-06-08"),
    ("between the 3rd and the 7th of May", "2025-05-03", "2025-05-08"),
    ("between Monday and now", "2025-06-09", NOW_TEXT),
    ("between early May and last week", "2025-05-01", NOW_TEXT),
    ("from March to May", "2025-03-01", "2025-06-01"),
    ("from May 2024 to July", "2024-05-01", "2024-08-01"),
    ("from Monday to Friday", "2025-06-02", "2025-06-07"),
    ("from 2019 to 2021", "2019-01-01", "2022-01-01"),
    ("in 2019-2021", "2019-01-01", "2022-01-01"),
    ("from March onwards", "2025-03-01", NOW_TEXT),
    ("since we last talked", "2025-06-01T14:00", NOW_TEXT),
    ("since we last spoke", "2025-06-01T14:00", NOW_TEXT),
    ("since we last met", "2025-06-01T14:00", NOW_TEXT),
    ("since we last chatted", "2025-06-01T14:00", NOW_TEXT),
    ("since our last conversation", "2025-06-01T14:00", NOW_TEXT),
    # two expressions that mean one time
    ("on Friday last week", "2025-06-06", "2025-06-07"),
    ("on Wednesday last week", "2025-06-04", "2025-06-05"),
    ("last week on Friday", "2025-06-06", "2025-06-07"),
    ("in May last year", "2024-05-01", "2024-06-01"),
    ("at Christmas two years ago", "2023-12-24", "2023-12-28"),
    ("on Tuesday two weeks ago", "2025-05-27", "2025-05-28"),
]


@pytest.mark.parametrize(("text", "start", "end"), GOLDEN, ids=[row[0] for row in GOLDEN])
def test_expression(text: str, start: str, end: str) -> None:
    check(text, start, end)
    check(f"What did Sam tell me about the boiler {text}?", start, end)
    check(text[0].upper() + text[1:] + ", what did I do with Sam", start, end)


NEW_YEAR = datetime(2025, 1, 1, 0, 30, tzinfo=BERLIN)
"""A Wednesday; in UTC it is still 2024."""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("yesterday", "2024-12-31", "2025-01-01"),
        ("last night", "2024-12-31T18:00", "2025-01-01T06:00"),
        ("last year", "2024-01-01", "2025-01-01"),
        ("this year", "2025-01-01", "2025-01-01T00:30"),
        ("last month", "2024-12-01", "2025-01-01"),
        ("last quarter", "2024-10-01", "2025-01-01"),
        ("this week", "2024-12-30", "2025-01-01T00:30"),
        ("this winter", "2024-12-01", "2025-03-01"),
        ("last winter", "2023-12-01", "2024-03-01"),
        ("in January", "2025-01-01", "2025-02-01"),
        ("in December", "2024-12-01", "2025-01-01"),
        ("at New Year", "2024-12-31", "2025-01-02"),
        ("31 December", "2024-12-31", "2025-01-01"),
        ("a month ago", "2024-11-16", "2024-12-16"),
        ("since Christmas", "2024-12-24", "2025-01-01T00:30"),
    ],
)
def test_around_new_year(text: str, start: str, end: str) -> None:
    check(text, start, end, NEW_YEAR)


@pytest.mark.parametrize(
    ("now", "text", "start", "end"),
    [
        # Clocks go forward on 30 March 2025 at 02:00 and back on 26 October at 03:00.
        ("2025-03-31T12:00", "yesterday", "2025-03-29T23:00", "2025-03-30T22:00"),
        ("2025-10-27T12:00", "yesterday", "2025-10-25T22:00", "2025-10-26T23:00"),
        ("2025-03-31T12:00", "last week", "2025-03-24T11:00", "2025-03-31T10:00"),
        ("2025-10-26T12:00", "this morning", "2025-10-25T22:00", "2025-10-26T11:00"),
        ("2025-10-26T05:00", "3 hours ago", "2025-10-26T00:30", "2025-10-26T01:30"),
        ("2025-03-30T04:00", "in the last 2 hours", "2025-03-30T00:00", "2025-03-30T02:00"),
        ("2025-03-31T12:00", "last month", "2025-01-31T23:00", "2025-02-28T23:00"),
        ("2025-03-31T12:00", "a month ago", "2025-02-12T23:00", "2025-03-14T23:00"),
    ],
)
def test_around_the_clock_change(now: str, text: str, start: str, end: str) -> None:
    """Ends are in UTC here: a day of 23 and one of 25 hours, and hours that pass by the hour."""
    window = find_window(text, datetime.fromisoformat(now).replace(tzinfo=BERLIN), BERLIN)
    assert window is not None
    assert (window.start, window.end) == tuple(datetime.fromisoformat(at).replace(tzinfo=UTC) for at in (start, end))


def test_the_hour_that_comes_twice_is_kept_apart() -> None:
    second = datetime(2025, 10, 26, 2, 20, tzinfo=BERLIN, fold=1)
    window = find_window("in the last 30 minutes", second, BERLIN)
    assert window is not None
    assert (window.start, window.end) == (
        datetime(2025, 10, 26, 0, 50, tzinfo=UTC),
        datetime(2025, 10, 26, 1, 20, tzinfo=UTC),
    )


def test_what_is_to_come_is_read_where_one_asks_for_it() -> None:
    assert find_window("tomorrow", NOW, BERLIN) is None
    for text, start, end in (
        ("tomorrow", "2025-06-12", "2025-06-13"),
        ("this coming Friday", "2025-06-13", "2025-06-14"),
        ("the coming week", "2025-06-16", "2025-06-23"),
    ):
        window = find_window(text, NOW, BERLIN, reach="any")
        assert window is not None
        assert (window.start, window.end, window.text) == (local(start), local(end), text)


def test_the_window_keeps_its_words() -> None:
    text = "What did I do on Friday with Sam last week, and since May?"
    window = find_window(text, NOW, BERLIN)
    assert window is not None
    assert window.text == "Friday … last week … since May"
    assert (window.start, window.end) == (local("2025-06-06"), local("2025-06-07"))


def test_expressions_that_do_not_meet_give_the_first() -> None:
    check("Was it in March or in May?", "2025-03-01", "2025-04-01")


def test_a_talk_that_is_not_known_gives_nothing() -> None:
    assert find_window("What is new since we last talked?", NOW, BERLIN) is None
    assert find_window("What is new since we last talked?", NOW, BERLIN, last_talk=NOW.replace(year=2026)) is None


def test_the_zone_decides_which_day_it_is() -> None:
    late = datetime(2025, 6, 11, 23, 30, tzinfo=UTC)
    here, there = find_window("today", late), find_window("today", late, BERLIN)
    assert here is not None
    assert there is not None
    assert here.start == datetime(2025, 6, 11, tzinfo=UTC)
    assert there.start == datetime(2025, 6, 11, 22, tzinfo=UTC)


def test_a_running_unit_that_has_just_begun_is_the_present_instant() -> None:
    monday = datetime(2025, 6, 9, tzinfo=UTC)
    window = find_window("this week", monday)
    assert window is not None
    assert window.start == monday < window.end


NOTHING = """
what's my badge ID?
may I ask you something
march on
we march on regardless
a second opinion
a character called April
a minute of your time
the Sunday Times
the day job
May said she would come
before May said anything
after April told me about it
what is May's phone number?
is April Smith my aunt?
before April Smith called
who is June
a photo with May
TGI Friday's
did we eat at TGI Friday's?
I may 3 times
I may 3 times have said so
the 3 may be wrong
this may be wrong
this may help
what may have happened
spring roll
in spring rolls
spring onions
fall over
did I fall over
in the fall of Rome
after the fall
in winter clothes
Summer is my cat
the March of the Penguins
one day
some day
days of our lives
24 hours a day
day one
the first day of school
the last day of school
the last week of school
my last 3 days at the bank
monthly
my monthly budget
once a month
every Friday
every weekend
every summer
each month
on Fridays
on Friday nights
how many times a week
per week
a week-long trip
last time
what did we say last time?
since last time
the last one
this time
these days
what time is it now
next week
next Friday
next summer
tomorrow
later this week
in 3 weeks
for two years
years ago
in 2000 steps
I walked 2000 steps
room 2022
JIRA-2024
version 3.11.14
10.0.0.1
12:30:45
3/4
30 February
31/02/2024
2024-13-45
most recently
how recently
the 2nd floor
on the 3rd attempt
a quarter of the cake
the first quarter of the game
an Audi Q3
Black Friday deals
my man Friday
a sunday roast
weekend plans
in his nineties
Christmas dinner
Happy New Year
USA Today
The Tonight Show
happy hour
half past three
the year I was born
since I moved
before he came to Halden
until then
from Sam to Daniel
between you and me
Monday to Friday
sat on the sofa
mon ami
autumn leaves
late again
after today
late this year
the end of the year
2019-2021
how many days until Christmas?
how long until Easter?
""".strip().splitlines()


MEANT = [
    # as people mean it, asked on Wednesday, 11 June 2025 at half past three
    ("what happened in the last fortnight", "2025-05-28T15:30", NOW_TEXT),
    ("what is on in the next fortnight", "2025-06-11", "2025-06-26"),
    ("what did I say a fortnight ago today", "2025-05-28", "2025-05-29"),
    ("what did I say exactly a year ago", "2024-06-11", "2024-06-12"),
    ("what did I tell you half an hour ago", "2025-06-11T14:45", "2025-06-11T15:15"),
    ("what did I tell you in the last half hour", "2025-06-11T15:00", NOW_TEXT),
    ("what happened half a year ago", "2024-11-26", "2024-12-26"),
    ("what was I doing this time last year", "2024-06-04", "2024-06-19"),
    ("what happened on this day last year", "2024-06-11", "2024-06-12"),
    ("what did I do two Fridays ago", "2025-05-30", "2025-05-31"),
    ("what did I do two Wednesdays ago", "2025-05-28", "2025-05-29"),
    ("what did we do two weekends ago", "2025-05-31", "2025-06-02"),
    ("what do I have on Monday to Friday next week", "2025-06-16", "2025-06-21"),
    ("what is on Thursday of next week", "2025-06-19", "2025-06-20"),
    ("what is on next week on Thursday", "2025-06-19", "2025-06-20"),
    ("what did I do on Monday this week", "2025-06-09", "2025-06-10"),
    ("what is on Friday week?", "2025-06-20", "2025-06-21"),
    ("what is on a week on Friday", "2025-06-20", "2025-06-21"),
    ("what is on a week from today", "2025-06-18", "2025-06-19"),
    ("what is on the week after next", "2025-06-23", "2025-06-30"),
    ("what is on the weekend after next", "2025-06-28", "2025-06-30"),
    ("what did I say at the start of the week", "2025-06-09", "2025-06-11"),
    ("what happened in the middle of last week", "2025-06-04", "2025-06-07"),
    ("what did I do in the first weekend of May", "2025-05-03", "2025-05-05"),
    ("what happened between the 3rd and the 9th", "2025-06-03", "2025-06-10"),
    ("what did I do from the 3rd to the 9th", "2025-06-03", "2025-06-10"),
    ("what did I say this morning before ten", "2025-06-11", "2025-06-11T10:00"),
    ("what did I say yesterday evening after half", "2025-06-10T18:00", "2025-06-11"),
    ("what did I say yesterday evening after eight", "2025-06-10T20:00", "2025-06-11"),
    ("what did I do yesterday before 3 pm", "2025-06-10", "2025-06-10T15:00"),
    ("what happened over Easter weekend", "2025-04-18", "2025-04-22"),
    ("what did we do over the holidays", "2024-12-24", "2025-01-02"),
    ("what did I do on Boxing Day", "2024-12-26", "2024-12-27"),
    ("where were we at Whitsun", "2025-06-07", "2025-06-10"),
    ("what did we do on Palm Sunday", "2025-04-13", "2025-04-14"),
    ("what does June hold for us", "2025-06-01", "2025-07-01"),
    ("what does July look like", "2025-07-01", "2025-08-01"),
    ("what did March bring", "2025-03-01", "2025-04-01"),
    ("what did I get up to last weekend", "2025-06-07", "2025-06-09"),
    ("what have I been up to lately", "2025-05-12T15:30", NOW_TEXT),
    ("what was I up to a week ago", "2025-06-01", "2025-06-08"),
    ("what did I note in the weeks before Easter", "2025-03-21", "2025-04-18"),
    ("how was I in the run-up to Easter", "2025-03-28", "2025-04-18"),
    ("what did I buy just before Christmas", "2024-12-17", "2024-12-24"),
    ("what happened shortly after my birthday on 3 May", "2025-05-04", "2025-05-11"),
    ("what happened two days after Christmas", "2024-12-27", "2024-12-29"),
    ("what did I do a fortnight before Pentecost", "2025-05-24", "2025-05-31"),
    ("what did I do in the last two weeks of May", "2025-05-18", "2025-06-01"),
    ("what did I do in the first three days of May", "2025-05-01", "2025-05-04"),
    ("what did I do before the summer", "2025-03-01", "2025-06-01"),
    ("what did we do in the summer holidays", "2024-07-01", "2024-09-01"),
    ("how was the autumn term", "2024-09-01", "2024-12-22"),
    ("what did I sing on the third Sunday of Advent", "2024-12-15", "2024-12-16"),
    ("what did I do the night before last", "2025-06-09T18:00", "2025-06-10T06:00"),
    ("what did I cook three nights ago", "2025-06-08T18:00", "2025-06-09T06:00"),
    ("what did I do the Friday before last", "2025-05-30", "2025-05-31"),
    ("what did I do a week last Friday", "2025-05-30", "2025-05-31"),
    ("what did I say three weeks back?", "2025-05-18", "2025-05-25"),
    ("what did I say a day or two ago", "2025-06-09", "2025-06-11"),
    ("what did I plan in recent weeks", "2025-05-14T15:30", NOW_TEXT),
    ("what did we do the same week last year", "2024-06-10", "2024-06-17"),
]


@pytest.mark.parametrize(("text", "start", "end"), MEANT)
def test_R8_a_time_is_what_people_mean_by_it(text: str, start: str, end: str) -> None:
    window = find_window(text, NOW, BERLIN, reach="any", rolling=False)
    assert window is not None
    assert (window.start, window.end) == (local(start), local(end))


@pytest.mark.parametrize("text", ["what is left to do by the end of the week", "what is due at the end of the week"])
def test_the_end_of_a_week_may_lie_ahead(text: str) -> None:
    window = find_window(text, NOW, BERLIN, reach="ahead", rolling=False)
    assert window is not None
    assert window.end == local("2025-06-16")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what is on after the weekend", "2025-06-16", "2025-06-23"),
        ("what is on at the end of June", "2025-06-21", "2025-07-01"),
        ("what is on at the end of this month", "2025-06-21", "2025-07-01"),
        ("what is due in the next month", "2025-06-11", "2025-07-12"),
        ("what is planned between now and Christmas", NOW_TEXT, "2025-12-28"),
    ],
)
def test_a_time_to_come_is_what_people_mean_by_it(text: str, start: str, end: str) -> None:
    window = find_window(text, NOW, BERLIN, reach="ahead", rolling=False)
    assert window is not None
    assert (window.start, window.end) == (local(start), local(end))


@pytest.mark.parametrize("text", ["", " ", "?", *NOTHING])
def test_no_expression(text: str) -> None:
    assert find_window(text, NOW, BERLIN) is None


AFTERNOON = datetime(2025, 6, 11, 15, 30, tzinfo=UTC)


def days_ago(count: int) -> datetime:
    return AFTERNOON - timedelta(days=count)


@pytest.mark.parametrize(
    ("text", "settings", "start", "end"),
    [
        ("recently", {"recent_days": 7}, days_ago(7), AFTERNOON),
        ("a few days ago", {"few_days": [4, 1]}, days_ago(4), days_ago(1)),
        ("in the last few days", {"few_days": [4, 1]}, days_ago(4), AFTERNOON),
        ("a few weeks ago", {"few_weeks": (28, 10)}, days_ago(28), days_ago(10)),
        ("a few months ago", {"few_months": (120, 60)}, days_ago(120), days_ago(60)),
        ("a few years ago", {"few_years": (8, 3)}, AFTERNOON.replace(year=2017), AFTERNOON.replace(year=2022)),
        ("03/04/2024", {"day_first": False}, datetime(2024, 3, 4, tzinfo=UTC), datetime(2024, 3, 5, tzinfo=UTC)),
        ("15/04/2024", {"day_first": False}, datetime(2024, 4, 15, tzinfo=UTC), datetime(2024, 4, 16, tzinfo=UTC)),
        ("3/4/24", {"day_first": False}, datetime(2024, 3, 4, tzinfo=UTC), datetime(2024, 3, 5, tzinfo=UTC)),
        ("3/4/24", {"day_first": True}, datetime(2024, 4, 3, tzinfo=UTC), datetime(2024, 4, 4, tzinfo=UTC)),
        (
            "last summer",
            {"summer_months": (12, 2)},
            datetime(2024, 12, 1, tzinfo=UTC),
            datetime(2025, 3, 1, tzinfo=UTC),
        ),
        ("last winter", {"summer_months": (12, 2)}, datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 9, 1, tzinfo=UTC)),
        ("last spring", {"summer_months": (5, 7)}, datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC)),
        (
            "around Christmas",
            {"around_days": 1},
            datetime(2024, 12, 23, tzinfo=UTC),
            datetime(2024, 12, 29, tzinfo=UTC),
        ),
    ],
)
def test_settings_change_the_reading(text: str, settings: dict[str, Any], start: datetime, end: datetime) -> None:
    found = find_window(text, AFTERNOON, settings=build(TimeSettings, settings, noun="time setting"))
    assert found is not None
    assert (found.start, found.end) == (start, end)


def test_an_empty_mapping_is_the_default() -> None:
    assert build(TimeSettings, {}, noun="time setting") == TimeSettings()


def test_settings_survive_a_round_trip_through_plain_data() -> None:
    settings = TimeSettings(recent_days=7, few_days=(4, 1))
    assert build(TimeSettings, settings.to_dict(), noun="time setting") == settings


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("recent_days", 0),
        ("recent_days", -1),
        ("recent_days", True),
        ("recent_days", "30"),
        ("recent_days", 10**9),
        ("around_days", -1),
        ("few_days", (2, 5)),
        ("few_days", (2, 2)),
        ("few_weeks", (5,)),
        ("few_weeks", 5),
        ("few_months", (5, -1)),
        ("few_months", (5.0, 2.0)),
        ("few_years", "52"),
        ("summer_months", (6, 9)),
        ("summer_months", (0, 2)),
        ("summer_months", (8, 6)),
        ("summer_months", None),
        ("day_first", 1),
        ("day_first", "yes"),
        ("recnt_days", 30),
        (7, 30),
    ],
)
def test_nonsense_is_refused_and_named(field: Any, value: object) -> None:
    with pytest.raises(InvalidInput, match=str(field)):
        build(TimeSettings, {field: value}, noun="time setting")
