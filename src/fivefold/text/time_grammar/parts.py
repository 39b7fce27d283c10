"""Parts of a span and steps away from one: early June, the last week of May, the day after Christmas."""

from __future__ import annotations

from datetime import date, timedelta

from fivefold.text.calendar_words import weekday_number
from fivefold.text.time_grammar.periods import DAY, DAY_PARTS, Calendar, Span, back, later
from fivefold.text.time_grammar.words import ordinal

_ENDS = {"first": "beginning", "last": "end", "final": "end"}
"""Which third "the first days" are."""
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_STEPS = {"year": (4, 8, 12), "quarter": (1, 2, 3), "season": (1, 2, 3), "decade": (36, 84, 120)}
"""Where the thirds of a unit end, in months."""
_MONTH_CUTS = (11, 21)
"""The thirds of a month are days 1-10, 11-20 and 21 to the end (R8)."""
_WEEK_PARTS = {"week": (0, 7), "weekend": (5, 2)}
"""Days after Monday, and length."""
_MONTHS = {"month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120}


def part_of(calendar: Calendar, span: Span, unit: str, part: str) -> Span:
    """The part of a span that its words name: "early", "first week", "third quarter", "morning".

    A unit that has no such part stays whole, so "early last week" is last week.
    """
    if part.endswith(" days"):
        part = _ENDS[part.split(maxsplit=1)[0]]
    first = calendar.day_of(span.start)
    if unit == "day" and part in DAY_PARTS:
        return calendar.day_part(first, part)
    if unit in {"day", "holiday"} and part in _WEEK_PARTS:
        begin, length = _WEEK_PARTS[part]
        begins = first + timedelta(days=begin - first.weekday())
        return calendar.days(begins, begins + timedelta(days=length))
    if unit == "month" and " " not in part and part[0] in "0123456789":
        return calendar.day(first.replace(day=int(part[:-2])))
    if unit not in _MONTHS or (part not in THIRDS and " " not in part):
        return span
    return calendar.days(*_days_of(first, later(first, _MONTHS[unit]), unit, part))


def _days_of(first: date, after: date, unit: str, part: str) -> tuple[date, date]:
    if part in THIRDS:
        return _third(first, after, unit, THIRDS[part])
    which, kind = part.split()
    number = ordinal(which)
    if kind == "week":
        return _week(first, after, number)
    if kind.endswith("day"):
        day = _nth_day(first, after, number, kind)
        return day, day + DAY
    if unit == "month":
        middle = first + timedelta(days=15)
        return (first, middle) if number == 1 else (middle, after)
    parts = 2 if kind == "half" else 4
    length = _MONTHS[unit] // parts
    begin = later(first, length * (number - 1 if number > 0 else parts - 1))
    return begin, later(begin, length)


def _third(first: date, after: date, unit: str, third: int) -> tuple[date, date]:
    if unit == "month":
        cuts = [first, *(first.replace(day=day) for day in _MONTH_CUTS), after]
    else:
        cuts = [first, *(later(first, months) for months in _STEPS[unit])]
    return cuts[third], cuts[third + 1]


def _week(first: date, after: date, number: int) -> tuple[date, date]:
    """Days 1-7, 8-14 and so on; the last week is the last seven days (R8)."""
    if number < 0:
        return after - timedelta(days=7), after
    begin = first + timedelta(days=7 * (number - 1))
    return begin, begin + timedelta(days=7)


def _nth_day(first: date, after: date, number: int, kind: str) -> date:
    """The first or last day, or the first or last Monday."""
    step = 1 if kind == "day" else 7
    if number < 0:
        back_to = 0 if kind == "day" else (after.weekday() - 1 - weekday_number(kind)) % 7
        return after - timedelta(days=1 + back_to)
    ahead = 0 if kind == "day" else (weekday_number(kind) - first.weekday()) % 7
    return first + timedelta(days=ahead + step * (number - 1))


def away(calendar: Calendar, span: Span, count: int, unit: str, direction: str) -> Span:
    """The one unit that lies `count` units before the span begins or after it ends."""
    if direction == "before":
        first = calendar.day_of(span.start)
        return calendar.days(back(first, count, unit), back(first, count - 1, unit))
    after = calendar.day_of(span.end)
    return calendar.days(back(after, 1 - count, unit), back(after, -count, unit))


def around(calendar: Calendar, span: Span, unit: str) -> Span:
    """A day or a holiday with a few days on either side (R8); longer units are vague enough."""
    if unit not in {"day", "holiday"}:
        return span
    days = timedelta(days=calendar.settings.around_days)
    return calendar.days(calendar.day_of(span.start) - days, calendar.day_of(span.end) + days)
