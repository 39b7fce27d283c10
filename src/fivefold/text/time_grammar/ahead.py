"""Expressions of the future: tomorrow, in ten days, the next two weeks, soon. Read only where the caller wants them."""

from __future__ import annotations

import re
from datetime import timedelta

from fivefold.text.time_grammar.periods import DAY, Calendar, back
from fivefold.text.time_grammar.readings import Reading
from fivefold.text.time_grammar.relative import UNITS, WIDTHS, rest_of
from fivefold.text.time_grammar.words import DIGIT, lower, number, rule

SOON = "soon"
"""The unit of "soon" and "coming up", which say nothing where the question names a time."""
SOON_DAYS = 14
FEW_AHEAD = {"day": 5, "week": 35, "month": 90}
"""Days of "the next few days", weeks and months."""


@rule("tomorrow tmrw tmr", "(?:the )?(?P<after>day after )?(?:tomorrow|tmrw?)")
def tomorrow(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if calendar.reach == "past":
        return None
    return Reading(calendar.day(calendar.today + DAY * (2 if match["after"] else 1)), "day", explicit=True)


@rule("coming upcoming", "(?:the |this )?(?:up)?coming (?P<unit>week|month|year)")
def coming(match: re.Match[str], calendar: Calendar) -> Reading | None:
    unit = lower(match["unit"])
    return None if calendar.reach == "past" else Reading(calendar.whole(unit, ahead=1), unit, explicit=True)


@rule(
    UNITS + " " + DIGIT,
    "(?:the |my |our )?(?:next|coming|following) (?:(?:(?P<few>few|several)|{count}) (?P<unit>day|week|month)s?"
    "|(?P<many>day|week|month)s)",
)
def next_few(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """The next ten days, from today on."""
    if calendar.reach == "past":
        return None
    unit = lower(match["unit"] or match["many"])
    if not match["count"]:
        return _from_today(calendar, FEW_AHEAD[unit])
    until = back(calendar.today, -number(match["count"]), unit) + DAY
    return Reading(calendar.days(calendar.today, until), explicit=True)


@rule(
    UNITS + " " + DIGIT,
    "(?:in )?{count} (?P<unit>day|week|month)s?(?P<now> from (?:now|today))?(?! ago| before| after)",
)
def in_some(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """In three weeks: a day is that day, anything longer is one unit wide around it."""
    ahead = calendar.reach == "ahead" and lower(match[0]).startswith("in ")
    if not ahead and not (match["now"] and calendar.reach == "any"):
        return None
    unit = lower(match["unit"])
    day = back(calendar.today, -number(match["count"]), unit)
    if unit == "day":
        return Reading(calendar.day(day), "day", explicit=True)
    first = day - timedelta(days=WIDTHS[unit] // 2)
    return Reading(calendar.days(first, first + timedelta(days=WIDTHS[unit])), explicit=True)


@rule("rest remainder", "the (?:rest|remainder) of (?:the|this) (?P<unit>week|month|quarter|year)")
def rest(match: re.Match[str], calendar: Calendar) -> Reading | None:
    return None if calendar.reach == "past" else rest_of(calendar, lower(match["unit"]))


@rule("soon upcoming coming ahead near", "(?:up)?coming(?: up)?|soon(?! as)|ahead(?! of)|in the near future")
def soon(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if calendar.reach == "past" or lower(match[0]) == "coming":
        return None
    found = _from_today(calendar, SOON_DAYS)
    return Reading(found.span, SOON, explicit=True)


def _from_today(calendar: Calendar, days: int) -> Reading:
    return Reading(calendar.days(calendar.today, calendar.today + timedelta(days=days + 1)), explicit=True)
