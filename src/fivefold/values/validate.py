"""Checks of single values: each returns the value as it is stored, or says which field is wrong and what it takes."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fivefold.errors import InvalidInput
from fivefold.values.limits import MAX_DEPTH, MAX_INDEX, MAX_NAME, MAX_TEXT
from fivefold.values.shorten import shorten

_T = TypeVar("_T")
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_BREAKS = frozenset({"Cc", "Zl", "Zp"})
_LONGEST_REPR = 60


def refusal(field: str, reason: str) -> InvalidInput:
    """The error that says of a field what is wrong with its value."""
    return InvalidInput(reason, field=field)


def checked_text(value: object, field: str, *, empty: bool = False, most: int = MAX_TEXT) -> str:
    """Text that can be stored, without the white space around it."""
    if not isinstance(value, str):
        raise refusal(field, f"must be text, not {type(value).__name__}")
    if "\x00" in value:
        raise refusal(field, "holds a NUL character; remove it, it cannot be stored as text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        reason = f"holds half a surrogate pair at position {error.start}; it is not valid Unicode text"
        raise refusal(field, reason) from None
    if len(value) > most:
        advice = "remember it in parts" if most > MAX_TEXT else "make it shorter"
        raise refusal(field, f"has {len(value):,} characters, the most is {most:,}; {advice}")
    if not empty and not visible(value):
        raise refusal(field, "is empty; say something to remember or to ask")
    return value.strip()


def exact_text(value: object, field: str, *, most: int = MAX_TEXT) -> str:
    """Text that can be stored, white space included."""
    checked_text(value, field, empty=True, most=most)
    assert isinstance(value, str)
    return value


def visible(text: str) -> bool:
    """Whether a reader sees anything of it."""
    return any(unicodedata.category(c) not in _INVISIBLE for c in text)


def checked_name(value: object, field: str) -> str:
    """Ids, speakers and namespaces: short, visible, one line."""
    text = checked_text(value, field, empty=True)
    if not visible(text):
        raise refusal(field, "is empty; give it at least one visible character")
    if len(text) > MAX_NAME:
        raise refusal(field, f"has {len(text)} characters, the most is {MAX_NAME}")
    if any(unicodedata.category(c) in _BREAKS for c in text):
        raise refusal(field, f"{text!r} holds a line break or control character")
    return text


def is_name(value: object) -> bool:
    """Whether it can be an id, a speaker or a namespace."""
    try:
        checked_name(value, "name")
    except InvalidInput:
        return False
    return True


def checked_choice(value: object, choices: Sequence[_T], field: str) -> _T:
    """The one of the choices that `value` is."""
    for choice in choices:
        if choice == value:
            return choice
    raise refusal(field, f"{short_repr(value)} is unknown; it is one of {', '.join(map(str, choices))}")


def checked_number(value: object, field: str, low: float, high: float) -> float:
    """A number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise refusal(field, f"must be a number from {digits(low)} to {digits(high)}, not {short_repr(value)}")
    return float(value)


def checked_count(value: object, field: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise refusal(field, f"must be a whole number from {digits(low)} to {digits(high)}, not {short_repr(value)}")
    return value


_CONNECTION = re.compile(
    r"^\s*(?:postgres(?:ql)?:(?!//)|(?:host|hostaddr|dbname|service)\s*=)"
    r"|(?:^|[\s;])(?:password|passwd|pwd|passfile)\s*=",
    re.IGNORECASE,
)
"""Settings of a connection as words; taken for a path they would make a file that has the password as its name."""


def checked_location(location: str | os.PathLike[str]) -> str:
    """Where a store is: a path or an address."""
    try:
        path = os.fspath(location)
    except TypeError:
        raise InvalidInput(f"a store is named by a path, not by {location!r}") from None
    if not isinstance(path, str):
        raise InvalidInput("a store is named by text, not bytes")
    if _CONNECTION.search(path):
        raise InvalidInput(
            "a store on a server is named by an address: postgresql://user@host/database, with the password in "
            "PGPASSWORD or ~/.pgpass"
        )
    return checked_text(path, "the store's path")


def checked_limit(limit: object) -> int:
    return checked_count(limit, "limit", 1, MAX_INDEX)


def checked_history(history: object) -> tuple[str, ...]:
    """The turns before a question."""
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise refusal("history", "must be a list of earlier turns")
    turns = tuple(checked_text(turn, f"history[{i}]", empty=True) for i, turn in enumerate(history))
    size = sum(map(len, turns))
    if size > MAX_TEXT:
        raise refusal("history", f"has {size:,} characters, the most is {MAX_TEXT:,}; give the last turns only")
    return turns


def plain_json(value: object, field: str) -> Mapping[str, Any]:
    """A mapping that JSON can hold, as a copy of its own."""
    if not isinstance(value, Mapping):
        raise refusal(field, "must be a mapping")
    if too_deep(value):
        raise refusal(field, f"must be plain JSON, nested at most {MAX_DEPTH} levels deep")
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise refusal(field, f"must be plain JSON: {error}") from None
    checked_text(text, field)
    copy: Mapping[str, Any] = json.loads(text)
    return copy


def too_deep(value: Mapping[Any, Any] | Sequence[Any]) -> bool:
    """Whether values are nested deeper than `MAX_DEPTH`; one that contains itself is."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = (inside for item in level for inside in (item.values() if isinstance(item, Mapping) else item))
        level = [item for item in inner if isinstance(item, Mapping | list | tuple)]
        if not level:
            return False
    return True


def short_repr(value: object) -> str:
    """A value as an error shows it: short, whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # a whole number with more digits than the interpreter writes
        return "a number of very many digits"
    return shorten(text, _LONGEST_REPR)


def digits(value: float) -> str:
    """A limit in words and documents: `3`, `0.01`, `1000000`."""
    return str(int(value)) if value == int(value) else f"{value:g}"
