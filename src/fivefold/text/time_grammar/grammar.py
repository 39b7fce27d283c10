"""From words to terms: find the expressions, apply the words before them, join the two ends of a range."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fivefold.text.time_grammar import ahead, holidays, named, relative, vague, written
from fivefold.text.time_grammar.parts import around, away, part_of
from fivefold.text.time_grammar.periods import Calendar
from fivefold.text.time_grammar.ranges import ranges
from fivefold.text.time_grammar.readings import Reading, Term
from fivefold.text.time_grammar.words import RULES, compile_pattern, lower, number, words_of

MODULES = (relative, named, holidays, written, ahead, vague)
"""The rules register when these load."""
TRIGGERS = frozenset().union(*(rule.triggers for rule in RULES))
"""Without one of these words there is no expression, and nothing else is tried."""
MOST_PHRASES = 3
"""How many phrases narrow one expression: "the day after the end of early June" has more than anyone says."""

_BEFORE = compile_pattern(
    r"(?<![\w'’])(?:"
    r"(?P<part>(?:the )?(?:(?:very )?(?P<third>beginning|start|middle|end|(?:first|last|final)(?: few)? days) of"
    r"|(?P<piece>(?:first|second|third|fourth|last|final|1st|2nd|3rd|4th) (?:day|week|quarter|half|{any weekday}))"
    r" (?:of|in)|(?P<whole>morning|afternoon|evening|night|week|weekend|[0-9]{1,2}(?:st|nd|rd|th)) of"
    r"|(?P<near>early|mid|late)))"
    r"|(?P<away>(?:the |{count} )?(?P<unit>day|week|month|year)s? (?P<direction>before|after))"
    r"|(?P<word>ever since|since|up until|until|till|up to|by|prior to|before|after|from|between|to|and|n|or|through"
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
    "n": "and",
}
_DAY_PART = compile_pattern(r" (?:in the )?(morning|afternoon|evening|night)(?!\w)")


@dataclass(frozen=True, slots=True)
class Before:
    """A word or phrase that ends where an expression may begin."""

    start: int
    match: re.Match[str]
    word: str
    the: bool = False


def terms_in(text: str, calendar: Calendar) -> list[Term]:
    """Every time expression of the text in reading order; ranges are one term."""
    words = words_of(text)
    if TRIGGERS.isdisjoint(words):
        return []
    pieces = list(_pieces(text, words, calendar))
    if not pieces:
        return []
    before = _words_before(text)
    floor, terms = 0, []
    for piece in pieces:
        try:
            terms.append(_with_words_before(text, piece, before, floor, calendar))
        except (ValueError, OverflowError, LookupError):
            continue
        finally:
            floor = piece.end
    allowed = [term for term in ranges(text, terms, calendar) if _allowed(term.reading, calendar)]
    return [term for term in allowed if term.reading.unit != ahead.SOON] or allowed


def _allowed(reading: Reading, calendar: Calendar) -> bool:
    """Only what names its year may lie wholly in the future (R8)."""
    span = reading.span
    return span.start < span.end and (reading.explicit or span.start <= calendar.now)


def _pieces(text: str, words: frozenset[str], calendar: Calendar) -> Iterator[Term]:
    """The matches of all rules; where two overlap the one that begins first, then the longer one, counts."""
    matches = [
        (match.start(), -match.end(), order, match)
        for order, rule in enumerate(RULES)
        if not rule.triggers.isdisjoint(words)
        for match in rule.pattern.finditer(text)
    ]
    end = 0
    for start, _, order, match in sorted(matches, key=lambda item: item[:3]):
        if start < end:
            continue
        end = match.end()
        try:
            reading = RULES[order].read(match, calendar)
        except (ValueError, OverflowError, LookupError):
            continue
        if reading:
            yield Term(start, end, reading)


def _words_before(text: str) -> dict[int, Before]:
    """The phrases by where they end; one with "the" ends in two places, since an expression may begin with it."""
    matches = {}
    for match in _BEFORE.finditer(text):
        word = lower(match["word"])
        word = "-" if match["dash"] else _SAME.get(word, word)
        matches[match.end()] = Before(match.start(), match, word, the=bool(match["the"]))
        if match["the"]:
            matches[match.end("the") - 3] = Before(match.start(), match, word)
    return matches


def _with_words_before(text: str, piece: Term, before: dict[int, Before], floor: int, calendar: Calendar) -> Term:
    """Narrow the expression by the phrases before it, and see whether they make it a time."""
    reading, start, end, cue = piece.reading, piece.start, piece.end, ""
    after = _DAY_PART.match(text, end) if reading.unit == "day" else None
    if after:
        reading, end = _part(reading, lower(after[1]), calendar), after.end()
    phrase = before.get(start)
    for _ in range(MOST_PHRASES):
        if phrase is None or phrase.start < floor or phrase.word:
            break
        reading, start, cue = _narrow(reading, phrase, calendar), phrase.start, "part"
        phrase = before.get(start)
    if phrase is None or phrase.start < floor:
        return Term(start, end, reading, sure=reading.counts_after(cue))
    word = phrase.word
    whole = word == "over" and reading.unit == "holiday" and calendar.reach != "past"
    if word == "around" or whole:
        reading = reading.with_span(lambda span: around(calendar, span, piece.reading.unit), calendar.now)
        return Term(phrase.start, end, reading, sure=reading.counts_after(cue or word))
    if word == "for" and calendar.reach == "ahead":
        cue = "between"  # 'planned for July' is July as surely as 'between June and July' is
    cue = cue or (f"{word} the" if phrase.the else word)
    return Term(start, end, reading, word, phrase.start, reading.counts_after(cue))


def _narrow(reading: Reading, phrase: Before, calendar: Calendar) -> Reading:
    match = phrase.match
    if match["away"]:
        count = number(match["count"]) if match["count"] else 1
        unit, direction = lower(match["unit"]), lower(match["direction"])
        return reading.with_span(lambda span: away(calendar, span, count, unit, direction), calendar.now, unit)
    return _part(reading, lower(match["third"] or match["piece"] or match["whole"] or match["near"]), calendar)


def _part(reading: Reading, part: str, calendar: Calendar) -> Reading:
    return reading.with_span(lambda span: part_of(calendar, span, reading.unit, part), calendar.now)
