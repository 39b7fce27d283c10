"""The names of months and weekdays, and the words for numbers: the one table that every pattern is built from."""

from __future__ import annotations

from fivefold.values.times import MONTHS, WEEKDAYS

MONTH_NAMES = tuple(name.lower() for name in MONTHS)
SHORT_MONTHS = tuple(name[:3] for name in MONTH_NAMES)
WEEKDAY_NAMES = tuple(name.lower() for name in WEEKDAYS)
SHORT_WEEKDAYS = tuple(name[:3] for name in WEEKDAY_NAMES)

MONTH = "|".join(MONTH_NAMES)
"""A pattern for a month's full name."""
SHORT_MONTH = "|".join(name for name in SHORT_MONTHS if name != "may").replace("sep", "sept?")
"""A pattern for an abbreviated month; May has no shorter form."""
WEEKDAY = f"(?:{'|'.join(name.removesuffix('day') for name in WEEKDAY_NAMES)})day"

MONTH_WORDS = " ".join((*MONTH_NAMES, *(name for name in SHORT_MONTHS if name != "may"), "sept"))
"""All spellings of the months, as triggers of a pattern."""
WEEKDAY_WORDS = " ".join(WEEKDAY_NAMES)

NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}


def month_number(word: str) -> int:
    """1 for January, by its full name or an abbreviation."""
    return SHORT_MONTHS.index(word.strip()[:3].casefold()) + 1


def weekday_number(word: str) -> int:
    """0 for Monday, by its full name or an abbreviation."""
    return SHORT_WEEKDAYS.index(word.strip()[:3].casefold())
