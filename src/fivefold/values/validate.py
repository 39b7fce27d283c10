"""Checks of single values: each returns the value as it is stored, or says which field is wrong and what it takes."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json
from fivefold.values.times import as_utc

# The limits that all interfaces and checks share.

MAX_TEXT = 100_000
"""Characters in a question with its history, a predicate or the metadata."""

MAX_CONTENT = 100_000_000
"""Characters in a text that is remembered: about what a row of a store can hold. It is stored whole."""

MAX_EXTRACTED = 100_000
"""Characters at the beginning of a text from which entities, statements and the rest are extracted."""

MAX_READ = 200
"""Dates, statements and relations that are read out of one text, of each kind: a long text can state thousands."""

MAX_NAME = 200
"""Characters in an id, a speaker, a session, a namespace or a tag."""

MAX_TAGS = 64
"""Tags of one memory."""

MAX_STORED_TAGS = 1_000
"""Tags of an exported memory that is imported: earlier versions added the tags of equal notes without a limit."""

MAX_DEPTH = 100
"""Maximum depth of nested metadata; not every interface can show deeper values."""

MAX_K = 1_000
"""Memories in one answer."""

MAX_RECENT = 100
"""Last turns that a recall adds."""

MAX_TOKENS = 1_000_000
"""Tokens in a context."""

MAX_INDEX = 2**31 - 1
"""The largest place of a turn in its session, and the largest limit of a page."""

MAX_TALLY = 2**53
"""The largest count of uses; JSON of other languages holds no larger whole number exactly."""


# The one way in which a text is cut where only its beginning is shown.


def shorten(text: str, length: int) -> str:
    """`text` on one line of at most `length` characters; a cut ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


_T = TypeVar("_T")
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_BREAKS = frozenset({"Cc", "Zl", "Zp"})
_LONGEST_REPR = 60

_SEEN = (
    r"[^\s\u0000-\u0020\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]"
)
_ON_LINE = r"[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*"

TEXT_PATTERN = rf"^[^\u0000]*{_SEEN}[^\u0000]*$"
"""A visible text, for schemas; as in JavaScript, characters above U+FFFF count as visible."""

NAME_PATTERN = f"^{_ON_LINE}{_SEEN}{_ON_LINE}$"
"""A name, for schemas: one visible line."""


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
        raise refusal(field, f"has {len(value):,} characters, the maximum is {most:,}; {advice}")
    if not empty and not visible(value):
        raise refusal(field, "is empty; say something to remember or to ask")
    return value.strip()


def exact_text(value: object, field: str, *, most: int = MAX_TEXT) -> str:
    """Text that can be stored, white space included."""
    checked_text(value, field, empty=True, most=most)
    assert isinstance(value, str)
    return value


def visible(text: str) -> bool:
    """True if a reader sees anything of it."""
    return any(unicodedata.category(c) not in _INVISIBLE for c in text)


def checked_name(value: object, field: str) -> str:
    """Ids, speakers and namespaces: short, visible, one line."""
    text = checked_text(value, field, empty=True)
    if not visible(text):
        raise refusal(field, "is empty; give it at least one visible character")
    if len(text) > MAX_NAME:
        raise refusal(field, f"has {len(text)} characters, the maximum is {MAX_NAME}")
    if any(unicodedata.category(c) in _BREAKS for c in text):
        raise refusal(field, f"{text!r} holds a line break or control character")
    return text


def is_name(value: object) -> bool:
    """True if it can be an id, a speaker or a namespace."""
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
    """The location of a store: a path or an address."""
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
        raise refusal("history", f"has {size:,} characters, the maximum is {MAX_TEXT:,}; give the last turns only")
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
    """True if values are nested deeper than `MAX_DEPTH`; one that contains itself is."""
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


# Text with nothing in it that a terminal, a page or a notebook would obey or hide.

_MARK = "·"
_JOINERS = "\u200c\u200d"
_PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Format characters that have a shape of their own."""

_HARMLESS = frozenset("\n\t" + _JOINERS + _PREPENDED)
_LINE_SIGNS = re.compile(r"[\[\]［］(){}:;,·“”\"]")
"""Signs by which our lines separate a name from what is said about it."""
_PLAIN_BRACKETS = str.maketrans('[]［］“”"', "()()'''")

_CONTROL_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def visible_text(text: str) -> str:
    """`text` with a mark in place of every control, bidi and invisible format character; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_mark(c) if is_obeyed(c) else c for c in text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`text` visible and without line breaks, so that it cannot begin a line of ours."""
    return " ".join(visible_text(text).splitlines())


def shown_name(name: str) -> str:
    """A name inside a line of ours. One that could pose as the rest of the line stands in quotation marks.

    Square brackets become round ones: a number in square brackets is always the number of a source.
    """
    plain = one_line(name)
    if not _LINE_SIGNS.search(plain):
        return plain
    return f"“{plain.translate(_PLAIN_BRACKETS)}”"


def is_obeyed(c: str) -> bool:
    """True if a character does something instead of being seen."""
    return not c.isprintable() and c not in _HARMLESS and unicodedata.category(c) in _CONTROL_CATEGORIES


def _mark(c: str) -> str:
    if c < " ":
        return chr(0x2400 + ord(c))
    return "␡" if c == "\x7f" else _MARK


# Values of foreign JSON, checked for the shape they should have; an error names the wrong value and what it is.

_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
_MILLIS = 100_000_000_000
"""Seconds since 1970 only reach this in the year 5138, so a larger number counts milliseconds."""


def require_object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise _wrong_type(value, what, "an object")
    return value


def require_list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise _wrong_type(value, what, "a list")
    return value


def require_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, what, "a text")
    return value


def require_name(value: object, what: str) -> str:
    """An id or a role: a text that is not empty, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not require_text(value, what).strip():
        raise InvalidInput(f"{what} is empty")
    return str(value)


def optional_time(value: object, what: str) -> datetime | None:
    """A time as seconds or milliseconds since 1970 or as ISO 8601; None if it is missing."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return as_utc(value, what)[0]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(value, what, "a time")
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) > _MILLIS else value, UTC)
    except (OverflowError, ValueError, OSError):
        raise InvalidInput(f"{what} {value!r} is out of range; use the years 1 to 9999") from None


def _wrong_type(value: object, what: str, expected: str) -> InvalidInput:
    actual = "missing" if value is None else f"{_NAMES.get(type(value), type(value).__name__)} here"
    return InvalidInput(f"{what} should be {expected}; it is {actual}")
