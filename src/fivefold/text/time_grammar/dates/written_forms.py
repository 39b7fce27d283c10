"""Dates as people write them: 2024-03-15, 15/03/2024, 15 March, May 3rd, 3 to 8 August, Friday the 14th."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date

from fivefold.text.calendar_words import MONTH_WORDS, WEEKDAY, month_number, weekday_number
from fivefold.text.time_grammar.dates.forms import form
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.disambiguate import COUNTED, is_dated_month
from fivefold.text.time_grammar.periods import DAY, Span, later
from fivefold.text.time_grammar.words import lower

_RANGE = "(?:{to}(?:the )?{last day})?"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)"
_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
_ONES = "first second third fourth fifth sixth seventh eighth ninth"
_SPELT = {word: number for number, word in enumerate(f"{_ONES} {_TEENS}".split(), 1)}
_SPELT |= {f"twenty-{word}": number for number, word in enumerate(_ONES.split(), 21)} | {
    "thirtieth": 30,
    "thirty-first": 31,
}
_WORDED = "|".join(sorted(_SPELT, key=len, reverse=True))
_ORDINAL_WORDS = f"{_ONES} {_TEENS} thirtieth"
_YEARLY = re.compile(r"\b(?:birthday|anniversary|born|name day)\b", re.IGNORECASE)
_CUE = re.compile(r"(?:\b(?:on|by|until|till|since|before|after|from|due|date|deadline):?|day,?)\s+$", re.IGNORECASE)
_NO_DAY = re.compile(
    r"\s(?!(?:at|in|and|or|for|to|till|until|from|with|we|i|he|she|they|it|my|our|the|is|was|will|this|next|last"
    r"|because|but|so|if|when|then|around|after|before|instead|works|morning|afternoon|evening|night|please|again|as"
    r"|by)\b)\w|\s+of\b|['’]s\b|-\w",
    re.IGNORECASE,
)


@form(
    "#-# #/# #.#",
    r"(?P<year>[12]\d{3})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?:T[\d:.]{2,15}(?:Z|[+-][\d:]{2,6})?)?(?!\d)",
)
def iso(match: re.Match[str], saying: Saying) -> Span | None:
    return saying.day(date(int(match["year"]), int(match["month"]), int(match["day"])))


@form(
    "#-# #/# #.#",
    r"(?<![./:-])(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})(?P=sign)(?P<year>(?:19|20)\d{2}|\d{2}(?![.\d]))(?!\d)",
)
def numeric(match: re.Match[str], saying: Saying) -> Span | None:
    """Day first unless it cannot be (R8). Two digits of a year need slashes, or two digits before each dot."""
    first, second, year = int(match["first"]), int(match["second"]), match["year"]
    if len(year) == 2:
        if match["sign"] == "-" or (match["sign"] == "." and len(match["first"] + match["second"]) < 4):
            return None
        year = f"20{year}"
    day, month = (second, first) if second > 12 else (first, second)
    return saying.day(date(int(year), month, day))


@form("#/#", r"(?<![\d./:-])(?P<first>\d{1,2})/(?P<second>\d{1,2})(?![\d/])")
def short_numeric(match: re.Match[str], saying: Saying) -> Span | None:
    """Only after a word that leads to a date, and only if one order makes a month: 25/12 does, 3/5 does not."""
    first, second = int(match["first"]), int(match["second"])
    if (first <= 12) == (second <= 12) or not _CUE.search(match.string, max(0, match.start() - 14), match.start()):
        return None
    day, month = (first, second) if first > 12 else (second, first)
    return saying.day(_yearly(match, saying, month, day))


@form("#/#", r"(?<![\d./:-])(?P<month>0?[1-9]|1[0-2])/(?P<year>20\d{2})(?![\d/])")
def month_and_year(match: re.Match[str], saying: Saying) -> Span | None:
    return saying.calendar.months(int(match["year"]), int(match["month"]))


@form("#.#", r"(?<![\d.])(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\d)")
def dotted(match: re.Match[str], saying: Saying) -> Span | None:
    """14.3. is day and month wherever it is written so."""
    return saying.day(_yearly(match, saying, int(match["month"]), int(match["day"])))


@form(_ORDINAL_WORDS, rf"(?:{WEEKDAY},? )?(?:the )?(?P<day>{_WORDED})(?P<last>)? of {{month}}(?:,? {{year}})?")
@form(MONTH_WORDS, "(?:{any weekday},? )?(?:the )?{day}\\.?" + _RANGE + "(?: of)? {month}(?:,? (?:of )?{year})?(?! 0)")
@form(
    MONTH_WORDS,
    "(?:{any weekday},? )?{month} (?:the )?{day}(?!:[0-9])(?:{to}(?:the )?{last day}(?! (?:of )?{any month}))?(?:,? "
    "{year})?" + COUNTED,
)
def worded(match: re.Match[str], saying: Saying) -> Span | None:
    """15 March, May 3rd or the fourth of July, with or without a year, and 3 to 8 August."""
    if not is_dated_month(match):
        return None
    month, day = month_number(match["month"]), _number(match["day"])
    first = date(int(match["year"]), month, day) if match["year"] else _yearly(match, saying, month, day)
    last = first.replace(day=int(match["last"])) if match["last"] else first
    if last < first:
        raise ValueError("a stretch that ends before it begins")
    return saying.calendar.days(first, last + DAY)


@form(
    "st nd rd th",
    rf"(?:(?P<weekday>{WEEKDAY}),? )?the {_ORDINAL}(?:{{to}}(?:the )?(?P<last>\d{{1,2}})(?:st|nd|rd|th))?",
)
@form("st nd rd th", rf"(?P<weekday>{WEEKDAY}),? {_ORDINAL}(?P<last>)?")
@form(
    _ORDINAL_WORDS,
    rf"(?:(?P<weekday>{WEEKDAY}),? |(?<=on\x20)|(?<=by\x20)|(?<=until\x20)"
    rf"|(?<=from\x20))the (?P<day>{_WORDED})(?P<last>)?",
)
def day_of_month(match: re.Match[str], saying: Saying) -> Span | None:
    """The 14th of this month or one next to it, as the tense says; "the 3rd floor" and "the 2nd time" are no days."""
    if not match["weekday"] and _NO_DAY.match(match.string, match.end()):
        return None
    tense = saying.tense(*match.span())
    days = [day for day in _months(saying, _number(match["day"])) if _on(day, match["weekday"])]
    first = saying.choose(days, tense or ("future" if match["weekday"] else ""))
    last = first.replace(day=int(match["last"])) if match["last"] else first
    if last < first:
        raise ValueError("a stretch that ends before it begins")
    return saying.calendar.days(first, last + DAY)


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _SPELT[lower(word)]


def _on(day: date, weekday: str | None) -> bool:
    return weekday is None or day.weekday() == weekday_number(lower(weekday))


def _months(saying: Saying, day: int) -> Iterator[date]:
    """The days of that number in the six months before and after."""
    first = saying.today.replace(day=1)
    for step in range(-6, 7):
        month = later(first, step)
        if 1 <= day <= monthrange(month.year, month.month)[1]:
            yield month.replace(day=day)


def _yearly(match: re.Match[str], saying: Saying, month: int, day: int) -> date:
    """Without a year: by the tense of its clause, or the one nearest to the day it was said."""
    tense = saying.tense(*match.span())
    if tense == "present" and _YEARLY.search(match.string, max(0, match.start() - 60), match.start()):
        tense = ""
    return saying.choose(_years(saying, month, day), tense)


def _years(saying: Saying, month: int, day: int) -> Iterator[date]:
    """That day in the years around; 29 February can stay away for eight years."""
    if not 1 <= month <= 12:
        raise ValueError("no month")
    reach = 8 if (month, day) == (2, 29) else 1
    for year in range(saying.today.year - reach, saying.today.year + reach + 1):
        if 1 <= year <= 9999 and 1 <= day <= monthrange(year, month)[1]:
            yield date(year, month, day)
