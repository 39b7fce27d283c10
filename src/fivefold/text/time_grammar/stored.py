"""Reading a stored text against the time it was said: the tense of the clause says which Saturday is meant."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import Literal

from fivefold.text.lexemes import IRREGULAR_PAST, NO_PAST, STATIVE_PAST, late_pattern
from fivefold.text.time_grammar.periods import DAY, DEFAULTS, UNIT_DAYS, Accepts, Calendar, Reading, Span, later
from fivefold.text.time_grammar.words import HABITS, Table
from fivefold.values import entities as extraction
from fivefold.values.validate import MAX_READ

Tense = Literal["past", "present", "future", ""]
_CLAUSE_CHARS = 240
"""Characters of a clause that are looked at on either side of a date."""

_SOON, _LONG_AGO = timedelta(days=95), timedelta(days=270)
"""A day of the year this near is meant also in the past tense, if the last one is that long ago: "keys on 15 June"."""

_BREAK = late_pattern(
    r"[.!?;:](?=\s|$)|\n|—| – | \(|, (?:and|but|so|then|because)\b|\b(?:but|because|while|although|though|whereas)\b"
)
_WORD = late_pattern(r"[^\W\d_]+")
_MARKS = (
    r"(?:\b|(?=['’]))(?:"
    r"(?P<future>\b(?:will|won['’]t|shall|gonna|going to|(?:have|has|got|need|needs|want|wants|hope|hopes|plan|plans"
    r"|remember|supposed|about|agreed|decided|promised|due|expected) to|must|should|can|can['’]t|could|would|might"
    r"|(?<!was )(?<!were )(?:noted|pencilled in|marked) for"
    r"|let['’]s|see you|don['’]t forget|remind|looking forward|tickets for|(?<!was )(?<!were )due(?! to))\b|['’]ll\b"
    r"|(?:\b(?:am|is|are)|['’](?:m|re)) (?:(?:not|now|also|all|just|still|only|both) )*[a-z]+ing\b)"
    r"|(?P<present>(?:\b(?:am|is|are)|['’](?:m|re))\b(?: (?:not|now|also|all|just|still|only"
    r"|already))*(?: [a-z]+ed\b)?|(?:\bha(?:ve|s)|['’](?:ve|s)) got\b|\b(?:and|i|we|they|you) (?:leave|go|fly|start"
    r"|move|meet|begin|travel|come|return|see|visit|get|finish|drive|take)\b|\b(?:starts|begins|leaves|comes|opens"
    r"|ends|flies|arrives|returns|retires|visits|moves|turns|goes|takes|gets|expires)\b)"
    rf"|(?P<past>\b(?:{STATIVE_PAST}|didn['’]t|{IRREGULAR_PAST}|(?-i:sat)|been|born|done|gone"
    rf"|(?!(?:{NO_PAST})\b)[a-z]{{2,}}ed)\b))"
)
_MARK = late_pattern(_MARKS, re.IGNORECASE)
_LOWER_MARK = late_pattern(_MARKS)
_FOREIGN_PAST = late_pattern(
    r"\b(?:war|waren|hatten?|wurden?|ging(?:en)?|kam(?:en)?|gab|sah(?:en)?|traf(?:en)?|ge[a-zäöü]{2,}(?:t|en)"
    r"|fu[eií]\w*|er[ao]n?|estuv\w+|estaba\w*|hab[ií]a\w*|he|hemos|était|étais|étions|ai|avons|sommes|suis all\w+|ho"
    r"|hanno|abbiamo|siamo|sono (?:stat|andat)\w+|stat[oaie]|foi|fomos|estava\w*|tive|tivemos|(?!zwei|drei"
    r"|frei)\w{2,}(?:ó|ou|ei|amos|imos))\b",
    re.IGNORECASE,
)
_ARRANGED = late_pattern(
    r"\b(?:book|schedul|reschedul|arrang|mov|postpon|push|plann|invit|sign|register|confirm|reserv|fix|set|shift"
    r"|delay)(?:ed|ing|s)?\b|\b(?:made|got|have|has|had to make) (?:an?|the|my|our) (?:\w+ ){0,2}appointment\b",
    re.IGNORECASE,
)
_UNTIL = late_pattern(r"\b(?:for|to|until|till|by|starting|from)(?: the)?\s$", re.IGNORECASE)
_ONWARDS = late_pattern(r"\b(?:(?P<since>since)|(?P<from>from|starting)|until|till|til|by)(?: the)?\s$", re.IGNORECASE)
_HABIT = late_pattern(
    r"\b(?:every|each|always|usually|normally|often|generally|weekly|typically|jeden|jede|immer|cada|siempre|tous les"
    r"|toutes les|toujours|ogni|sempre|todos os|todas as|todos los|todas las)\b",
    re.IGNORECASE,
)
_OPENS = late_pattern(
    r"(?P<word>\b(?:from|between|vom|von|zwischen|del|de|desde|entre|du|dal|fra|tra))(?:\sthe)?\s$", re.I
)
_JOINS = late_pattern(
    r"\s*[-–—]\s*|\s(?P<word>to|until|till|through|and|bis|zum|und|al|hasta|y|au|et|e|ao|até)(?:\s(?:the|zum|el))?\s",
    re.I,
)
_BOTH = frozenset("and und y et e".split())
_BETWEEN = frozenset("between zwischen entre fra tra".split())
_EVERY_YEAR = late_pattern(r"\b(?:birthday|anniversary|born|name day)\b", re.IGNORECASE)


class DatedText(Calendar):
    """A text with the moment it was said, and the tense of its clauses."""

    __slots__ = ("text",)

    def __init__(self, text: str, now: datetime, zone: tzinfo) -> None:
        super().__init__(now, zone, DEFAULTS)
        self.text: str = text

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Beginning and end of the clause around a date."""
        first = max(0, start - _CLAUSE_CHARS)
        for stop in _BREAK.finditer(self.text, first, start):
            first = stop.end()
        closing = _BREAK.search(self.text, end, end + _CLAUSE_CHARS)
        return first, closing.start() if closing else min(len(self.text), end + _CLAUSE_CHARS)

    def tense(self, start: int, end: int, foreign: bool = False) -> Tense:
        """True if the verb of the clause speaks of the past or the future; the last verb before the date decides."""
        first, last = self.clause(start, end)
        if foreign:
            return "past" if _FOREIGN_PAST.search(self.text, first, last) else ""
        if _UNTIL.search(self.text, max(0, start - 14), start) and _ARRANGED.search(self.text, first, start):
            return "future"
        marks, text = self._marks()
        ahead = list(marks.finditer(text, first, start))
        mark = ahead[-1] if ahead else marks.search(text, end, last)
        cue = _ONWARDS.search(self.text, max(0, start - 14), start)
        if cue and (mark is None or not mark["past"] or cue["since"]):
            return "past" if cue["since"] else "future"
        if mark is None or (cue and cue["from"]):
            return ""
        return "future" if mark["future"] else "present" if mark["present"] else "past"

    def story(self) -> Tense:
        """The tense of the whole text, for a clause without a verb: past if most verbs are, else future."""
        marks, text = self._marks()
        past = [mark["past"] is not None for mark in marks.finditer(text[:_CLAUSE_CHARS])]
        return "past" if 2 * sum(past) > len(past) else "future"

    def _marks(self) -> tuple[re.Pattern[str], str]:
        """The verbs' expression and the text for it; in lower case it is faster, but "Sat" would look like a verb."""
        lower = self.text.lower()
        if self.text.isascii() and lower.count("sat") == self.text.count("sat"):
            return _LOWER_MARK, lower
        return _MARK, self.text

    def is_habit(self, start: int, end: int) -> bool:
        """True if the clause says what happens again and again."""
        return _HABIT.search(self.text, *self.clause(start, end)) is not None

    def is_alone(self, start: int, end: int) -> bool:
        """True if the clause has no other word than the date and what leads to it."""
        first, last = self.clause(start, end)
        words = _WORD.findall(self.text[first:start] + " " + self.text[end:last])
        return all(word.casefold() in ("on", "the", "by", "in", "am", "el", "le", "il") for word in words)

    def choose(self, days: Iterable[date], tense: Tense) -> date:
        """The one that the tense means: the last past one, the next one to come, or else the nearest."""
        options = sorted(days)
        past = [day for day in options if day <= self.today]
        ahead = [day for day in options if day >= self.today]
        if tense == "past" and past:
            soon = ahead and ahead[0] - self.today < _SOON and self.today - past[-1] > _LONG_AGO
            return ahead[0] if soon else past[-1]
        if tense in ("future", "present") and ahead:
            return ahead[0]
        return min(options, key=lambda day: abs(day - self.today))

    def weekday(self, number: int, tense: Tense) -> date:
        """The day of that number in the last or the next seven days; without a tense within three days of today."""
        ahead = (number - self.today.weekday()) % 7
        if tense == "past":
            return self.today + DAY * (ahead - 7)
        if tense:
            return self.today + DAY * (ahead or 7)
        return self.today + DAY * (ahead if ahead <= 3 else ahead - 7)

    def yearly(
        self,
        match: re.Match[str],
        which: str,
        unit: str,
        make: Callable[[int], Span],
        accepts: Accepts | None = None,
        foreign: bool = False,
    ) -> Reading | None:
        """Reads what happens once a year by tense or nearness; a season is as near as its beginning."""
        if which in HABITS:
            return None
        spans = [make(self.today.year + step) for step in (-2, -1, 0, 1)]
        today = self.day(self.today)
        past = [span for span in spans if span.start < today.end]
        ahead = [span for span in spans if span.end > today.start]
        if which in ("last", "past", "this past", "previous"):
            return Reading([span for span in spans if span.end <= today.start][-1], unit)
        if which in ("next", "coming", "this coming"):
            return Reading(next(span for span in spans if span.start >= today.end), unit)
        if which == "this" and unit != "season":
            return Reading(spans[2], unit)
        tense = self.tense(*match.span(), foreign)
        if tense == "past" or (which == "this" and past[-1].end > today.start):
            return Reading(past[-1], unit)
        if tense or which == "this":
            return Reading(ahead[0], unit)
        if unit == "season":
            return Reading(min(past[-1], ahead[0], key=lambda span: abs(span.start - self.now)), unit)
        return Reading(min(spans, key=lambda span: max(span.start - today.start, today.end - span.end)), unit)

    def day_of_year(self, match: re.Match[str], month: int, day: int, foreign: bool = False) -> date:
        """Without a year: by the tense of its clause, or the one nearest to the day it was said."""
        tense = self.tense(*match.span(), foreign)
        if tense == "present" and _EVERY_YEAR.search(match.string, max(0, match.start() - 60), match.start()):
            tense = ""
        reach = 8 if (month, day) == (2, 29) else 1  # 29 February can stay away for eight years
        years = range(max(1, self.today.year - reach), min(9999, self.today.year + reach) + 1)
        return self.choose([date(year, month, day) for year in years if day <= monthrange(year, month)[1]], tense)

    def units_away(self, count: float, unit: str) -> Span:
        """A day is that day; anything longer is one unit wide around it, and half a year a quarter (R8)."""
        if unit == "year":
            middle = later(self.today, round(12 * count))
            return self.unit_around(middle, unit) if count == int(count) else self.days(middle - 45 * DAY, 91)
        middle = self.today + timedelta(days=round(count * UNIT_DAYS[unit]))
        return self.unit_around(middle, "week" if unit == "fortnight" else unit)


told: Table[DatedText, Reading | Span] = Table(r"(?<![\w/])", r"(?![\w/])(?!-[a-z])")
"""The expressions that are read in stored texts."""


def dates_in(text: str, said_at: datetime, zone: tzinfo = UTC) -> tuple[extraction.Span, ...]:
    """The dates of `text` that can be read, the first of very many, as days of the zone it was said in."""
    try:
        saying = DatedText(text, said_at, zone)
    except (ValueError, OverflowError):  # the first or the last hours that a datetime can hold
        return ()
    joined: list[tuple[int, int, Span]] = []
    for start, end, meaning in islice(told.read(text, saying), MAX_READ):
        span = meaning.span if isinstance(meaning, Reading) else meaning
        if span.start < span.end:
            whole = _whole(text, joined[-1], (start, end, span)) if joined else None
            if whole:
                joined[-1] = whole
            else:
                joined.append((start, end, span))
    return tuple(extraction.Span(span.start, span.end, text[start:end]) for start, end, span in joined)


def _whole(text: str, first: tuple[int, int, Span], last: tuple[int, int, Span]) -> tuple[int, int, Span] | None:
    """The stretch whose ends these two dates are: "from 28 June to 3 July", "between Monday and Thursday"."""
    (start, end, begin), (next_start, next_end, close) = first, last
    joins = _JOINS.fullmatch(text, end, next_start)
    if joins is None or begin.start >= close.start or begin.end > close.end:
        return None
    opens = _OPENS.search(text, max(0, start - 16), start)
    word = (joins["word"] or "").casefold()
    if word in _BOTH and (opens is None or opens["word"].casefold() not in _BETWEEN):
        return None
    if word and opens is None and begin.end - begin.start > close.end - close.start:
        return None
    return start, next_end, Span(begin.start, close.end)
