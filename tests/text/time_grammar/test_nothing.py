"""Words that only look like time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from fivefold.text.time_grammar import find_windows

NOW = datetime(2025, 6, 11, 15, 30, tzinfo=ZoneInfo("Europe/Berlin"))

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


@pytest.mark.parametrize("text", ["", " ", "?", *NOTHING])
def test_no_expression(text: str) -> None:
    assert find_windows(text, NOW, NOW.tzinfo or ZoneInfo("UTC")) == []
