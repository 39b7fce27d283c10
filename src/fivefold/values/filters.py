"""The filter of memories that may answer a question or appear in a list, for library, command line, REST and MCP."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from fivefold.errors import InvalidInput
from fivefold.values.fields import About, Chars, Items, Name, Rule, build, check_names, fields_of
from fivefold.values.memory import (
    META,
    TAG,
    Kind,
    Label,
    Memory,
    Origin,
    Type,
    label_value,
    labels_of,
    text_label,
    truth,
)
from fivefold.values.serialize import Value
from fivefold.values.times import iso
from fivefold.values.validate import MAX_NAME, checked_text, refusal, short_repr, shorten

MAX_CHOICES = 100
"""Maximum number of values in one part of a filter, and of conditions on metadata in a filter."""


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
        """The values that a label may have; none if the condition is a range."""
        return tuple(label_value(value) for value in self.any_of)

    def range(self) -> LabelRange:
        """The values between the bounds; without a bound, the range ends with the numbers or the texts."""
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
        """True if the value of a label passes."""
        return value in self.allowed() if self.any_of else self.range().contains(value)


@dataclass(frozen=True, slots=True)
class Filter(Value):
    """Selects the memories that may answer or appear in a list: they pass every part. A missing part does not narrow.

    `since` is included, `until` is not, for both times.
    """

    types: Annotated[tuple[Type, ...], Items(MAX_CHOICES, distinct=True), About("Any of these types")] = ()
    kinds: Annotated[
        tuple[Kind, ...],
        Items(MAX_CHOICES, distinct=True),
        About("Any of these kinds", left_out="turns and notes in a list; in a recall the recipe decides"),
    ] = ()
    speakers: Annotated[Choices, About("Said by any of these speakers")] = ()
    origins: Annotated[
        tuple[Origin, ...], Items(MAX_CHOICES, distinct=True), About("Written by any of these, or imported")
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
    superseded: Annotated[bool | None, About("Only replaced memories, or only the others")] = None
    pinned: Annotated[bool | None, About("Only pinned memories, or only the others")] = None
    used: Annotated[bool | None, About("Only memories of use by feedback, or only the others")] = None
    since: Annotated[datetime | None, About("Happened or said at this time or later, ISO 8601")] = None
    until: Annotated[datetime | None, About("Happened or said before this time, ISO 8601")] = None
    written_since: Annotated[datetime | None, About("Written at this time or later, ISO 8601")] = None
    written_until: Annotated[datetime | None, About("Written before this time, ISO 8601")] = None
    alive_at: Annotated[datetime | None, About("Pinned, or not expired at this time, ISO 8601")] = None
    expires_before: Annotated[datetime | None, About("Expires before this time, and is not pinned, ISO 8601")] = None
    idle_since: Annotated[datetime | None, About("Written and last used before this time, ISO 8601")] = None

    def __bool__(self) -> bool:
        """True if the filter has any part."""
        return self != EVERYTHING

    def matches(self, memory: Memory) -> bool:
        """True if a memory passes; the indexes of a store find exactly these memories."""
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
        """True if the memory is in the state of life that the filter asks for."""
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
    """A test of one label of a memory against one part of a filter."""

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
    """The forms of a word that is not ASCII; databases agree only on the letter case of ASCII."""
    return tuple(dict.fromkeys((word, word.lower(), word.upper(), word.capitalize())))


_ASCII_SMALL = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def has_word(text: str, word: str) -> bool:
    """True if a text has the word anywhere in it."""
    if word.isascii():
        return word.lower() in text.translate(_ASCII_SMALL)
    return any(form in text for form in word_forms(word))


# The filter as one line of text, for a command line and an address: `speaker:ana tag:work meta.price>=10`.

MAX_FILTER = 10_000
"""Characters of a filter that is written as text."""

LISTS = {"type": "types", "kind": "kinds", "speaker": "speakers", "origin": "origins"}
LISTS |= {"session": "session_ids", "tag": "tags", "text": "words"}
"""Fields that take one of several values, with their attributes."""

TIMES = {
    name: name.replace("-", "_")
    for name in "since until written-since written-until alive-at expires-before idle-since".split()
}
"""Fields that are times, with their attributes."""
STATES = ("superseded", "pinned", "used")
"""Fields that are yes or no."""
FLAGS = {"yes": True, "no": False, "true": True, "false": False}
BOUNDS = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most"}
FIELDS = (*LISTS, *STATES, *TIMES, f"{META}KEY")
"""Every field of the language."""

EXAMPLE = "speaker:ana tag:work meta.price>=10 since:2024-01-01"

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_FIELD = re.compile(rf'(?P<name>meta\.(?:{_QUOTED}|[^\s:=<>,"]+)|[^\s:=<>,"]+)(?P<sign>>=|<=|>|<|=|:)', re.DOTALL)
_VALUE = re.compile(rf'(?P<quoted>{_QUOTED})|[^\s,"]+', re.DOTALL)
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition of a filter: a field, the sign after it, and its values."""

    field: str
    sign: str
    values: tuple[Item, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Item:
    """One value, and whether it was in quotes."""

    text: str
    quoted: bool

    def plain(self) -> str | float:
        """The number that it reads as, else the text."""
        if self.quoted or not _NUMBER.fullmatch(self.text):
            return self.text
        number = float(self.text)
        return int(self.text) if self.text.lstrip("+-").isdecimal() and abs(number) < 2**53 else number


def fields_of_filter(text: str) -> dict[str, Any]:
    """The fields of a `Filter` that a line of text says, not yet checked."""
    if len(text) > MAX_FILTER:
        raise InvalidInput(f"has {len(text):,} characters, the maximum is {MAX_FILTER:,}", field="filter")
    fields: dict[str, Any] = {}
    for term in _terms(text):
        if term.field.startswith(META):
            _add_metadata(fields, term)
        else:
            _add(fields, term)
    return fields


def _terms(text: str) -> Iterator[Term]:
    place = _end(_SPACE, text, 0)
    while place < len(text):
        head = _FIELD.match(text, place)
        if head is None:
            raise _fault(text, place, "is not a condition; write a field, a colon and a value, as in tag:work")
        values, end = _values(text, head.end(), head[0])
        yield Term(head["name"], head["sign"], tuple(values), place)
        place = _end(_SPACE, text, end)
        if place == end and place < len(text):
            raise _fault(text, place, "follows a value without a space; put a value with spaces or commas in quotes")


def _values(text: str, place: int, head: str) -> tuple[list[Item], int]:
    items = []
    while True:
        match = _VALUE.match(text, place)
        if match is None:
            raise _fault(text, place, f"is not a value after {head!r}; a quote that is opened must be closed")
        items.append(_item(match, text, place, head))
        place = match.end()
        if text[place : place + 1] != ",":
            return items, place
        place += 1


def _item(match: re.Match[str], text: str, place: int, head: str) -> Item:
    if match["quoted"] is None:
        if match[0][0] in ":=<>":
            raise _fault(text, place, f"follows {head!r}; write one sign only, as in meta.price>=10")
        return Item(match[0], False)
    return Item(_unquoted(match["quoted"], text, place), True)


def _unquoted(quoted: str, text: str, place: int) -> str:
    unknown = next((part for part in _ESCAPE.findall(quoted[1:-1]) if part not in '"\\'), None)
    if unknown is not None:
        raise _fault(text, place, r"has a backslash before another character; within quotes write \" and \\")
    return _ESCAPE.sub(r"\1", quoted[1:-1])


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    assert match is not None
    return match.end()


def _add(fields: dict[str, Any], term: Term) -> None:
    """A field that is not metadata; a tag or a word may come again, and then all of them are wanted."""
    _check_field(term)
    texts = [item.text for item in term.values]
    if term.field == "text":
        if len(texts) > 1:
            raise _wrong("text", 'takes words that must all occur; write text:"tea cup"')
        fields["words"] = (*fields.get("words", ()), *texts[0].split())
    elif term.field == "tag" and len(texts) == 1:
        fields["all_tags"] = (*fields.get("all_tags", ()), *texts)
    elif term.field in LISTS:
        _once(fields, LISTS[term.field], texts, term.field, f"; write {term.field}:a,b for either of two values")
    elif len(texts) > 1:
        raise _wrong(term.field, f"takes one value, not {len(texts)}")
    elif term.field in STATES:
        if texts[0] not in FLAGS:
            raise _wrong(term.field, f"{shorten(repr(texts[0]), 60)} is unknown; it is yes or no")
        _once(fields, term.field, FLAGS[texts[0]], term.field)
    else:
        _once(fields, TIMES[term.field], texts[0], term.field)


def _check_field(term: Term) -> None:
    if term.field not in FIELDS:
        reason = f"is not a field of a filter; the fields are {', '.join(FIELDS)}"
        raise _wrong(shorten(repr(term.field), 60), f"{reason}; an example is {EXAMPLE}")
    if term.sign not in ":=":
        raise _wrong(term.field, f"takes a colon, not {term.sign!r}; only {META}KEY can be compared")


def _once(fields: dict[str, Any], name: str, value: Any, word: str, advice: str = "") -> None:
    if name in fields:
        raise _wrong(word, f"is given twice{advice}")
    fields[name] = value


def _wrong(word: str, reason: str) -> InvalidInput:
    return InvalidInput(f"{word} {reason}", field="filter", statement=f"filter: {word} {reason}")


def _add_metadata(fields: dict[str, Any], term: Term) -> None:
    tests = fields.setdefault("metadata", [])
    quoted = _VALUE.fullmatch(term.field, len(META))
    key = term.field.removeprefix(META)
    if quoted is not None and quoted["quoted"]:
        key = _unquoted(key, key, 0)
    if term.sign not in BOUNDS:
        tests.append({"key": key, "any_of": _alternatives(term)})
        return
    if len(term.values) > 1:
        raise _wrong(term.field, f"takes one value after {term.sign!r}, not {len(term.values)}")
    bounds = next((test for test in tests if test["key"] == key and "any_of" not in test), None)
    if bounds is None:
        bounds = {"key": key}
        tests.append(bounds)
    _once(bounds, BOUNDS[term.sign], term.values[0].plain(), f"{term.field}{term.sign}")


def _alternatives(term: Term) -> list[str | float]:
    """After a colon a number is also looked for as a text, since one cannot see how it was stored."""
    values: dict[str | float, None] = {}
    for item in term.values:
        values[item.plain()] = None
        if term.sign == ":":
            values[item.text] = None
    return list(values)


def _fault(text: str, place: int, reason: str) -> InvalidInput:
    rest = repr(shorten(text[place:], 40)) if place < len(text) else "the end"
    statement = f"filter, character {place + 1}: {rest} {reason}"
    return InvalidInput(reason, field="filter", statement=statement, advice=f"an example is {EXAMPLE}")


def write_filter(keep: Filter) -> str:
    """A filter as a line of text; empty if it has no part."""
    if not keep:
        return ""
    parts = [
        f"{word}:{','.join(map(_text, getattr(keep, name)))}"
        for word, name in LISTS.items()
        if word != "text" and getattr(keep, name)
    ]
    parts += [f"tag:{_text(tag)}" for tag in keep.all_tags]
    parts += [part for test in keep.metadata for part in _write_test(test)]
    if keep.words:
        parts.append(f"text:{_text(' '.join(keep.words))}")
    states = ((name, getattr(keep, name)) for name in STATES)
    parts += [f"{name}:{'yes' if state else 'no'}" for name, state in states if state is not None]
    parts += [f"{word}:{iso(getattr(keep, name))}" for word, name in TIMES.items() if getattr(keep, name)]
    return " ".join(parts)


def _write_test(test: MetadataTest) -> Iterator[str]:
    key = test.key if re.fullmatch(r'[^\s:=<>,"]+', test.key) else _in_quotes(test.key)
    if test.any_of:
        yield f"{META}{key}={','.join(map(_plain, test.any_of))}"
    for sign, name in BOUNDS.items():
        bound = getattr(test, name)
        if bound is not None:
            yield f"{META}{key}{sign}{_plain(bound)}"


def _plain(value: object) -> str:
    if isinstance(value, str):
        return _in_quotes(value) if _NUMBER.fullmatch(value) else _text(value)
    return repr(value)


def _text(text: str) -> str:
    return text if re.fullmatch(r'[^\s,":=<>][^\s,"]*', text) else _in_quotes(text)


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# A filter as a caller gives it, as text, a mapping or a value: checked once, with errors that say what is allowed.

FilterInput: TypeAlias = Filter | Mapping[str, object] | str
"""A filter as a value, as a mapping of its fields, or as a line of text such as `speaker:ana tag:work`."""

_FIELDS = fields_of(Filter)
_TEST = fields_of(MetadataTest)
_LISTS = tuple(name for name, spec in _FIELDS.items() if name != "metadata" and spec.max_length)


def filter_of(value: FilterInput | None) -> Filter:
    """The filter that a caller means; None and an empty one let every memory pass."""
    if value is None or value == EVERYTHING:
        return EVERYTHING
    if isinstance(value, Filter):
        data: Mapping[str, Any] = {name: getattr(value, name) for name in _FIELDS}
    elif isinstance(value, str):
        data = fields_of_filter(checked_text(value, "filter", empty=True))
    elif isinstance(value, Mapping):
        data = _named(value)
    else:
        raise refusal("filter", f"must be a Filter, a mapping or a text, not {short_repr(value)}")
    return _checked(data)


def narrowed(keep: Filter, **parts: Any) -> Filter:
    """A filter with more conditions, each checked already. Tags, words and times narrow it; others it says once."""
    changes: dict[str, Any] = {}
    for name, part in parts.items():
        own = getattr(keep, name)
        if part in (None, ()) or part == own:
            continue
        if own in (None, ()):
            changes[name] = part
        elif name in _ADDED:
            changes[name] = _ADDED[name](own, part)
        else:
            raise refusal("filter", f"has {name} as well; give them once")
    return replace(keep, **changes)


def _joined(own: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*own, *more)))


_ADDED: Mapping[str, Callable[[Any, Any], Any]] = {"all_tags": _joined, "words": _joined, "since": max, "until": min}


def _named(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A mapping may also say `speaker`, `tag` and so on, as the text of a filter does."""
    twice = next((name for name, field in LISTS.items() if name in data and field in data), None)
    if twice is not None:
        raise refusal("filter", f"has both {twice} and {LISTS[twice]}; give one of them")
    return {LISTS.get(name, name): item for name, item in data.items()}


def _checked(data: Mapping[str, Any]) -> Filter:
    """One text stands for a list of one; metadata may also be a mapping from keys to values."""
    check_names(data, _FIELDS, "filter", noun="field")
    fields = {name: _listed(name, item) for name, item in data.items() if item is not None}
    fields["metadata"] = [_test(item, place) for place, item in enumerate(_tests(fields.get("metadata", ())))]
    keep = build(Filter, fields, "filter")
    _check_words(keep.words)
    _check_bounds(keep.metadata)
    if len(keep.tags) == 1:
        keep = replace(keep, tags=(), all_tags=_joined(keep.tags, keep.all_tags))
    return keep


def _listed(name: str, item: object) -> object:
    if not isinstance(item, str) or name not in _LISTS:
        return item
    return item.split() if name == "words" else [item]


def _tests(value: object) -> Sequence[object]:
    if isinstance(value, Mapping):
        return [_keyed(key, wanted) for key, wanted in value.items()]
    if isinstance(value, list | tuple):
        return value
    raise refusal("filter.metadata", f"must be a mapping or a list of conditions, not {short_repr(value)}")


def _keyed(key: object, wanted: object) -> Mapping[str, object]:
    """`{"price": {"at_least": 10}}`, `{"city": "Paris"}` or `{"city": ["Paris", "Rome"]}`."""
    if isinstance(wanted, Mapping):
        return {"key": key, **wanted}
    return {"key": key, "any_of": list(wanted) if isinstance(wanted, list | tuple) else [wanted]}


def _test(value: object, place: int) -> MetadataTest:
    """A condition with its values as they are compared."""
    path = f"filter.metadata[{place}]"
    data = {name: getattr(value, name) for name in _TEST} if isinstance(value, MetadataTest) else value
    test = build(MetadataTest, data, path)
    if bool(test.any_of) == bool(test.bounds):
        reason = "needs either any_of or bounds: above, at_least, below, at_most"
        raise refusal(path, reason)
    if None not in (test.above, test.at_least) or None not in (test.below, test.at_most):
        raise refusal(path, "has two lower or two upper bounds; give one of each")
    changes = {name: _compared(getattr(test, name)) for name in ("above", "at_least", "below", "at_most")}
    return replace(test, any_of=tuple(dict.fromkeys(map(_compared, test.any_of))), **changes)


def _compared(value: Any) -> Any:
    """True and false are looked for as texts; a whole number that a float cannot hold exactly is compared as one."""
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        try:
            return float(value)
        except OverflowError:
            raise refusal("filter.metadata", f"{short_repr(value)} is too large a number") from None
    return value


def _check_words(words: Sequence[str]) -> None:
    if any(len(word.split()) != 1 for word in words):
        raise refusal("filter.words", "must each be one word without spaces")
    if sum(map(len, words)) > MAX_NAME:
        reason = f"are too long to search for, the maximum is {MAX_NAME} characters; use recall for more"
        raise InvalidInput(reason, field="filter.words")


def _check_bounds(tests: Sequence[MetadataTest]) -> None:
    """The bounds of a range are of one type, and each key has one range."""
    seen = set()
    for test in tests:
        if not test.bounds:
            continue
        if len({isinstance(bound, str) for bound in test.bounds}) > 1:
            raise refusal(test.name, "has a number and a text as its bounds; compare with one of both")
        if test.key in seen:
            raise refusal(test.name, "has two ranges; give both bounds in one")
        seen.add(test.key)
