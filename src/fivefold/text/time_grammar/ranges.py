"""Ranges: between X and Y, from X to Y, since X, until X, before X, after X; and two terms that mean one time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from fivefold.text.time_grammar.periods import EARLIEST, INSTANT, Calendar, Span
from fivefold.text.time_grammar.readings import WEEK, Reading, Term
from fivefold.text.time_grammar.words import compile_pattern

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


def ranges(text: str, terms: list[Term], calendar: Calendar) -> Iterator[Term]:
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
            bound = _bound(text, term, calendar)
        except (ValueError, OverflowError, LookupError):
            continue
        if bound is None:
            continue
        yield bound
        if following and not following.sure and following.word in {"and", "or"} and _adjoins(text, term, following):
            terms[at] = replace(following, sure=following.reading.counts_after(term.word))


def _names_its_year(text: str, term: Term, following: Term) -> bool:
    """Whether a year follows at once: "May last year" needs no "in"."""
    adjacent = following.start > term.end and not text[term.end : following.start].strip(" ,")
    return adjacent and following.sure and following.reading.accepts is None and "year" in following.reading.unit


def _adjoins(text: str, term: Term, following: Term) -> bool:
    return following.word_start >= term.end and not text[term.end : following.word_start].strip()


def _pair(text: str, term: Term, following: Term) -> Term | None:
    if _makes_range(text, term, following):
        return _joined(term, following)
    weekly = term.reading.latest and term.reading.period == WEEK and term.reading.counts_after("on")
    if weekly and following.sure and following.word in {"before", "after"} and _adjoins(text, term, following):
        return _next_to(term, following)
    return None


def _next_to(term: Term, following: Term) -> Term:
    """The Friday before 15 July: the last one that begins before it; after it, the first one."""
    latest, partner = term.reading.latest, following.reading
    assert latest is not None
    before = following.word == "before"
    span = latest(partner.span.start - INSTANT if before else partner.span.end + WEEK - INSTANT)
    return Term(term.start, following.end, Reading(span, "day", explicit=partner.explicit))


def _makes_range(text: str, term: Term, following: Term) -> bool:
    """Whether the two are the ends of one range. Without "from" one of them must be a time by itself."""
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
    span = Span(min(first.start, last.start), max(first.end, last.end))
    start = term.word_start if term.word in _OPENERS else term.start
    return Term(start, following.end, Reading(span, explicit=left.explicit or right.explicit))


def _bound(text: str, term: Term, calendar: Calendar) -> Term | None:
    """The term as the word before it bounds it; nothing where that leaves no time or it does not count."""
    to_now = _TO_NOW.match(text, term.end) if term.word in _OPENERS else None
    if to_now and term.reading.counts_after("since"):
        span = _until_now(calendar, term.reading, "since")
        return Term(term.word_start, to_now.end(), Reading(span)) if span else None
    if not term.sure or (term.word == "until" and _HOW_LONG.search(text, max(0, term.word_start - 9), term.word_start)):
        return None
    if term.word in {"since", "after"}:
        span = _until_now(calendar, term.reading, term.word)
    elif term.word in _CLOSED:
        begin = calendar.now if calendar.reach == "ahead" and term.reading.span.start > calendar.now else EARLIEST
        span = Span(begin, term.reading.span.start if term.word == "before" else term.reading.span.end)
    else:
        return term
    return Term(term.word_start, term.end, Reading(span, explicit=term.reading.explicit)) if span else None


def _until_now(calendar: Calendar, reading: Reading, word: str) -> Span | None:
    """Since a time runs from its start, after it from its end (R8). A June still running is read as the one before."""
    span = reading.span
    if word == "after" and span.end > calendar.now and reading.latest:
        span = reading.latest(span.start - INSTANT)
    start = span.start if word == "since" else span.end
    return calendar.to_now(start) if start <= calendar.now else None


def both_times(text: str, terms: list[Term]) -> list[Term]:
    """Two times that "and" or "or" joins are one stretch from the first to the last: "in May and June"."""
    joined: list[Term] = []
    for term in terms:
        last = joined[-1] if joined else None
        if (
            last
            and term.word in {"and", "or"}
            and _adjoins(text, last, term)
            and last.reading.unit == term.reading.unit
        ):
            spans = last.reading.span, term.reading.span
            span = Span(min(item.start for item in spans), max(item.end for item in spans))
            explicit = last.reading.explicit or term.reading.explicit
            joined[-1] = replace(last, end=term.end, reading=Reading(span, last.reading.unit, explicit=explicit))
        else:
            joined.append(term)
    return joined


def one_time(text: str, terms: list[Term]) -> tuple[Span, str] | None:
    """The time a question asks about: its terms intersected where they overlap, otherwise the first.

    A term that recurs is read within the one next to it: "in May last year" is May of that year.
    """
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
