"""Dates as people write them: 15 March, May 7 2023, 15/03/2024, 2024-03-15, 3 to 7 May, 15.03.24."""

from __future__ import annotations

import re
from datetime import date

from fivefold.text.calendar_words import MONTH_WORDS, month_number
from fivefold.text.time_grammar.disambiguate import COUNTED, is_dated_month, is_weekday_cue
from fivefold.text.time_grammar.periods import DAY, Calendar, Span
from fivefold.text.time_grammar.readings import Reading, recurring, yearly
from fivefold.text.time_grammar.words import DIGIT, rule

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
    day, month = _in_order(int(match["first"]), int(match["second"]), calendar)
    return _exactly(calendar, date(int(match["year"]), month, day))


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
    if not is_dated_month(match):
        return None
    month, first, last = month_number(match["month"]), int(match["day"]), int(match["last"] or match["day"])

    def days(year: int) -> Span:
        return calendar.days(date(year, month, first), date(year, month, last) + DAY)

    unit = "day" if first == last else ""
    if match["year"]:
        return Reading(days(int(match["year"])), unit, explicit=True)
    return recurring(calendar, "", unit, yearly(calendar, days))


@rule(
    DIGIT,
    _NOT_WITHIN + r"(?P<first>[0-9]{1,2})(?P<sign>[/.])(?P<second>[0-9]{1,2})(?P=sign)(?P<short>[0-9]{2})"
    r"(?![./-]?[0-9])",
)
def numeric_short(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """15/03/24. Dots between single digits are a version more often than a date."""
    day, month = _in_order(int(match["first"]), int(match["second"]), calendar)
    doubtful = match["sign"] == "." and re.match(r"[0-9]{2}\.[0-9]{2}\.", match[0]) is None
    span = calendar.day(_latest(calendar.today, match["short"], month, day))
    return Reading(span, "day", accepts=is_weekday_cue if doubtful else None, explicit=True)


@rule(MONTH_WORDS, "{day}(?:(?: of)? |-){month}(?:,? ['’]|-)(?P<short>(?<=-)[0-9]{4}|[0-9]{2})(?![0-9])")
@rule(MONTH_WORDS, "{month} {day},? ['’](?P<short>[0-9]{2})(?![0-9])")
def worded_short(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """15 March '24, 15-Mar-24, 15-Mar-2024, March 15, '24."""
    return _exactly(calendar, _latest(calendar.today, match["short"], month_number(match["month"]), int(match["day"])))


def _in_order(first: int, second: int, calendar: Calendar) -> tuple[int, int]:
    """Day and month: as the settings have them, or the other way round where only that makes a month."""
    swap = (not calendar.settings.day_first and first <= 12) or second > 12
    return (second, first) if swap else (first, second)


def _latest(today: date, year: str, month: int, day: int) -> date:
    """The day in a year of four digits, or the latest one that has come in a year of two."""
    if len(year) == 4:
        return date(int(year), month, day)
    century = today.year - (today.year - int(year)) % 100
    latest = date(century, month, day)
    return latest if latest <= today else date(century - 100, month, day)


def _exactly(calendar: Calendar, day: date) -> Reading:
    return Reading(calendar.day(day), "day", explicit=True)
