"""What a field declares in addition to its type: a range, a length, a rule, and its meaning.

A declaration is part of the field itself, as in `importance: Annotated[Share | None, About("How much it matters")]`.
`fields.fields_of` reads it; checks, JSON Schemas, forms and documentation derive from that.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from fivefold.values.limits import (
    MAX_CONTENT,
    MAX_INDEX,
    MAX_K,
    MAX_NAME,
    MAX_RECENT,
    MAX_STORED_TAGS,
    MAX_TAGS,
    MAX_TALLY,
    MAX_TEXT,
    MAX_TOKENS,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Between:
    """The smallest and the largest number; on a list or a table it holds for each entry."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Chars:
    """How long a text may be, whether it must be visible, is one line, or stays exactly as it is."""

    most: int
    visible: bool = False
    line: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """How many entries a list may have, None for any number, and whether equal ones count once."""

    most: int | None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class PlainJson:
    """A mapping that JSON can hold, no deeper and no longer than the limits."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A test that a value of the right type and range must pass, and in words what the field takes."""

    test: Callable[[Any], bool]
    takes: str


@dataclass(frozen=True, slots=True)
class About:
    """What a field means, and what holds where it is left out and the default does not say it."""

    text: str
    left_out: str = ""


Text = Annotated[str, Chars(MAX_TEXT)]
VisibleText = Annotated[str, Chars(MAX_TEXT, visible=True)]
StoredText = Annotated[str, Chars(MAX_TEXT, exact=True)]
Content = Annotated[str, Chars(MAX_CONTENT)]
VisibleContent = Annotated[str, Chars(MAX_CONTENT, visible=True)]
StoredContent = Annotated[str, Chars(MAX_CONTENT, exact=True)]
Name = Annotated[str, Chars(MAX_NAME, visible=True, line=True)]
Names = Annotated[tuple[Name, ...], Items(MAX_K)]
Tags = Annotated[tuple[Name, ...], Items(MAX_TAGS, distinct=True)]
StoredTags = Annotated[tuple[Name, ...], Items(MAX_STORED_TAGS, distinct=True)]
Share = Annotated[float, Between(0, 1)]
Index = Annotated[int, Between(0, MAX_INDEX)]
Tally = Annotated[int, Between(0, MAX_TALLY)]
Metadata = Annotated[Mapping[str, Any], PlainJson()]

Count = Annotated[int, Between(1, MAX_K)]
RecentTurns = Annotated[int, Between(0, MAX_RECENT)]
TokenBudget = Annotated[int, Between(1, MAX_TOKENS)]
PageLimit = Annotated[int, Between(1, MAX_INDEX)]


@dataclass(frozen=True, slots=True)
class Declared:
    """The parts of a type hint: the type without `Annotated` and `None`, its marks, and whether None is allowed."""

    base: Any
    marks: tuple[Any, ...]
    optional: bool

    def mark(self, kind: type[T]) -> T | None:
        """The mark of that class; of several the outermost."""
        return next((mark for mark in reversed(self.marks) if isinstance(mark, kind)), None)


def declared(hint: Any) -> Declared:
    """The declaration in a type hint."""
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        within = declared(inner)
        return Declared(within.base, (*within.marks, *marks), within.optional)
    if get_origin(hint) in {Union, types.UnionType}:
        others = [part for part in get_args(hint) if part is not type(None)]
        if len(others) == 1:
            within = declared(others[0])
            return Declared(within.base, within.marks, True)
    return Declared(hint, (), False)
