"""Months, quarters, years and holidays by their name: in June, early March 2024, since 2016, over Christmas."""

from __future__ import annotations

import re
from collections.abc import Callable

from fivefold.text.calendar_words import MONTH_WORDS, month_number
from fivefold.text.time_grammar.dates.forms import form
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.disambiguate import COUNTED, is_month, is_qualified_month
from fivefold.text.time_grammar.holidays import HOLIDAY, holiday_name, holiday_span
from fivefold.text.time_grammar.parts import part_of
from fivefold.text.time_grammar.periods import Span
from fivefold.text.time_grammar.words import lower

_PIECE = "beginning|start|middle|end|early|mid|late|(?:first|last) (?:week|weekend|day|half)"
_PART = rf"(?:(?:the )?(?P<part>{_PIECE})(?: of| in)?[ -])?"
_PLAIN = frozenset("january february july september october november december".split())
"""Months whose names mean nothing else; with a capital they need no word before them."""
_CUE = re.compile(r"([^\W\d_]+)[ -]+$")
_NUMBER = re.compile(r"\d\s$")
_TO = re.compile(r"\s(?:to|until|till|through|on)\b|\s?[-–]")
_HABITS = frozenset({"every", "each", "most", "any"})
_THINGS = re.compile(
    r"\s(?:trees?|cards?|presents?|gifts?|cookies|jumpers?|sweaters?|carols?|songs?|movies?|films?|pudding|cake|lights"
    r"|decorations?|eggs?|bunny|island|costumes?|resolutions?|stockings?|ornaments?|baking|concert)\b"
    r"|['’]s\s(?:resolution|gift)",
    re.IGNORECASE,
)


@form(
    MONTH_WORDS,
    _PART + "(?:(?P<which>last|this past|this coming|this|past|next|coming|every|each|most|any) )?"
    "{month}(?:,? (?:of )?{year})?(?! ?[0-9])",
)
def month(match: re.Match[str], saying: Saying) -> Span | None:
    """A month with its year, or the one that the tense means: "in June", "early May", "since January"."""
    which, number = lower(match["which"]), month_number(match["month"])
    if which in _HABITS or _NUMBER.search(match.string, max(0, match.start() - 3), match.start()):
        return None
    if not (match["year"] or _is_month(match, which)):
        return None
    if match["year"]:
        span = saying.calendar.months(int(match["year"]), number)
    else:
        span = _occurrence(match, saying, which, lambda year: saying.calendar.months(year, number))
    return part_of(saying.calendar, span, "month", _part(match)) if match["part"] else span


def _part(match: re.Match[str]) -> str:
    part = lower(match["part"])
    return part.replace("weekend", "saturday")


def _is_month(match: re.Match[str], which: str) -> bool:
    start, end = match.span("month")
    if which:
        return is_qualified_month(match.string, start, end, which)
    if match["part"]:
        return is_month(match.string, start, end, "part")
    before = _CUE.search(match.string, max(0, start - 14), start)
    cue = lower(before[1]) if before else ""
    bare = match["month"][0].isupper() and lower(match["month"]) in _PLAIN
    opens = cue == "from" and _TO.match(match.string, end)
    return bare or is_month(match.string, start, end, "in" if opens or cue in ("for", "till") else cue)


def _occurrence(match: re.Match[str], saying: Saying, which: str, make: Callable[[int], Span]) -> Span:
    """Which year's: the last one over, the next one to begin, or the one that the tense or nearness means."""
    spans = [make(saying.today.year + step) for step in (-1, 0, 1)]
    today = saying.calendar.day(saying.today)
    past = [span for span in spans if span.start < today.end]
    ahead = [span for span in spans if span.end > today.start]
    if which in ("last", "past", "this past"):
        return [span for span in spans if span.end <= today.start][-1]
    if which in ("next", "coming", "this coming"):
        return next(span for span in spans if span.start >= today.end)
    if which == "this":
        return spans[1]
    tense = saying.tense(*match.span())
    if tense == "past" and past:
        return past[-1]
    if tense and ahead:
        return ahead[0]
    return min(spans, key=lambda span: max(span.start - today.start, today.end - span.end))


@form(
    "####",
    r"(?P<cue>in|since|until|till|by|during|from|around|of|before|after|back in|early|mid|late|end of|year"
    r"|class of)[ -](?P<year>(?:19|20)\d{2})(?:(?: ?[-–] ?| (?:to|until|till|through) )(?P<last>(?:19|20)\d{2}|\d{2}))?"
    r"(?!\d|[./:,]\d|-\d)" + COUNTED,
)
def year(match: re.Match[str], saying: Saying) -> Span | None:
    """A year after a word that leads to a time."""
    first = int(match["year"])
    last = (
        int(match["last"] if len(match["last"] or "") == 4 else f"{first // 100}{match['last']}")
        if match["last"]
        else first
    )
    if last < first:
        raise ValueError("a stretch that ends before it begins")
    span = saying.calendar.months(first, 1, 12 * (last - first + 1))
    cue = lower(match["cue"]).removesuffix(" of")
    return part_of(saying.calendar, span, "year", cue) if cue in ("early", "mid", "late", "end") else span


@form("q", r"q(?P<number>[1-4])(?:(?: of |,? |/){year})?|(?P<before>20\d{2})[ -]?q(?P<after>[1-4])")
def quarter(match: re.Match[str], saying: Saying) -> Span | None:
    number = int(match["number"] or match["after"])
    if match["year"] or match["before"]:
        return saying.calendar.months(int(match["year"] or match["before"]), 3 * number - 2, 3)
    return _occurrence(match, saying, "", lambda year: saying.calendar.months(year, 3 * number - 2, 3))


@form(
    "christmas xmas year years friday easter halloween valentine valentines thanksgiving",
    rf"(?P<greeting>happy |merry )?(?:(?P<which>last|this|next|every|each|most"
    rf"|any) )?(?P<name>{HOLIDAY})(?:,? (?:of )?{{year}})?",
)
def holiday(match: re.Match[str], saying: Saying) -> Span | None:
    """A holiday, unless it only describes a thing: "a Christmas card"."""
    which, name = lower(match["which"]), holiday_name(match["name"])
    if match["greeting"] or which in _HABITS or _THINGS.match(match.string, match.end()):
        return None
    if name in ("new year", "valentine") and not match["name"][0].isupper():
        return None
    if match["year"]:
        return holiday_span(saying.calendar, name, int(match["year"]))
    if not which and saying.is_habit(*match.span()):
        return None
    return _occurrence(match, saying, which, lambda year: holiday_span(saying.calendar, name, year))
