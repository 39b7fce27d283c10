"""Reading a question: it looks back, and the words before an expression narrow, bound or join it.

If an expression fits two times it means the earlier one, unless the caller looks ahead (R8).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count
from typing import Literal

from fivefold.text.time_grammar.periods import (
    DEFAULTS,
    EARLIEST,
    INSTANT,
    WEEK,
    YEAR,
    Accepts,
    Calendar,
    Latest,
    Reading,
    Span,
    TimeSettings,
    in_utc,
    later,
)
from fivefold.text.time_grammar.words import Table, compile_pattern, lower, number
from fivefold.values.query import Window

Reach = Literal["past", "any", "ahead"]
"""The reach of a reading: the past and times that name their year (R8); words of the future and vague ones as well; and
recurring times read as the coming one."""

SOON = "soon"
"""The unit of "soon" and "coming up", which say nothing if the question names a time."""
_SKIPPED_YEARS = 9
"""29 February can stay away for eight years."""
_MAX_PHRASES = 3
"""Phrases that narrow one expression: "the day after the end of early June" has more than anyone says."""

_OPENERS = frozenset({"between", "from"})
_JOINERS = frozenset({"to", "and", "until", "through", "-"})
_CLOSED = frozenset({"before", "after", "until", "by"})
"""After these a term is an end of its own and no beginning of a range."""
_TO_NOW = compile_pattern(
    r" (?:to|and|until|till|through|up to) (?:now|the present|this day)(?!\w)| onwards?(?!\w)| on(?= ?(?:$|[?!.,;]))"
)
_HOW_LONG = re.compile(r"\b(?:days|weeks|months|hours|long|time)\s$", re.IGNORECASE)
"""Before "until" these ask how long it still is, and not about what was."""
_ADJACENT = re.compile(r"[\s,]{0,8}(?:(?:back|of|in|on|during|over|at|the)\s{1,8}){0,3}")


class Question(Calendar):
    """The moment a question is asked, and how far it looks."""

    __slots__ = ("last_talk", "reach", "rolling")

    def __init__(
        self,
        now: datetime,
        zone: tzinfo,
        settings: TimeSettings,
        last_talk: datetime | None,
        reach: Reach,
        rolling: bool = True,
    ) -> None:
        super().__init__(now, zone, settings)
        self.reach: Reach = reach
        self.rolling: bool = rolling
        self.last_talk: datetime | None = None if last_talk is None else in_utc(last_talk)

    def this(self, unit: str) -> Span:
        """The running week, month, quarter or year, up to now (R8); to its end if one looks ahead."""
        return self.whole(unit) if self.reach == "ahead" else self.to_now(self.midnight(self.first(unit)))

    def recurring(
        self, which: str, unit: str, latest: Latest, accepts: Accepts | None = None, period: timedelta = YEAR
    ) -> Reading | None:
        """Reads "June" and "this June" as the last one begun, "last June" as the last one over (R8)."""
        span = latest(self.now)
        if which in {"", "this"} and self.reach == "ahead" and span.end <= self.now:
            return Reading(self._coming(latest, period), unit, accepts=None if which else accepts, explicit=True)
        if which == "":
            return Reading(span, unit, latest, period, accepts)
        if which == "this":
            return Reading(span, unit)
        if which in {"next", "coming", "this coming"} and self.reach != "past":
            return Reading(self._coming(latest, period), unit, explicit=True)
        if which in {"last", "past", "this past", "previous", "before last"}:
            for _ in range((span.end > self.now) + (which == "before last")):
                span = latest(span.start - INSTANT)
            return Reading(span, unit)
        return None

    def _coming(self, latest: Latest, period: timedelta) -> Span:
        """The first occurrence that begins after now."""
        span = latest(self.now + period)
        before = latest(span.start - INSTANT)
        return before if before.start > self.now else span

    def yearly(
        self, match: re.Match[str], which: str, unit: str, make: Callable[[int], Span], accepts: Accepts | None = None
    ) -> Reading | None:
        """Reads what happens once a year; years that lack it are passed over."""

        def latest(instant: datetime) -> Span:
            this = self.day_of(instant).year
            for year in count(this, -1):
                try:
                    span = make(year)
                except ValueError:
                    if this - year > _SKIPPED_YEARS:
                        raise
                    continue
                if span.start <= instant:
                    return span
            raise LookupError("no such day")

        return self.recurring(which, unit, latest, accepts)

    def weekly(self, weekday: int, days: int = 1) -> Latest:
        """The latest stretch of `days` that begins on `weekday`."""

        def latest(instant: datetime) -> Span:
            today = self.day_of(instant)
            return self.days(today - timedelta(days=(today.weekday() - weekday) % 7), days)

        return latest

    def monthly(self, day: int) -> Latest:
        """The latest day of that number; months too short for it are passed over."""

        def latest(instant: datetime) -> Span:
            first = self.day_of(instant).replace(day=1)
            for months in range(4):
                month = later(first, -months)
                if day <= monthrange(month.year, month.month)[1]:
                    span = self.day(month.replace(day=day))
                    if span.start <= instant:
                        return span
            raise LookupError("no such day")

        return latest


asked: Table[Question, Reading | Span] = Table(r"(?<!\w)", r"(?!\w|-(?!{month word})[a-z])")
"""The expressions that are read in questions."""


@dataclass(frozen=True, slots=True)
class Term:
    """A reading with its place in the text, the word before it, and whether it counts by itself."""

    start: int
    end: int
    reading: Reading
    word: str = ""
    word_start: int = 0
    sure: bool = True


_BEFORE = compile_pattern(
    r"(?<![\w'’])(?:"
    r"(?P<part>(?:the )?(?:(?:very )?(?P<third>beginning|start|middle|end|(?:first|last|final)(?: few)? days) of"
    r"|(?P<piece>(?:first|second|third|fourth|last|final|1st|2nd|3rd|4th)"
    r" (?:day|weekend|week|quarter|half|{any weekday})) (?:of|in)"
    r"|(?P<whole>morning|afternoon|evening|night|week|weekend|[0-9]{1,2}(?:st|nd|rd|th)) of"
    r"|(?P<near>early|mid|late)))"
    r"|(?P<some>(?:the )?(?P<edge>first|last|final) (?P<some_count>[0-9]{1,2}|couple of|{number word})"
    r" (?P<some_unit>day|week|weekend|month)s (?:of|in))"
    r"|(?P<away>(?:the |{count} )?(?P<unit>day|week|fortnight|month|year)(?P<several>s)?"
    r" (?P<direction>before|after)(?:{event})?)"
    r"|(?P<near_by>(?P<shortly>just|right|shortly|soon|straight|immediately) (?P<side>before|after)(?:{event})?"
    r"|(?:the )?(?:run|lead)[ -]?up to)"
    r"|(?P<to>up to)"
    r"|(?P<word>ever since|since|between now and|from now (?:until|till|to)"
    r"|up until|until|till|by|prior to|before|after|from|between|to|and|n|or|through"
    r"|throughout|around|in|on|at|during|over|within|of|for))"
    r"(?P<the> the)?(?: |(?<=mid|rly|ate)-)"
    r"|(?P<dash> ?[-–—] ?)"
)
_SAME = {
    "ever since": "since",
    "up until": "until",
    "till": "until",
    "up to": "until",
    "prior to": "before",
    "between now and": "until",
    "from now until": "until",
    "from now till": "until",
    "from now to": "until",
    "n": "and",
}
_AT_END = compile_pattern(r"(?:the )?(?:very )?end(?!\w)")
_DAY_PART = compile_pattern(r" (?:in the )?(morning|afternoon|evening|night)(?!\w)")
_CLOCK = compile_pattern(
    r",? (?P<how>before|until|after|since|around|about) (?P<hour>[0-9]{1,2}|{hour word}|noon|midday)"
    r"(?::(?P<minute>[0-5][0-9]))?(?: o['’]clock)?(?: ?(?P<half>am|pm))?(?![\w:]| [a-z]+s(?!\w))"
)


_UP_TO_SOMETHING = re.compile(r"\b(?:get|gets|got|getting|been|was|were|is|are|am|be)(?: \S+){0,2} $", re.IGNORECASE)
"""Before "up to" these ask for doings, and not for an end."""
_SEVERAL_DAYS = {"day": 7, "week": 28, "fortnight": 28, "month": 92, "year": 1096}
"""Number of days that "the days before" and the like cover."""
_OVER_DAYS = 2
"""Days on either side of a holiday that "over" it takes in."""
_NEAR_DAYS, _RUN_UP_DAYS = 7, 21
"""Number of days that "just before" and "the run-up to" cover."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word or phrase that stands right before an expression."""

    start: int
    match: re.Match[str]
    word: str
    the: bool = False


def terms_in(text: str, question: Question) -> list[Term]:
    """Every time expression of the text in reading order; ranges are one term."""
    pieces = list(asked.read(text, question))
    if not pieces:
        return []
    before = _phrases_before(text)
    floor, terms = 0, []
    for start, end, meaning in pieces:
        reading = meaning if isinstance(meaning, Reading) else Reading(meaning)
        try:
            terms.append(_with_words_before(text, Term(start, end, reading), before, floor, question))
        except (ValueError, OverflowError, LookupError):
            continue
        finally:
            floor = end
    # only what names its year may lie wholly in the future (R8)
    allowed = [
        term
        for term in _ranges(text, terms, question)
        if term.reading.span.start < term.reading.span.end
        and (term.reading.explicit or term.reading.span.start <= question.now)
    ]
    return [term for term in allowed if term.reading.unit != SOON] or allowed


def _phrases_before(text: str) -> dict[int, Phrase]:
    """The phrases by their end; one with "the" has two ends, since an expression may begin with it."""
    matches = {}
    for match in _BEFORE.finditer(text):
        if match["to"] and _UP_TO_SOMETHING.search(text, max(0, match.start() - 40), match.start()):
            continue
        word = lower(match["word"] or match["to"])
        word = "-" if match["dash"] else _SAME.get(word, word)
        matches[match.end()] = Phrase(match.start(), match, word, the=bool(match["the"]))
        if match["the"]:
            matches[match.end("the") - 3] = Phrase(match.start(), match, word)
    return matches


def _with_words_before(text: str, piece: Term, before: dict[int, Phrase], floor: int, question: Question) -> Term:
    """Narrow the expression by the phrases before it, and see whether they make it a time."""
    reading, start, end, cue = piece.reading, piece.start, piece.end, ""
    after = _DAY_PART.match(text, end) if reading.unit == "day" else None
    if after:
        reading, end = replace(_part(reading, lower(after[1]), question), unit="part of a day"), after.end()
    clock = _CLOCK.match(text, end) if reading.unit in {"day", "part of a day"} and question.reach != "past" else None
    if clock and reading.span.start <= question.now:
        reading, end = reading.with_span(lambda span: _by_the_clock(span, clock, question), question.now), clock.end()
    phrase = before.get(start)
    for _ in range(_MAX_PHRASES):
        if phrase is None or phrase.start < floor or phrase.word:
            break
        reading, start, cue = _narrow(reading, phrase, question), phrase.start, "part"
        phrase = before.get(start)
    if phrase is None or phrase.start < floor:
        return Term(start, end, reading, sure=reading.counts_after(cue))
    word = phrase.word
    whole = word == "over" and reading.unit == "holiday" and question.reach != "past"
    if word == "around" or whole:
        days = _OVER_DAYS if whole else question.settings.around_days
        reading = reading.with_span(lambda span: question.around(span, piece.reading.unit, days), question.now)
        return Term(phrase.start, end, reading, sure=reading.counts_after(cue or word))
    if word == "for" and question.reach == "ahead":
        cue = "between"  # 'planned for July' is July as surely as 'between June and July' is
    if word == "before" and cue == "part" and _AT_END.match(text, start) and question.reach != "past":
        word = "by"  # what is done before the end of May may be done on its last day
    cue = cue or (f"{word} the" if phrase.the else word)
    return Term(start, end, reading, word, phrase.start, reading.counts_after(cue))


def _by_the_clock(span: Span, clock: re.Match[str], question: Question) -> Span:
    """The hours of a day before, after or around one: "this morning before ten"."""
    hour = 12 if lower(clock["hour"]) in {"noon", "midday"} else number(clock["hour"])
    half = lower(clock["half"])
    day = question.local(span.start).replace(hour=0, minute=0)
    hours = [hour % 12 + 12 * (half == "pm")] if half else [hour, hour + 12] if hour < 12 else [hour]
    times = [question.instant(day + timedelta(hours=each, minutes=int(clock["minute"] or 0))) for each in hours]
    time = next((each for each in times if span.start < each < span.end), times[0])
    around = timedelta(hours=1)
    ends = {"before": (span.start, time), "until": (span.start, time), "after": (time, span.end)}
    start, end = ends.get(lower(clock["how"]).replace("since", "after"), (time - around, time + around))
    return span.overlap(Span(start, end)) or span


def _narrow(reading: Reading, phrase: Phrase, question: Question) -> Reading:
    match = phrase.match
    if match["away"] or match["near_by"]:
        return _beside(reading, match, question)
    if match["some"]:
        count, unit = number(match["some_count"]), lower(match["some_unit"])
        edge = lower(match["edge"])
        return _changed(reading, lambda span: question.edge(span, edge == "first", count, unit), question)
    return _part(reading, lower(match["third"] or match["piece"] or match["whole"] or match["near"]), question)


def _beside(reading: Reading, match: re.Match[str], question: Question) -> Reading:
    """Some time before or after: "two days after", "the weeks before", "just before", "in the run-up to"."""
    direction = lower(match["direction"] or match["side"] or "before")
    several = match["several"] and not match["count"] and question.reach != "past"
    if several or match["near_by"]:
        unit = lower(match["unit"])
        days = _SEVERAL_DAYS[unit] if several else _NEAR_DAYS if match["side"] else _RUN_UP_DAYS
        return reading.with_span(lambda span: question.next_to(span, days, direction), question.now, "stretch")
    count, unit = number(match["count"]) if match["count"] else 1, lower(match["unit"])
    if unit == "fortnight":
        count, unit = 2 * count, "week"
    if reading.unit == "holiday" and unit == "day" and match["count"] and question.reach != "past":
        step = count if direction == "after" else -count
        return reading.with_span(lambda span: question.days_from_middle(span, step), question.now, unit)
    return reading.with_span(lambda span: question.away(span, count, unit, direction), question.now, unit)


def _part(reading: Reading, part: str, question: Question) -> Reading:
    return _changed(reading, lambda span: question.part(span, reading.unit, part), question)


def _changed(reading: Reading, change: Callable[[Span], Span], question: Question) -> Reading:
    """The part of a reading; of a time that still runs it may be the part to come, if one looks ahead."""
    if question.reach == "ahead" and reading.latest and change(reading.span).end > question.now:
        return replace(reading, span=change(reading.span), latest=None, accepts=None, explicit=True)
    return reading.with_span(change, question.now)


def _ranges(text: str, terms: list[Term], question: Question) -> Iterator[Term]:
    """Join what "between", "from" and "to" join; bound the rest by "since", "until", "before" and "after"."""
    at = 0
    while at < len(terms):
        term = terms[at]
        following = terms[at + 1] if at + 1 < len(terms) else None
        at += 1
        try:
            whole = _pair(text, term, following) if following else None
            if whole:
                yield whole
                at += 1
                continue
            if following and not term.sure and _names_its_year(text, term, following):
                term = replace(term, sure=term.reading.counts_after("between"))
            bound = _bound(text, term, question)
        except (ValueError, OverflowError, LookupError):
            continue
        if bound is None:
            continue
        yield bound
        if following and not following.sure and following.word in {"and", "or"} and _adjoins(text, term, following):
            terms[at] = replace(following, sure=following.reading.counts_after(term.word))


def _names_its_year(text: str, term: Term, following: Term) -> bool:
    """True if a year follows at once: "May last year" needs no "in"."""
    adjacent = following.start > term.end and not text[term.end : following.start].strip(" ,")
    return adjacent and following.sure and following.reading.accepts is None and "year" in following.reading.unit


def _adjoins(text: str, term: Term, following: Term) -> bool:
    return following.word_start >= term.end and not text[term.end : following.word_start].strip()


def _pair(text: str, term: Term, following: Term) -> Term | None:
    """The two as one: the ends of a range, or the Friday before 15 July: the last one that begins before it."""
    if _makes_range(text, term, following):
        return _joined(term, following)
    latest, partner = term.reading.latest, following.reading
    if latest is None or term.reading.period != WEEK or not term.reading.counts_after("on"):
        return None
    if not following.sure or following.word not in {"before", "after"} or not _adjoins(text, term, following):
        return None
    span = latest(partner.span.start - INSTANT if following.word == "before" else partner.span.end + WEEK - INSTANT)
    return Term(term.start, following.end, Reading(span, "day", explicit=partner.explicit))


def _makes_range(text: str, term: Term, following: Term) -> bool:
    """True if the two are the ends of one range. Without "from" one of them must be a time by itself."""
    if following.word not in _JOINERS or term.word in _CLOSED or not _adjoins(text, term, following):
        return False
    if following.word == "and" and term.word != "between":
        return False
    if following.word == "-" and term.reading.unit != following.reading.unit:
        return False
    opened = term.word in _OPENERS or term.sure or following.reading.accepts is None
    return opened and term.reading.counts_after("between") and following.reading.counts_after("until")


def _joined(term: Term, following: Term) -> Term:
    """From the start of the one to the end of the other; a term that recurs is read together with its partner."""
    left, right = term.reading, following.reading
    first, last = left.span, right.span
    if right.latest and not left.latest:
        last = right.latest(first.start + right.period - INSTANT)
    if left.latest:
        first = left.latest(last.start)
    if last.start < first.start <= last.start + WEEK and left.unit == right.unit == "day" and right.explicit:
        last = Span(last.start + WEEK, last.end + WEEK)  # from next Wednesday to next Friday, asked on a Thursday
    span = Span(min(first.start, last.start), max(first.end, last.end))
    start = term.word_start if term.word in _OPENERS else term.start
    return Term(start, following.end, Reading(span, explicit=left.explicit or right.explicit))


def _bound(text: str, term: Term, question: Question) -> Term | None:
    """The term as the word before it bounds it; nothing if that leaves no time or it does not count."""
    to_now = _TO_NOW.match(text, term.end) if term.word in _OPENERS else None
    if to_now and term.reading.counts_after("since"):
        span = _until_now(question, term.reading, "since")
        return Term(term.word_start, to_now.end(), Reading(span)) if span else None
    if not term.sure or (term.word == "until" and _HOW_LONG.search(text, max(0, term.word_start - 9), term.word_start)):
        return None
    if term.word in {"since", "after"}:
        span = _until_now(question, term.reading, term.word)
    elif term.word in _CLOSED:
        begin = question.now if question.reach == "ahead" and term.reading.span.start > question.now else EARLIEST
        if term.word == "before" and term.reading.unit == "season" and question.reach == "any":
            first = question.day_of(term.reading.span.start)
            begin = question.midnight(later(first, -3))  # "before the summer" is in spring
        span = Span(begin, term.reading.span.start if term.word == "before" else term.reading.span.end)
    else:
        return term
    explicit = term.reading.explicit or (span is not None and span.start > question.now)
    return Term(term.word_start, term.end, Reading(span, explicit=explicit)) if span else None


def _until_now(question: Question, reading: Reading, word: str) -> Span | None:
    """Since a time runs from its start, after it from its end (R8). A June still running is read as the one before."""
    span = reading.span
    if word == "after" and span.end > question.now and reading.latest:
        span = reading.latest(span.start - INSTANT)
    start = span.start if word == "since" else span.end
    if word == "after" and question.reach == "ahead" and start > question.now:
        return Span(start, start + WEEK)
    return question.to_now(start) if start <= question.now else None


def both_times(text: str, terms: list[Term]) -> list[Term]:
    """Two times that "and" or "or" joins are one stretch from the first to the last: "in May and June"."""
    joined: list[Term] = []
    for term in terms:
        last = joined[-1] if joined and term.word in {"and", "or"} else None
        if last is None or not _adjoins(text, last, term) or last.reading.unit != term.reading.unit:
            joined.append(term)
            continue
        one, other = last.reading.span, term.reading.span
        span = Span(min(one.start, other.start), max(one.end, other.end))
        explicit = last.reading.explicit or term.reading.explicit
        joined[-1] = replace(last, end=term.end, reading=Reading(span, last.reading.unit, explicit=explicit))
    return joined


def one_time(text: str, terms: list[Term]) -> tuple[Span, str] | None:
    """The time a question asks about: its terms intersected, otherwise the first; "in May last year" is that May."""
    if not terms:
        return None
    term = terms[0]
    places = [(term.start, term.end)]
    for following in terms[1:]:
        adjacent = _ADJACENT.fullmatch(text, term.end, following.start) is not None
        both = _within(term.reading, following.reading) if adjacent else None
        both = both or term.reading.span.overlap(following.reading.span)
        if both is None:
            continue
        places.append((places.pop()[0] if adjacent else following.start, following.end))
        term = Term(following.start, following.end, Reading(both))
    return term.reading.span, " … ".join(text[start:end] for start, end in places)


def _within(left: Reading, right: Reading) -> Span | None:
    """The one that comes round inside the one that does not."""
    if (left.latest is None) == (right.latest is None):
        return None
    inner, outer = (left, right) if left.latest else (right, left)
    frame = outer.frame or outer.span
    assert inner.latest is not None
    try:
        return inner.latest(frame.end - INSTANT).overlap(frame)
    except (ValueError, OverflowError, LookupError):
        return None


def find_window(
    text: str,
    now: datetime,
    zone: tzinfo = UTC,
    settings: TimeSettings = DEFAULTS,
    last_talk: datetime | None = None,
    reach: Reach = "past",
    rolling: bool = True,
) -> Window | None:
    """The one window the question asks about, or None. Expressions that overlap are intersected.

    `rolling` reads "last week" as the seven days before now (R8), and not as the calendar week before this one.
    """
    try:
        terms = terms_in(text, Question(now, zone, settings, last_talk, reach, rolling))
    except (ValueError, OverflowError):  # the first or the last hours that a datetime can hold
        return None
    time = one_time(text, terms if reach == "past" else both_times(text, terms))
    return Window(time[0].start, time[0].end, time[1]) if time else None
