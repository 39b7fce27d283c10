"""Weeks, months, quarters, seasons and years counted from the one it was said in: last week, the end of the month."""

from __future__ import annotations

import re
from datetime import date

from fivefold.text.time_grammar.dates.forms import form
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.disambiguate import is_season
from fivefold.text.time_grammar.parts import THIRDS, part_of
from fivefold.text.time_grammar.periods import DAY, Span, back
from fivefold.text.time_grammar.words import lower, number

_WEEK_THIRDS = ((0, 2), (2, 5), (4, 7))
"""First and last day after Monday of an early, a middle and a late part of a week."""
_PART = (
    r"(?:(?:the )?(?P<part>very beginning|beginning|start|middle|end|early|mid|late|later|earlier)(?: of| in)?[ -])?"
)
_STEP = {"last": -1, "previous": -1, "this": 0, "current": 0, "the": 0, "next": 1, "coming": 1, "following": 1}
_SEASON = "spring|summer|autumn|fall|winter"


@form(
    "week month quarter year",
    _PART + "(?P<rolling>the )?(?P<which>last|past|previous|this past|this coming|this|current|next|coming|the) "
    r"(?P<unit>week|month|quarter|year)(?! (?:of|before|after|or so)\b)",
)
def running(match: re.Match[str], saying: Saying) -> Span | None:
    """The calendar unit. "The last month" and "the past year" end today; "the month" counts only with a part."""
    part, which, unit = lower(match["part"]).removeprefix("very "), lower(match["which"]), lower(match["unit"])
    if "past" in which or (match["rolling"] and which == "last"):
        return saying.calendar.days(back(saying.today, 1, unit), saying.today + DAY)
    if which == "the" and (not part or part in ("later", "earlier", "late", "early")):
        return None
    return _narrowed(saying, _unit(saying, unit, _STEP[which.removeprefix("this ")]), unit, part)


@form("week month year", "(?:the )?(?P<unit>week|month|year) (?P<far>before last|after next)")
def far(match: re.Match[str], saying: Saying) -> Span | None:
    return _unit(saying, lower(match["unit"]), -2 if lower(match["far"]) == "before last" else 2)


@form("new", "(?:in|into|early in|until|till|after) the new year")
def new_year(match: re.Match[str], saying: Saying) -> Span | None:
    """January, the one that is nearer by the tense."""
    januaries = [date(saying.today.year + step, 1, 1) for step in (0, 1)]
    first = saying.choose(januaries, saying.tense(*match.span()))
    return saying.calendar.months(first.year, 1)


@form(
    "days weeks months years",
    "(?P<lead>in |over |within |during |for )?the (?P<which>next|coming|last|past) (?:(?P<few>few|several)"
    "|{count}) {unit}",
)
def rolling(match: re.Match[str], saying: Saying) -> Span | None:
    unit = lower(match["unit"])
    count = (4 if unit == "day" else 3) if match["few"] else number(match["count"])
    if lower(match["which"]) in ("next", "coming"):
        return saying.calendar.days(saying.today, back(saying.today, -count, unit) + DAY)
    return saying.calendar.days(back(saying.today, count, unit), saying.today + DAY)


@form(
    "spring summer autumn fall winter",
    _PART + rf"(?:(?P<which>last|this past|this coming|this|next|coming|every|each) )?(?:the )?(?P<season>{_SEASON})"
    "(?:(?: of)? {year})?",
)
def season(match: re.Match[str], saying: Saying) -> Span | None:
    word, which = lower(match["season"]), lower(match["which"])
    name = "autumn" if word == "fall" else word
    if match["year"]:
        span = saying.calendar.season(int(match["year"]), name)
    elif which in ("every", "each") or not is_season(match.string, match.end(), word, _season_cue(match)):
        return None
    else:
        span = _season(match, saying, name, which)
    return part_of(saying.calendar, span, "season", _third(match)) if _third(match) else span


def _season_cue(match: re.Match[str]) -> str:
    if match["which"] or match["part"]:
        return "in"
    ahead = re.search(r"(\w+)( the)? ?$", match.string[max(0, match.start() - 14) : match.start("season")])
    return lower(ahead[0]) if ahead else ""


def _season(match: re.Match[str], saying: Saying, name: str, which: str) -> Span:
    """The last one over, the next one to begin, or the one that the tense means."""
    seasons = [saying.calendar.season(saying.today.year + step, name) for step in (-2, -1, 0, 1)]
    now = saying.calendar.now
    if which in ("last", "this past"):
        return [span for span in seasons if span.end <= now][-1]
    if which in ("next", "coming", "this coming"):
        return next(span for span in seasons if span.start > now)
    past = [span for span in seasons if span.start <= now]
    ahead = [span for span in seasons if span.end > now]
    tense = saying.tense(*match.span())
    if tense == "past" or (which == "this" and past[-1].end > now):
        return past[-1]
    if tense or which == "this":
        return ahead[0]
    return min(past[-1], ahead[0], key=lambda span: abs(span.start - now))


def _third(match: re.Match[str]) -> str:
    part = lower(match["part"]).removeprefix("very ")
    return part if part in THIRDS else ""


def _unit(saying: Saying, unit: str, step: int) -> Span:
    first = saying.calendar.first(unit)
    return saying.calendar.days(back(first, -step, unit), back(first, -step - 1, unit))


def _narrowed(saying: Saying, span: Span, unit: str, part: str) -> Span:
    """The part of a unit that a word names; what is later or earlier is so from today on."""
    if part in ("later", "earlier"):
        today = saying.calendar.day(saying.today)
        narrow = Span(today.start, span.end) if part == "later" else Span(span.start, today.end)
        return narrow if narrow.start < narrow.end else span
    if unit == "week" and part:
        first, last = _WEEK_THIRDS[THIRDS[part]]
        monday = saying.calendar.day_of(span.start)
        return saying.calendar.days(monday + DAY * first, monday + DAY * last)
    return part_of(saying.calendar, span, unit, part) if part else span
