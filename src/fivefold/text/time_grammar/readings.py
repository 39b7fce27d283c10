"""The meaning of one expression: a span, and how it may be read again next to another one."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import count

from fivefold.text.time_grammar.periods import INSTANT, Calendar, Span, later

Latest = Callable[[datetime], Span]
"""The last occurrence that has begun by an instant."""
Accepts = Callable[[str], bool]
"""Whether the word before makes a doubtful word a time: "in" for a month, "on" for a weekday."""

YEAR = timedelta(days=366)
MONTH = timedelta(days=31)
WEEK = timedelta(days=7)
SKIPPED_YEARS = 9
"""29 February can stay away for eight years."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A span with its unit. What comes round again (a month, a weekday) has `latest` and `period`;
    what only counts after a certain word has `accepts`; `frame` is the calendar year behind "two years ago"."""

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
        latest = _through(change, self.latest)
        return replace(self, span=latest(now), unit=unit, latest=latest)


@dataclass(frozen=True, slots=True)
class Term:
    """A reading with its place in the text, the word before it, and whether it counts by itself."""

    start: int
    end: int
    reading: Reading
    word: str = ""
    word_start: int = 0
    sure: bool = True


def _through(change: Callable[[Span], Span], latest: Latest) -> Latest:
    def again(instant: datetime) -> Span:
        occurrence = latest(instant)
        for _ in range(2):
            if change(occurrence).start <= instant:
                break
            occurrence = latest(occurrence.start - INSTANT)
        return change(occurrence)

    return again


def recurring(
    calendar: Calendar, which: str, unit: str, latest: Latest, accepts: Accepts | None = None, period: timedelta = YEAR
) -> Reading | None:
    """What "June", "this June" and "last June" mean: the last one begun, or the last one over (R8)."""
    span = latest(calendar.now)
    if which in {"", "this"} and calendar.reach == "ahead" and span.end <= calendar.now:
        return Reading(_coming(latest, calendar.now, period), unit, accepts=None if which else accepts, explicit=True)
    if which == "":
        return Reading(span, unit, latest, period, accepts)
    if which == "this":
        return Reading(span, unit)
    if which in {"next", "coming"} and calendar.reach != "past":
        return Reading(_coming(latest, calendar.now, period), unit, explicit=True)
    if which in {"last", "past", "this past", "previous", "before last"}:
        for _ in range((span.end > calendar.now) + (which == "before last")):
            span = latest(span.start - INSTANT)
        return Reading(span, unit)
    return None


def _coming(latest: Latest, now: datetime, period: timedelta) -> Span:
    """The first occurrence that begins after now."""
    span = latest(now + period)
    before = latest(span.start - INSTANT)
    return before if before.start > now else span


def yearly(calendar: Calendar, make: Callable[[int], Span]) -> Latest:
    """The latest of what happens once a year; years that lack it are passed over."""

    def latest(instant: datetime) -> Span:
        for year in count(calendar.day_of(instant).year, -1):
            try:
                span = make(year)
            except ValueError:
                if calendar.day_of(instant).year - year > SKIPPED_YEARS:
                    raise
                continue
            if span.start <= instant:
                return span
        raise LookupError("no such day")

    return latest


def weekly(calendar: Calendar, weekday: int, days: int = 1) -> Latest:
    """The latest stretch of `days` that begins on `weekday`."""

    def latest(instant: datetime) -> Span:
        today: date = calendar.day_of(instant)
        first = today - timedelta(days=(today.weekday() - weekday) % 7)
        return calendar.days(first, first + timedelta(days=days))

    return latest


def monthly(calendar: Calendar, day: int) -> Latest:
    """The latest day of that number; months too short for it are passed over."""

    def latest(instant: datetime) -> Span:
        first = calendar.day_of(instant).replace(day=1)
        for months in range(4):
            month = later(first, -months)
            if day <= monthrange(month.year, month.month)[1]:
                span = calendar.day(month.replace(day=day))
                if span.start <= instant:
                    return span
        raise LookupError("no such day")

    return latest
