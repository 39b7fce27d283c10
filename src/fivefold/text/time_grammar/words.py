"""The words of time, and rules: a pattern that is tried only where one of its words occurs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from fivefold.text.calendar_words import MONTH, NUMBERS, SHORT_MONTH, WEEKDAY
from fivefold.text.time_grammar.periods import Calendar
from fivefold.text.time_grammar.readings import Reading

Reader = Callable[[re.Match[str], Calendar], Reading | None]

DIGIT = "#"
"""Stands for any digit among a rule's triggers."""
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1, "final": -1}
_MONTH = rf"{MONTH}|(?:{SHORT_MONTH})(?:\.(?=\s?[0-9]))?"
_GAP = r"(?:\s{1,8})"
_START = r"(?<!\w)"
_END = rf"(?!\w|-(?!{_MONTH})[a-z])"
_PARTS = {
    "{month}": rf"(?P<month>{_MONTH})(?!\w)",
    "{any month}": rf"(?:{_MONTH})(?!\w)",
    "{any weekday}": WEEKDAY,
    "{day}": r"(?<![0-9.,:/#])(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?(?![0-9])",
    "{last day}": r"(?P<last>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?(?![0-9])",
    "{year}": r"(?P<year>(?:1[0-9]|20|21)[0-9]{2})(?![0-9])",
    "{count}": rf"(?P<count>[0-9]{{1,4}}|(?:a )?couple(?: of)?|{'|'.join(NUMBERS)})",
    "{unit}": r"(?P<unit>hour|day|week|month|year)s?",
    "{which}": r"(?:(?P<which>last|this past|this|past|previous|next|every|each|any|most|some|coming|first|second"
    r"|third|fourth) )?",
    "{to}": r"(?: ?[-–—] ?| (?:to|and|until|till|through) )",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, the words without one of which it cannot match, and what its matches mean.

    A reader that gives nothing still keeps its words from every other rule: "every Friday" is no "Friday".
    """

    triggers: frozenset[str]
    source: str
    read: Reader

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled at its first use."""
        return compile_pattern(self.source)


RULES: list[Rule] = []


def rule(triggers: str, pattern: str) -> Callable[[Reader], Reader]:
    """Register a reader. In the pattern a space is any white space and `{month}` stands for a part named above."""

    def register(read: Reader) -> Reader:
        RULES.append(Rule(frozenset(triggers.split()), f"{_START}(?:{pattern}){_END}", read))
        return read

    return register


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(written_out(pattern), re.IGNORECASE)


def written_out(pattern: str) -> str:
    """A regular expression with its named parts, and any white space for each space."""
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return pattern.replace(" ", _GAP)


def words_of(text: str) -> frozenset[str]:
    """The lower-case words of a text, and `#` where it holds a digit."""
    words = set(re.findall("[a-z]+", text.lower()))
    if re.search("[0-9]", text):
        words.add(DIGIT)
    return frozenset(words)


def lower(word: str | None) -> str:
    """One spelling of a word: lower case, single spaces; nothing for none."""
    return " ".join(word.casefold().split()) if word else ""


def number(word: str) -> int:
    word = lower(word)
    return 2 if "couple" in word else int(word) if word[0] in "0123456789" else NUMBERS[word]


def ordinal(word: str) -> int:
    """1 for "first" and "1st"; -1 for "last"."""
    word = lower(word)
    return int(word[0]) if word[0] in "123456789" else _ORDINALS[word]
