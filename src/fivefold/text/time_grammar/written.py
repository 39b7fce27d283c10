"""Dates as people write them: 15 March, May 7 2023, 15/03/2024, 2024-03-15, 3 to 7 May, 15.03.24."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from functools import lru_cache
from importlib import import_module

from fivefold.text.time_grammar.disambiguate import COUNTED, dated_month_meant, weekday_cue
from fivefold.text.time_grammar.periods import DAY, Calendar, Span
from fivefold.text.time_grammar.readings import Reading, recurring, yearly
from fivefold.text.time_grammar.words import DIGIT, MONTH_WORDS, month_number, rule

_NOT_WITHIN = r"(?<![./:-])"


@rule(
    DIGIT,
    _NOT_WITHIN + r"(?P<year>[12][0-9]{3})(?P<sign>[-/.])(?P<month>[0-9]{1,2})(?P=sign)(?P<day>[0-9]{1,2})"
    r"(?:T[0-9:.]{2,15}(?:Z|[+-][0-9:]{2,6})?)?(?![0-9/-])",
)
def iso(match: re.Match[str], calendar: Calendar) -> Reading | None:
    return _exactly(calendar, date(int(match["year"]), int(match["month"]), int(match["day"])))


@rule(
    DIGIT,
    _NOT_WITHIN + r"(?P<first>[0-9]{1,2})(?P<sign>[-/.])(?P<second>[0-9]{1,2})(?P=sign)(?P<year>[12][0-9]{3})"
    r"(?![0-9/-])",
)
def numeric(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """Day first unless the settings say otherwise or it cannot be (R8)."""
    day, month, year = int(match["first"]), int(match["second"]), int(match["year"])
    if (not calendar.settings.day_first and day <= 12) or month > 12:
        day, month = month, day
    return _exactly(calendar, date(year, month, day))


@rule(
    MONTH_WORDS, "(?:{any weekday},? )?(?:the )?{day}(?:{to}(?:the )?{last day})?(?: of)? {month}(?:,? (?:of )?{year})?"
)
@rule(
    MONTH_WORDS,
    "(?:{any weekday},? )?{month} (?:the )?{day}(?!:[0-9])(?:{to}(?:the )?{last day}(?! (?:of )?{any month}))?"
    "(?:,? {year})?" + COUNTED,
)
def worded(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """15 March or March 15th, with or without a year, and 3 to 7 May."""
    if not dated_month_meant(match):
        return None
    month, first, last = month_number(match["month"]), int(match["day"]), int(match["last"] or match["day"])

    def days(year: int) -> Span:
        return calendar.days(date(year, month, first), date(year, month, last) + DAY)

    unit = "day" if first == last else ""
    if match["year"]:
        return Reading(days(int(match["year"])), unit, explicit=True)
    return recurring(calendar, "", unit, yearly(calendar, days))


@rule(DIGIT, _NOT_WITHIN + r"(?P<short>[0-9]{1,2})(?P<sign>[/.])[0-9]{1,2}(?P=sign)[0-9]{2}(?![./-]?[0-9])")
@rule(MONTH_WORDS, "(?P<short>{day}(?:(?: of)? |-){month}(?:,? ['’][0-9]{2}|-[0-9]{4}|-[0-9]{2})(?![0-9]))")
@rule(MONTH_WORDS, "(?P<short>{month} {day},? ['’][0-9]{2}(?![0-9]))")
def odd(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """What the rules above spot but do not read. Dots between single digits are a version more often than a date."""
    day = _parsed(match[0].replace("’", "'"), calendar.today, calendar.settings.day_first)
    if day is None:
        return None
    doubtful = "." in match[0] and re.match(r"[0-9]{2}\.[0-9]{2}\.", match[0]) is None
    return Reading(calendar.day(day), "day", accepts=weekday_cue if doubtful else None, explicit=True)


@lru_cache(maxsize=256)
def _parsed(text: str, today: date, day_first: bool) -> date | None:
    """Through dateparser, which is loaded only when such a date turns up."""
    parse = import_module("dateparser").parse
    settings = {
        "RELATIVE_BASE": datetime.combine(today, time()),
        "PREFER_DATES_FROM": "past",
        "DATE_ORDER": "DMY" if day_first else "MDY",
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "REQUIRE_PARTS": ["day", "month", "year"],
        "PARSERS": ["absolute-time"],
    }
    try:
        found: datetime | None = parse(text, languages=["en"], settings=settings)
    except Exception:  # whatever it stumbles over is no date
        return None
    return found.date() if found else None


def _exactly(calendar: Calendar, day: date) -> Reading:
    return Reading(calendar.day(day), "day", explicit=True)
