"""Calendar arithmetic in the caller's zone. Days begin at local midnight, so one may last 23 or 25 hours."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from fivefold.text.time_grammar.settings import TimeSettings

Reach = Literal["past", "any", "ahead"]
"""How far a reading goes: the past and what names its year (R8); words of the future and vague ones as well; and what
comes round read as the coming one."""

EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
"""Where "until" and "before" begin (R8)."""
DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)
SEASONS = ("summer", "autumn", "winter", "spring")
"""In the order they follow the months that `summer_months` names."""
DAY_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""Hours from the day's midnight (R8); the night runs into the next morning."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in UTC; the end is exclusive."""

    start: datetime
    end: datetime

    def overlap(self, other: Span) -> Span | None:
        both = Span(max(self.start, other.start), min(self.end, other.end))
        return both if both.start < both.end else None


class Calendar:
    """The moment a question is asked, in the zone of the person who asks it."""

    __slots__ = ("last_talk", "now", "reach", "settings", "today", "wall", "zone")

    def __init__(
        self,
        now: datetime,
        zone: tzinfo,
        settings: TimeSettings,
        last_talk: datetime | None = None,
        reach: Reach = "past",
    ) -> None:
        self.now = in_utc(now)
        self.zone = zone
        self.reach = reach
        self.settings = settings
        self.last_talk = None if last_talk is None else in_utc(last_talk)
        self.wall = self.local(self.now)
        self.today = self.wall.date()

    def local(self, instant: datetime) -> datetime:
        """Wall time without its zone; `fold` keeps apart the hours that come twice."""
        return instant.astimezone(self.zone).replace(tzinfo=None)

    def instant(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.zone).astimezone(UTC)

    def day_of(self, instant: datetime) -> date:
        return self.local(instant).date()

    def midnight(self, day: date) -> datetime:
        return self.instant(datetime.combine(day, time()))

    def days(self, first: date, after: date) -> Span:
        """From the first moment of `first` to the first moment of `after`."""
        return Span(self.midnight(first), self.midnight(after))

    def day(self, day: date) -> Span:
        return self.days(day, day + DAY)

    def day_part(self, day: date, part: str) -> Span:
        begin, end = (datetime.combine(day, time()) + timedelta(hours=hour) for hour in DAY_PARTS[part])
        return Span(self.instant(begin), self.instant(end))

    def months(self, year: int, month: int, count: int = 1) -> Span:
        first = date(year, month, 1)
        return self.days(first, later(first, count))

    def season(self, year: int, name: str) -> Span:
        """The season that begins in `year`; a winter may end in the next."""
        month = self.settings.summer_months[0] + 3 * SEASONS.index(name)
        return self.months(year, (month - 1) % 12 + 1, 3)

    def this(self, unit: str) -> Span:
        """The running week, month, quarter or year, up to now (R8); to its end where one looks ahead."""
        if self.reach == "ahead":
            return self.whole(unit)
        return self.to_now(self.midnight(self.first(unit)))

    def whole(self, unit: str, ahead: int = 0) -> Span:
        """The running week, month, quarter or year to its end, or one that lies `ahead`."""
        first = back(self.first(unit), -ahead, unit)
        return self.days(first, back(first, -1, unit))

    def first(self, unit: str) -> date:
        """The first day of the running week, month, quarter or year."""
        if unit == "week":
            return self.today - timedelta(days=self.today.weekday())
        month = {"month": self.today.month, "quarter": (self.today.month - 1) // 3 * 3 + 1, "year": 1}[unit]
        return self.today.replace(month=month, day=1)

    def to_now(self, start: datetime) -> Span:
        """From `start` to now; where that is no time at all, the present instant."""
        return Span(start, self.now + INSTANT if start == self.now else self.now)

    def ago(self, count: int, unit: str) -> datetime:
        """Now less `count` units: hours as time passes, all longer ones by the clock on the wall."""
        if unit in {"minute", "hour"}:
            return self.now - timedelta(**{f"{unit}s": count})
        return self.instant(datetime.combine(back(self.today, count, unit), self.wall.time()))


def in_utc(value: datetime) -> datetime:
    """`value` in UTC. One without a zone is taken as UTC, never in the machine's zone."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def later(day: date, months: int) -> date:
    """The same day `months` later, or the last day of that month."""
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
