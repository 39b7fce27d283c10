"""Expressions of time in English and a few of other languages, in one table with two policies.

A question looks back: where an expression fits two times it means the earlier one, unless the caller looks ahead. A
stored text follows the tense of its clause. No clock and no time zone of the machine is read; the caller says when and
where.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from fivefold.text.time_grammar import foreign, named, relative
from fivefold.text.time_grammar.periods import DEFAULTS, EARLIEST, TimeSettings
from fivefold.text.time_grammar.questions import Question, Reach, Term, both_times, one_time, terms_in
from fivefold.text.time_grammar.stored import dates_in
from fivefold.values.query import Window
from fivefold.values.serialize import Value

__all__ = ["EARLIEST", "Found", "Reach", "TimeSettings", "dates_in", "find_window", "find_windows"]

TABLES = (relative, named, foreign)
"""The expressions register when these load."""


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
        question = Question(now, zone, settings, last_talk, reach)
    except (ValueError, OverflowError):  # the first or the last hours that a datetime can hold
        return []
    return terms_in(text, question)
