"""Calendar arithmetic in the caller's zone: days, months, holidays, and parts of them.

Days begin at local midnight, so one may last 23 or 25 hours.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated

from fivefold.text.calendar_words import weekday_number
from fivefold.text.time_grammar.words import ordinal
from fivefold.values.fields import About, Between, Rule
from fivefold.values.serialize import Value

EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
"""Beginning of "until" and "before" (R8)."""
DAY, WEEK, MONTH, YEAR = (timedelta(days=days) for days in (1, 7, 31, 366))
INSTANT = timedelta(microseconds=1)
DAY_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""Hours from the day's midnight (R8); the night runs into the next morning."""
UNIT_DAYS = {"day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
"""Number of days that "N weeks ago" covers, around that day (R8)."""
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}

_MAX_DAYS = 36_500
"""The largest number of a setting: a hundred years in days."""
_SEASONS = ("summer", "autumn", "winter", "spring")
"""In the order they follow the months that `summer_months` names."""
_ENDS = {"first": "beginning", "last": "end", "final": "end"}
"""Names of the thirds, such as "the first days"."""
_STEPS = {"year": (4, 8, 12), "quarter": (1, 2, 3), "season": (1, 2, 3), "decade": (36, 84, 120)}
"""Ends of the thirds of a unit, in months."""
_MONTH_CUTS = (11, 21)
"""The thirds of a month are days 1-10, 11-20 and 21 to the end (R8)."""
_WEEK_PARTS = {"week": (0, 7), "weekend": (5, 2)}
"""Days after Monday, and length."""
_WEEK_THIRDS = ((0, 2), (2, 5), (4, 7))
"""First and last day after Monday of an early, a middle and a late part of a week."""
_MONTHS = {"month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120}
_FIXED_HOLIDAYS = {
    "christmas eve": (12, 24, 1),
    "christmas day": (12, 25, 1),
    "christmas": (12, 24, 4),
    "xmas": (12, 24, 4),
    "new year eve": (12, 31, 1),
    "new year day": (1, 1, 1),
    "new year": (12, 31, 2),
    "boxing day": (12, 26, 1),
    "holidays": (12, 24, 9),
    "halloween": (10, 31, 1),
    "bonfire night": (11, 5, 1),
    "valentine": (2, 14, 1),
    "valentine day": (2, 14, 1),
    "turn of the year": (12, 29, 6),
    "epiphany": (1, 6, 1),
    "may day": (5, 1, 1),
    "midsummer": (6, 20, 6),
    "all saints": (11, 1, 1),
    "st nicholas": (12, 6, 1),
    "st patrick": (3, 17, 1),
    "school year": (9, 1, 330),
    "autumn term": (9, 1, 112),
    "spring term": (1, 6, 90),
    "summer term": (4, 15, 100),
}
"""First month, day and length in days (R8): Christmas is 24 to 27 December, New Year its eve and its day; "the
holidays" are from Christmas Eve to New Year's Day. School years and terms are as in most of Europe."""
_EASTER_DAYS = {"good friday": (-2, 1), "easter sunday": (0, 1), "easter monday": (1, 1), "easter": (-2, 4)}
_EASTER_DAYS |= {"palm sunday": (-7, 1), "whitsun": (48, 3), "pentecost": (48, 3), "ascension": (39, 1)}
_EASTER_DAYS |= {"lent": (-46, 46), "ash wednesday": (-46, 1), "shrove tuesday": (-47, 1), "holy week": (-7, 7)}
"""Days from Easter Sunday, and length; Easter is Good Friday to Easter Monday."""


_FAR_FIRST = Rule(lambda pair: pair[0] > pair[1], "two whole numbers, the far one first, like (5, 2)")
_THREE_MONTHS = Rule(lambda ends: (ends[1] - ends[0]) % 12 == 2, "the first and last of three months, like (6, 8)")

Pair = Annotated[tuple[int, int], Between(0, _MAX_DAYS), _FAR_FIRST]
Season = Annotated[tuple[int, int], Between(1, 12), _THREE_MONTHS]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSettings(Value):
    """The readings of fuzzy words (R8). Pairs run from far to near: `few_days=(5, 2)` is five to two days ago."""

    recent_days: Annotated[int, Between(1, _MAX_DAYS), About("Days back that “recently” and “lately” mean")] = 30
    few_days: Annotated[Pair, About("“A few days ago”: from and to, in days")] = (5, 2)
    few_weeks: Annotated[Pair, About("“A few weeks ago”: from and to, in days")] = (35, 14)
    few_months: Annotated[Pair, About("“A few months ago”: from and to, in days")] = (90, 30)
    few_years: Annotated[Pair, About("“A few years ago”: from and to, in years")] = (5, 2)
    summer_months: Annotated[Season, About("First and last month of summer; the other seasons follow")] = (6, 8)
    day_first: Annotated[bool, About("True if 03/04/2025 is 3 April")] = True
    around_days: Annotated[int, Between(0, _MAX_DAYS), About("Days that “around” adds on both sides")] = 3


DEFAULTS = TimeSettings()


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in UTC; the end is exclusive."""

    start: datetime
    end: datetime

    def overlap(self, other: Span) -> Span | None:
        both = Span(max(self.start, other.start), min(self.end, other.end))
        return both if both.start < both.end else None


Latest = Callable[[datetime], Span]
"""The last occurrence that has begun by an instant."""
Accepts = Callable[[str], bool]
"""True if the word before makes a doubtful word a time: "in" for a month, "on" for a weekday."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of an expression: a span with its unit. If it comes round again (a month, a weekday), it has `latest`
    and `period`; if it only counts after a certain word, `accepts`; `frame` is the year behind "two years ago"."""

    span: Span
    unit: str = ""
    latest: Latest | None = None
    period: timedelta = YEAR
    accepts: Accepts | None = None
    explicit: bool = False
    frame: Span | None = None

    def counts_after(self, cue: str) -> bool:
        return self.accepts is None or self.accepts(cue)

    def with_span(self, change: Callable[[Span], Span], now: datetime, unit: str = "") -> Reading:
        """The reading with its span changed; one that recurs is chosen again so that it has begun by now."""
        if self.latest is None:
            return replace(self, span=change(self.span), unit=unit, frame=None)
        occurs = self.latest

        def latest(instant: datetime) -> Span:
            occurrence = occurs(instant)
            for _ in range(2):
                if change(occurrence).start <= instant:
                    break
                occurrence = occurs(occurrence.start - INSTANT)
            return change(occurrence)

        return replace(self, span=latest(now), unit=unit, latest=latest)


class Calendar:
    """The calendar around one moment, in the zone of the person who speaks."""

    __slots__ = ("now", "settings", "today", "wall", "zone")

    def __init__(self, now: datetime, zone: tzinfo, settings: TimeSettings) -> None:
        self.now: datetime = in_utc(now)
        self.zone: tzinfo = zone
        self.settings: TimeSettings = settings
        self.wall: datetime = self.local(self.now)
        self.today: date = self.wall.date()

    def local(self, instant: datetime) -> datetime:
        """Wall time without its zone; `fold` keeps apart the hours that come twice."""
        return instant.astimezone(self.zone).replace(tzinfo=None)

    def instant(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.zone).astimezone(UTC)

    def day_of(self, instant: datetime) -> date:
        return self.local(instant).date()

    def midnight(self, day: date) -> datetime:
        return self.instant(datetime.combine(day, time()))

    def days(self, first: date, after: date | int) -> Span:
        """From the first moment of `first` to the first moment of `after`, a day or so many days later."""
        return Span(self.midnight(first), self.midnight(first + after * DAY if isinstance(after, int) else after))

    def day(self, day: date) -> Span:
        return self.days(day, 1)

    def day_part(self, day: date, part: str) -> Span:
        begin, end = (datetime.combine(day, time()) + timedelta(hours=hour) for hour in DAY_PARTS[part])
        return Span(self.instant(begin), self.instant(end))

    def months(self, year: int, month: int, count: int = 1) -> Span:
        first = date(year, month, 1)
        return self.days(first, later(first, count))

    def quarter(self, year: int, number: int) -> Span:
        return self.months(year, 3 * number - 2, 3)

    def season(self, year: int, name: str) -> Span:
        """The season that begins in `year`; a winter may end in the next."""
        month = self.settings.summer_months[0] + 3 * _SEASONS.index("autumn" if name == "fall" else name)
        return self.months(year, (month - 1) % 12 + 1, 3)

    def holiday(self, year: int, name: str) -> Span:
        """The days of a holiday; Advent, Easter and Thanksgiving move, the others are fixed."""
        if name == "thanksgiving":
            first, length = _nth_day(date(year, 11, 1), date(year, 12, 1), 4, "thursday"), 1
        elif name == "advent":
            fourth = date(year, 12, 24) - DAY * ((date(year, 12, 24).weekday() + 1) % 7)
            return self.days(fourth - 3 * WEEK, date(year, 12, 25))
        elif name == "summer holidays":
            return self.months(year, (self.settings.summer_months[0] % 12) + 1, 2)
        elif name in _EASTER_DAYS:
            offset, length = _EASTER_DAYS[name]
            first = easter(year) + offset * DAY
        else:
            month, day, length = _FIXED_HOLIDAYS[name]
            first = date(year, month, day)
        return self.days(first, length)

    def whole(self, unit: str, ahead: int = 0) -> Span:
        """The running week, month, quarter or year to its end, or one that lies `ahead`."""
        first = back(self.first(unit), -ahead, unit)
        return self.days(first, back(first, -1, unit))

    def first(self, unit: str) -> date:
        """The first day of the running week, month, quarter or year."""
        if unit == "week":
            return self.today - self.today.weekday() * DAY
        month = {"month": self.today.month, "quarter": (self.today.month - 1) // 3 * 3 + 1, "year": 1}[unit]
        return self.today.replace(month=month, day=1)

    def to_now(self, start: datetime) -> Span:
        """From `start` to now; if that is empty, the present instant."""
        return Span(start, self.now + INSTANT if start == self.now else self.now)

    def unit_around(self, day: date, unit: str) -> Span:
        """A stretch as long as the unit, with the day in its middle."""
        return self.days(day - DAY * (UNIT_DAYS[unit] // 2), UNIT_DAYS[unit])

    def ago(self, count: int, unit: str) -> datetime:
        """Now less `count` units: hours as time passes, all longer ones by the clock on the wall."""
        if unit in {"minute", "hour"}:
            return self.now - timedelta(**{f"{unit}s": count})
        return self.instant(datetime.combine(back(self.today, count, unit), self.wall.time()))

    def part(self, span: Span, unit: str, part: str) -> Span:
        """The part of a span that its words name: "first week", "morning". A unit without such a part stays whole."""
        if part.endswith(" days"):
            part = _ENDS[part.split(maxsplit=1)[0]]
        first = self.day_of(span.start)
        if unit == "week" and part in THIRDS and first.weekday() == 0:
            begin, end = _WEEK_THIRDS[THIRDS[part]]
            return self.days(first + begin * DAY, end - begin)
        if unit == "day" and part in DAY_PARTS:
            return self.day_part(first, part)
        if unit in {"day", "holiday"} and part in _WEEK_PARTS:
            begin, length = _WEEK_PARTS[part]
            return self.days(first + (begin - first.weekday()) * DAY, length)
        if unit == "holiday" and part.endswith("day") and " " in part:
            return self.days(*_days_of(first, self.day_of(span.end), unit, part))
        if unit == "month" and " " not in part and part[0] in "0123456789":
            return self.day(first.replace(day=int(part[:-2])))
        if unit not in _MONTHS or (part not in THIRDS and " " not in part):
            return span
        return self.days(*_days_of(first, later(first, _MONTHS[unit]), unit, part))

    def away(self, span: Span, count: int, unit: str, direction: str) -> Span:
        """The one unit that lies `count` units before the span begins or after it ends."""
        if direction == "before":
            first = self.day_of(span.start)
            return self.days(back(first, count, unit), back(first, count - 1, unit))
        after = self.day_of(span.end)
        return self.days(back(after, 1 - count, unit), back(after, -count, unit))

    def around(self, span: Span, unit: str, days: int) -> Span:
        """A day or a holiday with a few days on either side (R8); longer units are vague enough."""
        if unit not in {"day", "holiday"}:
            return span
        return self.days(self.day_of(span.start) - days * DAY, self.day_of(span.end) + days * DAY)

    def next_to(self, span: Span, days: int, direction: str) -> Span:
        """So many days right before the span, or right after it."""
        first = self.day_of(span.start) - days * DAY if direction == "before" else self.day_of(span.end)
        return self.days(first, days)

    def edge(self, span: Span, first: bool, count: int, unit: str) -> Span:
        """The first or the last two weeks of a span, or so many days, weekends or months."""
        begin, end = self.day_of(span.start), self.day_of(span.end)
        unit = "week" if unit == "weekend" else unit
        cut = back(begin, -count, unit) if first else back(end, count, unit)
        return self.days(begin, min(cut, end)) if first else self.days(max(cut, begin), end)

    def days_from_middle(self, span: Span, step: int) -> Span:
        """So many days from a holiday, by its second day of several or the next: people count from either."""
        begin, end = self.day_of(span.start), self.day_of(span.end)
        length = (end - begin).days
        return self.days(begin + DAY * ((length - 1) // 2 + step), min(length, 2))


def _days_of(first: date, after: date, unit: str, part: str) -> tuple[date, date]:
    """First day, and the day after the last one, of a part of a longer unit."""
    if part in THIRDS:
        if unit == "month":
            cuts = [first, *(first.replace(day=day) for day in _MONTH_CUTS), after]
        else:
            cuts = [first, *(later(first, months) for months in _STEPS[unit])]
        return cuts[THIRDS[part]], cuts[THIRDS[part] + 1]
    which, kind = part.split()
    number = ordinal(which)
    if kind == "week":  # days 1-7, 8-14 and so on; the last week is the last seven days (R8)
        begin = after - WEEK if number < 0 else first + WEEK * (number - 1)
        return begin, begin + WEEK
    if kind == "weekend":
        day = _nth_day(first, after, number, "saturday")
        return day, day + 2 * DAY
    if kind.endswith("day"):
        day = _nth_day(first, after, number, kind)
        return day, day + DAY
    if unit == "month":
        middle = first + 15 * DAY
        return (first, middle) if number == 1 else (middle, after)
    parts = 2 if kind == "half" else 4
    length = _MONTHS[unit] // parts
    begin = later(first, length * (number - 1 if number > 0 else parts - 1))
    return begin, later(begin, length)


def _nth_day(first: date, after: date, number: int, kind: str) -> date:
    """The first or last day, or the first or last Monday."""
    if kind == "day":
        return after - DAY if number < 0 else first + (number - 1) * DAY
    if number < 0:
        return after - DAY * (1 + (after.weekday() - 1 - weekday_number(kind)) % 7)
    return first + DAY * ((weekday_number(kind) - first.weekday()) % 7 + 7 * (number - 1))


def in_utc(value: datetime) -> datetime:
    """`value` in UTC. One without a zone is taken as UTC, never in the machine's zone."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def later(day: date, months: int) -> date:
    """Adds months to a day, which becomes the last day of the month if that is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def back(day: date, count: int, unit: str) -> date:
    """The day `count` days, weeks, months, quarters or years before; a negative count goes forward."""
    if unit in {"day", "week"}:
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    return later(day, -count * {"month": 1, "quarter": 3, "year": 12}[unit])


def easter(year: int) -> date:
    """Easter Sunday in the Gregorian calendar, by Gauss and Butcher."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)
