"""The time a question asks about: "last Tuesday", "in early June", "between May and July 2024".

A grammar of English that prefers the past: where an expression fits two times, it means the earlier one, unless the
caller looks ahead. It reads no clock and no time zone of the machine; the caller says when and where one asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from fivefold.text.time_grammar.grammar import terms_in
from fivefold.text.time_grammar.periods import EARLIEST, Calendar, Reach
from fivefold.text.time_grammar.ranges import both_times, one_time
from fivefold.text.time_grammar.readings import Term
from fivefold.text.time_grammar.settings import DEFAULTS, TimeSettings
from fivefold.values.query import Window
from fivefold.values.serialize import Value

__all__ = ["EARLIEST", "Found", "Reach", "TimeSettings", "find_window", "find_windows"]


@dataclass(frozen=True, slots=True)
class Found(Value):
    """A time expression and where it stands in the text."""

    window: Window
    start: int
    end: int


def find_window(
    text: str,
    now: datetime,
    zone: tzinfo = UTC,
    settings: TimeSettings = DEFAULTS,
    last_talk: datetime | None = None,
    reach: Reach = "past",
) -> Window | None:
    """The one window the question asks about, or None. Expressions that overlap are intersected."""
    terms = _terms(text, now, zone, settings, last_talk, reach)
    time = one_time(text, terms if reach == "past" else both_times(text, terms))
    return Window(time[0].start, time[0].end, time[1]) if time else None


def find_windows(
    text: str,
    now: datetime,
    zone: tzinfo = UTC,
    settings: TimeSettings = DEFAULTS,
    last_talk: datetime | None = None,
    reach: Reach = "past",
) -> list[Found]:
    """Every time expression of the text, in reading order."""
    return [
        Found(Window(term.reading.span.start, term.reading.span.end, text[term.start : term.end]), term.start, term.end)
        for term in _terms(text, now, zone, settings, last_talk, reach)
    ]


def _terms(
    text: str, now: datetime, zone: tzinfo, settings: TimeSettings, last_talk: datetime | None, reach: Reach
) -> list[Term]:
    try:
        calendar = Calendar(now, zone, settings, last_talk, reach)
    except (ValueError, OverflowError):  # the first or the last hours that a datetime can hold
        return []
    return terms_in(text, calendar)
