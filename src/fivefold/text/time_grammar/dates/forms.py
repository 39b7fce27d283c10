"""Forms of a date: a pattern that is tried only where one of its words occurs, and what its matches mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fivefold.text.patterns import Pattern
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.periods import Span
from fivefold.text.time_grammar.words import written_out

Reader = Callable[[re.Match[str], Saying], Span | None]
_START, _END = r"(?<![\w/])", r"(?![\w/])(?!-[a-z])"


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a date. A reader that gives nothing keeps its words from other forms: "every Friday"."""

    pattern: Pattern
    read: Reader


@dataclass(frozen=True, slots=True)
class Term:
    """A date with its place in the text."""

    start: int
    end: int
    span: Span


FORMS: list[Form] = []


def form(triggers: str, pattern: str) -> Callable[[Reader], Reader]:
    """Register a reader. In the pattern a space is any white space, and `{month}` stands for a shared part."""

    def register(read: Reader) -> Reader:
        FORMS.append(Form(Pattern(triggers, written_out(f"{_START}(?:{pattern}){_END}"), re.IGNORECASE), read))
        return read

    return register
