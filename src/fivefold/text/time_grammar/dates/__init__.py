"""Dates in a stored text, read against the time it was said, as spans of local days.

A second grammar next to that of questions: a stored text may as well speak of the future, and the tense of its clause
says which Saturday is meant. Both share the words, the calendar and the parts of a month.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import islice

from fivefold.text.patterns import flags_in
from fivefold.text.time_grammar.dates import counted, day_forms, foreign, named_forms, unit_forms, written_forms
from fivefold.text.time_grammar.dates.forms import FORMS, Term
from fivefold.text.time_grammar.dates.pairs import join_pairs
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.periods import Calendar
from fivefold.text.time_grammar.settings import DEFAULTS
from fivefold.values.entities import Span
from fivefold.values.validate import MAX_READ

__all__ = ["dates_in"]

MODULES = (day_forms, unit_forms, counted, written_forms, named_forms, foreign)
"""The forms register when these load."""


def dates_in(text: str, said_at: datetime, zone: tzinfo = UTC) -> tuple[Span, ...]:
    """The dates of `text` that can be read, the first of very many, as days of the zone it was said in."""
    flags = flags_in(text)
    tried = [order for order, form in enumerate(FORMS) if flags & form.pattern.flag]
    if not tried:
        return ()
    try:
        saying = Saying(text, Calendar(said_at, zone, DEFAULTS, None))
    except (ValueError, OverflowError):  # the first or the last hours that a datetime can hold
        return ()
    terms = join_pairs(text, list(islice(_terms(saying, tried), MAX_READ)))
    return tuple(Span(term.span.start, term.span.end, text[term.start : term.end]) for term in terms)


def _terms(saying: Saying, tried: Sequence[int]) -> Iterator[Term]:
    """The matches of the forms that are tried; of two that overlap the first one counts, then the longer one."""
    matches = [
        (match.start(), -match.end(), order, match)
        for order in tried
        if FORMS[order].pattern.occurs(saying.text)
        for match in FORMS[order].pattern.bare.finditer(saying.text)
    ]
    end = 0
    for start, _, order, match in sorted(matches, key=lambda item: item[:3]):
        if start < end:
            continue
        end = match.end()
        try:
            span = FORMS[order].read(match, saying)
        except (ValueError, OverflowError, LookupError):
            continue
        if span is not None and span.start < span.end:
            yield Term(start, end, span)
