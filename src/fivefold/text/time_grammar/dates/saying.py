"""A text with the day it was said, and the tense of its clauses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Literal

from fivefold.text.patterns import IRREGULAR_PAST, NO_PAST, STATIVE_PAST
from fivefold.text.time_grammar.periods import DAY, Calendar, Span

Tense = Literal["past", "present", "future", ""]
FAR = 240
"""How far a clause is looked at on either side of a date."""

SOON, AGO = timedelta(days=95), timedelta(days=270)
"""A day of the year this near is meant also in the past tense, if the last one is that long ago: "keys on 15 June"."""

_BREAK = re.compile(
    r"[.!?;:](?=\s|$)|\n|—| – | \(|, (?:and|but|so|then|because)\b|\b(?:but|because|while|although|though|whereas)\b"
)
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = (
    r"(?:\b|(?=['’]))(?:"
    r"(?P<future>\b(?:will|won['’]t|shall|gonna|going to|(?:have|has|got|need|needs|want|wants|hope|hopes|plan|plans"
    r"|remember|supposed|about|agreed|decided|promised|due|expected) to|must|should|can|can['’]t|could|would|might"
    r"|let['’]s|see you|don['’]t forget|remind|looking forward|tickets for|(?<!was )(?<!were )due(?! to))\b|['’]ll\b"
    r"|(?:\b(?:am|is|are)|['’](?:m|re)) (?:(?:not|now|also|all|just|still|only|both) )*[a-z]+ing\b)"
    r"|(?P<present>(?:\b(?:am|is|are)|['’](?:m|re))\b(?: (?:not|now|also|all|just|still|only"
    r"|already))*(?: [a-z]+ed\b)?|(?:\bha(?:ve|s)|['’](?:ve|s)) got\b|\b(?:and|i|we|they|you) (?:leave|go|fly|start"
    r"|move|meet|begin|travel|come|return|see|visit|get|finish|drive|take)\b|\b(?:starts|begins|leaves|comes|opens"
    r"|ends|flies|arrives|returns|retires|visits|moves|turns|goes|takes|gets|expires)\b)"
    rf"|(?P<past>\b(?:{STATIVE_PAST}|didn['’]t|{IRREGULAR_PAST}|(?-i:sat)|been|born|done|gone"
    rf"|(?!(?:{NO_PAST})\b)[a-z]{{2,}}ed)\b))"
)
_MARK = re.compile(_MARKS, re.IGNORECASE)
_LOWER_MARK = re.compile(_MARKS)
_FOREIGN_PAST = re.compile(
    r"\b(?:war|waren|hatten?|wurden?|ging(?:en)?|kam(?:en)?|gab|sah(?:en)?|traf(?:en)?|ge[a-zäöü]{2,}(?:t|en)"
    r"|fu[eií]\w*|er[ao]n?|estuv\w+|estaba\w*|hab[ií]a\w*|he|hemos|était|étais|étions|ai|avons|sommes|suis all\w+|ho"
    r"|hanno|abbiamo|siamo|sono (?:stat|andat)\w+|stat[oaie]|foi|fomos|estava\w*|tive|tivemos|(?!zwei|drei"
    r"|frei)\w{2,}(?:ó|ou|ei|amos|imos))\b",
    re.IGNORECASE,
)
_ARRANGED = re.compile(
    r"\b(?:book|schedul|reschedul|arrang|mov|postpon|push|plann|invit|sign|register|confirm|reserv|fix|set|shift"
    r"|delay)(?:ed|ing|s)?\b|\b(?:made|got|have|has|had to make) (?:an?|the|my|our) (?:\w+ ){0,2}appointment\b",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\b(?:for|to|until|till|by|starting|from)(?: the)?\s$", re.IGNORECASE)
_ONWARDS = re.compile(r"\b(?:(?P<since>since)|(?P<from>from|starting)|until|till|til|by)(?: the)?\s$", re.IGNORECASE)
_HABIT = re.compile(
    r"\b(?:every|each|always|usually|normally|often|generally|weekly|typically|jeden|jede|immer|cada|siempre|tous les"
    r"|toutes les|toujours|ogni|sempre|todos os|todas as|todos los|todas las)\b",
    re.IGNORECASE,
)


class Saying:
    """One stored text, read at one moment. Days are those of the calendar's zone."""

    __slots__ = ("calendar", "text", "today")

    def __init__(self, text: str, calendar: Calendar) -> None:
        self.text, self.calendar, self.today = text, calendar, calendar.today

    def day(self, day: date) -> Span:
        return self.calendar.day(day)

    def days(self, first: date, count: int) -> Span:
        return self.calendar.days(first, first + timedelta(days=count))

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Where the clause around a date begins and ends."""
        first = max(0, start - FAR)
        for stop in _BREAK.finditer(self.text, first, start):
            first = stop.end()
        closing = _BREAK.search(self.text, end, end + FAR)
        return first, closing.start() if closing else min(len(self.text), end + FAR)

    def tense(self, start: int, end: int, foreign: bool = False) -> Tense:
        """Whether the verb of the clause speaks of the past or the future; the last verb before the date decides."""
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
        """The tense of the whole text, for a clause without a verb: past where most verbs are, else future."""
        marks, text = self._marks()
        past = [mark["past"] is not None for mark in marks.finditer(text[:FAR])]
        return "past" if 2 * sum(past) > len(past) else "future"

    def _marks(self) -> tuple[re.Pattern[str], str]:
        """The verbs' expression and the text for it; in lower case it is faster, but "Sat" would look like a verb."""
        lower = self.text.lower()
        if self.text.isascii() and lower.count("sat") == self.text.count("sat"):
            return _LOWER_MARK, lower
        return _MARK, self.text

    def is_habit(self, start: int, end: int) -> bool:
        """Whether the clause says what happens again and again."""
        return _HABIT.search(self.text, *self.clause(start, end)) is not None

    def is_alone(self, start: int, end: int) -> bool:
        """Whether the clause has no other word than the date and what leads to it."""
        first, last = self.clause(start, end)
        words = _WORD.findall(self.text[first:start] + " " + self.text[end:last])
        return all(word.casefold() in ("on", "the", "by", "in", "am", "el", "le", "il") for word in words)

    def choose(self, days: Iterable[date], tense: Tense) -> date:
        """The one that the tense means: the last past one, the next one to come, or else the nearest."""
        options = sorted(days)
        past = [day for day in options if day <= self.today]
        ahead = [day for day in options if day >= self.today]
        if tense == "past" and past and not (ahead and ahead[0] - self.today < SOON and self.today - past[-1] > AGO):
            return past[-1]
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
