"""Dates in a stored text, read against the time it was said.

A second, smaller grammar than that of questions: a stored text may as well speak of the future, and its dates are
read to the day in UTC. Both share the words of `calendar_words`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from fivefold.text.calendar_words import (
    MONTH,
    MONTH_WORDS,
    NUMBERS,
    SHORT_MONTH,
    WEEKDAY,
    WEEKDAY_WORDS,
    month_number,
    weekday_number,
)
from fivefold.text.triggers import Pattern
from fivefold.values.extraction import Span

_MONTH = rf"(?P<month>{MONTH}|{SHORT_MONTH})\b\.?"
_SMALL = ("a", "an", "one", "two", "three", "four", "five", "six", "seven")
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_SMALL)})"
_ANY = Pattern(
    f"#-# yesterday today tonight tomorrow morning night ago {WEEKDAY_WORDS} {MONTH_WORDS}",
    r"\b(?P<iso>\d{4}-\d{2}-\d{2})\b"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? (?P<year>\d{{4}}))?"
    rf"|\b{_MONTH.replace('month', 'month2')} (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{{4}}))?"
    rf"|\b{_MONTH.replace('month', 'month3')},? (?P<year3>\d{{4}})\b"
    r"|\b(?P<near>yesterday|today|tonight|this morning|last night|tomorrow|the day before yesterday)\b"
    rf"|\b(?P<which>last|next|on|this) (?P<weekday>{WEEKDAY})\b"
    rf"|\b{_COUNT} (?P<unit>day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
_AHEAD = Pattern(
    "day days week weeks month months year years",
    rf"\bin {_COUNT} (?P<unit>day|week|month|year)s?\b(?! ago)",
    re.IGNORECASE,
)
_NEAR = {
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "tomorrow": 1,
    "the day before yesterday": -2,
}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def dates_in(text: str, said_at: datetime) -> tuple[Span, ...]:
    """Every date of `text` that can be read, as days in UTC; what is no date is skipped."""
    return tuple(_spans(text, said_at))


def _spans(text: str, said_at: datetime) -> Iterator[Span]:
    today = said_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    readings = [(match, _read) for match in _ANY.finditer(text)] + [(match, _ahead) for match in _AHEAD.finditer(text)]
    for match, read in sorted(readings, key=lambda reading: reading[0].start()):
        try:
            start, days = read(match, today)
            yield Span(start, start + timedelta(days=days), match[0])
        except (ValueError, OverflowError, LookupError):
            continue


def _read(match: re.Match[str], today: datetime) -> tuple[datetime, int]:
    if match["iso"]:
        return datetime.fromisoformat(match["iso"]).replace(tzinfo=UTC), 1
    if match["day"] or match["day2"]:
        return _day(
            match["day"] or match["day2"], match["month"] or match["month2"], match["year"] or match["year2"], today
        ), 1
    if match["month3"]:
        first = datetime(int(match["year3"]), month_number(match["month3"]), 1, tzinfo=UTC)
        return first, ((first + timedelta(days=32)).replace(day=1) - first).days
    if match["near"]:
        return today + timedelta(days=_NEAR[match["near"].casefold()]), 1
    if match["weekday"]:
        return _weekday(match["which"].casefold(), match["weekday"].casefold(), today), 1
    return _away(match, today, -1)


def _ahead(match: re.Match[str], today: datetime) -> tuple[datetime, int]:
    return _away(match, today, 1)


def _day(day: str, month: str, year: str | None, today: datetime) -> datetime:
    """Without a year, the one nearest to the day it was said."""
    if year:
        return datetime(int(year), month_number(month), int(day), tzinfo=UTC)
    around = [date for step in (-1, 0, 1) for date in _if_any(today.year + step, month_number(month), int(day))]
    return min(around, key=lambda date: abs(date - today))


def _if_any(year: int, month: int, day: int) -> list[datetime]:
    try:
        return [datetime(year, month, day, tzinfo=UTC)]
    except ValueError:
        return []


def _weekday(which: str, name: str, today: datetime) -> datetime:
    ahead = (weekday_number(name) - today.weekday()) % 7
    if which == "last":
        return today + timedelta(days=ahead - 7)
    if which == "next":
        return today + timedelta(days=ahead or 7)
    if which == "this":
        return today + timedelta(days=ahead)
    return today + timedelta(days=ahead if ahead <= 3 else ahead - 7)


def _away(match: re.Match[str], today: datetime, direction: int) -> tuple[datetime, int]:
    count = NUMBERS.get(match["count"].casefold()) or int(match["count"])
    width = _UNIT_DAYS[match["unit"].casefold()]
    middle = today + timedelta(days=direction * count * width)
    return (middle, 1) if width == 1 else (middle - timedelta(days=width // 2), width)
