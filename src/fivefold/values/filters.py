"""The filter: which memories may answer a question or are listed. One value for library, command line, REST and MCP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fivefold.values.fields import About, Chars, Items, Name, Rule
from fivefold.values.memory import META, TAG, Kind, Label, Memory, Origin, Type, label_value, labels_of, text_label
from fivefold.values.serialize import Value
from fivefold.values.validate import MAX_NAME

MAX_CHOICES = 100
"""How many values one part of a filter may allow, and how many conditions on metadata a filter may have."""


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_NAME and "\x00" not in value
    return isinstance(value, int | float) and (isinstance(value, int) or math.isfinite(value))


Plain = Annotated[
    str | int | float | bool, Rule(_is_plain, f"a text of at most {MAX_NAME} characters, a number, true or false")
]
Choices = Annotated[tuple[Name, ...], Items(MAX_CHOICES, distinct=True)]


@dataclass(frozen=True, slots=True)
class LabelRange:
    """Values of labels from `low` to `high`; whether each end belongs to it."""

    low: str
    high: str
    from_low: bool
    to_high: bool

    def contains(self, value: str) -> bool:
        above = value >= self.low if self.from_low else value > self.low
        return above and (value <= self.high if self.to_high else value < self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTest(Value):
    """A condition on one key of the metadata: one of some values, or a value between two bounds.

    Numbers are compared with numbers and texts with texts. True and false count as the texts `true` and `false`. Of a
    list, one entry must fit.
    """

    key: Annotated[Name, About("The key; a dot leads into a nested object, as in order.price")]
    any_of: Annotated[tuple[Plain, ...], Items(MAX_CHOICES), About("The value is one of these")] = ()
    above: Annotated[Plain | None, About("The value is greater than this")] = None
    at_least: Annotated[Plain | None, About("The value is this or greater")] = None
    below: Annotated[Plain | None, About("The value is less than this")] = None
    at_most: Annotated[Plain | None, About("The value is this or less")] = None

    @property
    def name(self) -> str:
        """The name of the labels that it is about."""
        return META + self.key

    @property
    def bounds(self) -> tuple[Plain, ...]:
        """The bounds that are set."""
        ends = (self.above, self.at_least, self.below, self.at_most)
        return tuple(end for end in ends if end is not None)

    def allowed(self) -> tuple[str, ...]:
        """The values that a label may have; none where the condition is a range."""
        return tuple(label_value(value) for value in self.any_of)

    def range(self) -> LabelRange:
        """The values between the bounds; an end that is open ends with the numbers or the texts."""
        first, after = ("t", "u") if isinstance(self.bounds[0], str) else ("n", "o")
        low = self.at_least if self.above is None else self.above
        high = self.at_most if self.below is None else self.below
        return LabelRange(
            first if low is None else label_value(low),
            after if high is None else label_value(high),
            self.above is None,
            self.below is None and high is not None,
        )

    def fits(self, value: str) -> bool:
        """Whether the value of a label passes."""
        return value in self.allowed() if self.any_of else self.range().contains(value)


@dataclass(frozen=True, slots=True)
class Filter(Value):
    """Which memories may answer or are listed: those that pass every part. A part that is left out does not narrow.

    `since` is included, `until` is not, for both times.
    """

    types: Annotated[tuple[Type, ...], Items(MAX_CHOICES, distinct=True), About("Any of these types")] = ()
    kinds: Annotated[
        tuple[Kind, ...],
        Items(MAX_CHOICES, distinct=True),
        About("Any of these kinds", left_out="a list has turns and notes, a recall has what its recipe looks for"),
    ] = ()
    speakers: Annotated[Choices, About("Said by any of these speakers")] = ()
    origins: Annotated[
        tuple[Origin, ...], Items(MAX_CHOICES, distinct=True), About("Written by any of these, or come by that way")
    ] = ()
    session_ids: Annotated[Choices, About("From any of these sessions")] = ()
    tags: Annotated[Choices, About("With any of these tags")] = ()
    all_tags: Annotated[Choices, About("With all of these tags")] = ()
    metadata: Annotated[tuple[MetadataTest, ...], Items(MAX_CHOICES), About("Conditions on the metadata")] = ()
    words: Annotated[
        tuple[Annotated[str, Chars(MAX_NAME)], ...],
        Items(MAX_CHOICES, distinct=True),
        About("Words that must all be in the text, in any letter case"),
    ] = ()
    superseded: Annotated[bool | None, About("Only what was replaced, or only what was not")] = None
    pinned: Annotated[bool | None, About("Only what is pinned, or only what is not")] = None
    used: Annotated[bool | None, About("Only what was of use by feedback, or only what was not")] = None
    since: Annotated[datetime | None, About("Happened or said at this time or later, ISO 8601")] = None
    until: Annotated[datetime | None, About("Happened or said before this time, ISO 8601")] = None
    written_since: Annotated[datetime | None, About("Written at this time or later, ISO 8601")] = None
    written_until: Annotated[datetime | None, About("Written before this time, ISO 8601")] = None
    alive_at: Annotated[datetime | None, About("Pinned, or not expired at this time, ISO 8601")] = None
    expires_before: Annotated[datetime | None, About("Expires before this time, and is not pinned, ISO 8601")] = None
    idle_since: Annotated[datetime | None, About("Written and last used before this time, ISO 8601")] = None

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return self != EVERYTHING

    def matches(self, memory: Memory) -> bool:
        """Whether a memory passes; the same as what the indexes of a store find."""
        return (
            self._is_among(memory)
            and _within(memory.event_at, self.since, self.until)
            and _within(memory.created_at, self.written_since, self.written_until)
            and (self.superseded is None or self.superseded is (memory.superseded_by is not None))
            and (self.pinned is None or self.pinned is memory.pinned)
            and (self.used is None or self.used is (memory.access_count > 0))
            and self._is_of_age(memory)
            and all(has_word(memory.content, word) for word in self.words)
            and self._has_labels(memory)
        )

    def _is_of_age(self, memory: Memory) -> bool:
        """Whether its life is at the point that is asked for."""
        return (
            (self.alive_at is None or memory.is_alive(self.alive_at))
            and (self.expires_before is None or memory.expires_by(self.expires_before))
            and (self.idle_since is None or memory.touched_at < self.idle_since)
        )

    def _is_among(self, memory: Memory) -> bool:
        return (
            (not self.types or memory.type in self.types)
            and (not self.kinds or memory.kind in self.kinds)
            and (not self.speakers or memory.speaker in self.speakers)
            and (not self.origins or memory.origin in self.origins)
            and (not self.session_ids or memory.session_id in self.session_ids)
        )

    def _has_labels(self, memory: Memory) -> bool:
        if not (self.tags or self.all_tags or self.metadata):
            return True
        labels = labels_of(memory.tags, memory.metadata)
        return all(any(test(label) for label in labels) for test in self._label_tests())

    def _label_tests(self) -> Iterator[_LabelTest]:
        if self.tags:
            yield _LabelTest(TAG, frozenset(map(text_label, self.tags)))
        for tag in self.all_tags:
            yield _LabelTest(TAG, frozenset((text_label(tag),)))
        for test in self.metadata:
            yield _LabelTest(test.name, test)


@dataclass(frozen=True, slots=True)
class _LabelTest:
    """Whether one label of a memory passes one part of a filter."""

    name: str
    allowed: frozenset[str] | MetadataTest

    def __call__(self, label: Label) -> bool:
        name, value = label
        if name != self.name:
            return False
        return self.allowed.fits(value) if isinstance(self.allowed, MetadataTest) else value in self.allowed


EVERYTHING = Filter()
"""The filter that every memory passes."""


def _within(moment: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or moment >= since) and (until is None or moment < until)


def word_forms(word: str) -> tuple[str, ...]:
    """How a word that is not ASCII may be written; databases agree only on the letter case of ASCII."""
    return tuple(dict.fromkeys((word, word.lower(), word.upper(), word.capitalize())))


_ASCII_SMALL = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def has_word(text: str, word: str) -> bool:
    """Whether a text has the word anywhere in it."""
    if word.isascii():
        return word.lower() in text.translate(_ASCII_SMALL)
    return any(form in text for form in word_forms(word))
