"""So many days, weeks or years away: two weeks ago, in ten days, a fortnight from now, a week on Friday."""

from __future__ import annotations

import re
from datetime import timedelta

from fivefold.text.calendar_words import NUMBERS, WEEKDAY, weekday_number
from fivefold.text.time_grammar.dates.forms import form
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.periods import DAY, Span, later
from fivefold.text.time_grammar.words import lower, number

UNIT_DAYS = {"day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
FARTHEST = 999
"""The largest number of units that is read."""
_COUNT = rf"(?P<count>(?:a )?couple(?: of)?|half a|\d{{1,3}}|{'|'.join(NUMBERS)})"
_UNIT = r"(?P<unit>day|night|week|fortnight|month|year)s?"
_UNITS = "day days night nights week weeks fortnight fortnights month months year years"
_FEW = {"day": (5, 2), "night": (5, 2), "week": (35, 14), "month": (90, 30), "year": (1826, 730)}
"""“A few weeks”: from and to in days, as the settings of questions have them (R8)."""
_LASTING = re.compile(
    r"\b(?:once|twice|times|only|just|done|finish\w*|complet\w*|back|first time|much)\s+$|\bfor (?:the )?\S+ \S+\s+$",
    re.I,
)


@form(
    "ago back now today",
    rf"{_COUNT} {_UNIT}(?P<half> and a half)? (?:ago|back(?= ?(?:$|[.,;!?)]))|(?P<ahead>from (?:now|today)))",
)
def ago(match: re.Match[str], saying: Saying) -> Span | None:
    return _away(saying, 1 if match["ahead"] else -1, match)


@form("ago", "(?:a few|few|several|some) (?P<unit>day|week|month|year)s? ago")
def few_ago(match: re.Match[str], saying: Saying) -> Span | None:
    far, near = _FEW[lower(match["unit"])]
    return saying.days(saying.today - far * DAY, far - near + 1)


@form(_UNITS, rf"in {_COUNT} {_UNIT}(?P<half> and a half)?(?:['’]s?)?(?: time)?(?! (?:ago|of|or so of)\b)")
def ahead(match: re.Match[str], saying: Saying) -> Span | None:
    """A story of the past that took ten days names no day."""
    if _LASTING.search(match.string, max(0, match.start() - 30), match.start()):
        return None
    if saying.tense(*match.span()) == "past" and not re.search(r"time$", match[0]):
        return None
    return _away(saying, 1, match)


@form(_UNITS, "in (?:a few|few|several) (?P<unit>day|week|month|year)s?(?:['’] time)?")
def few_ahead(match: re.Match[str], saying: Saying) -> Span | None:
    if saying.tense(*match.span()) == "past":
        return None
    far, near = _FEW[lower(match["unit"])]
    return saying.days(saying.today + near * DAY, far - near + 1)


@form(
    "week weeks fortnight fortnights",
    rf"{_COUNT} (?P<unit>week|fortnight)s? (?:(?:on|from|to) (?P<weekday>{WEEKDAY})|(?P<near>today|tomorrow))",
)
def week_on(match: re.Match[str], saying: Saying) -> Span | None:
    """A week on Friday is the Friday after the coming one."""
    days = _number(match["count"]) * UNIT_DAYS[lower(match["unit"])]
    if match["near"]:
        step = 1 if lower(match["near"]) == "tomorrow" else 0
    else:
        step = (weekday_number(match["weekday"]) - saying.today.weekday()) % 7
    return saying.day(saying.today + DAY * (step + int(days)))


def _number(word: str) -> float:
    word = lower(word)
    return 0.5 if word == "half a" else number(word)


def _away(saying: Saying, direction: int, match: re.Match[str]) -> Span:
    count, unit = _number(match["count"]) + 0.5 * bool(match["half"]), lower(match["unit"])
    return around(saying, direction * count, unit)


def around(saying: Saying, count: float, unit: str) -> Span:
    """A day is that day; anything longer is one unit wide around it, and half a year a quarter (R8)."""
    if abs(count) > FARTHEST:
        raise OverflowError("too far away")
    width, middle = UNIT_DAYS[unit], saying.today + timedelta(days=round(count * UNIT_DAYS[unit]))
    if unit == "year":
        middle, width = later(saying.today, round(12 * count)), width if count == int(count) else 91
    if unit == "fortnight":
        width = 7
    return saying.day(middle) if width == 1 else saying.days(middle - DAY * (width // 2), width)
