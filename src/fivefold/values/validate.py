"""Bad input stops here: every value a caller gives is checked before anything is written."""

from __future__ import annotations

import dataclasses
import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.values.memory import KINDS, TYPES, Record
from fivefold.values.times import as_utc

MAX_TEXT = 100_000
"""Characters in one text. Longer material is better remembered in parts: a part can be recalled, a book cannot."""

MAX_NAME = 200
MAX_TAGS = 64
MAX_DEPTH = 100
"""How deep metadata may be nested; what lies deeper cannot be told by every face."""
MAX_K = 1_000
MAX_RECENT = 100
MAX_TOKENS = 1_000_000

_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_FIELDS = {field.name for field in dataclasses.fields(Record)} - {"notes"}
_TEXTS = ("content", "predicate", "user_text", "assistant_text", "next_user_text")
_NAMES = ("id", "speaker", "session_id", "task_tag")
_SHARES = ("importance", "memory_score", "confidence")
_TIMES = ("event_at", "valid_from", "valid_to")


def record_of(value: object) -> Record:
    """A string, mapping, dataclass or Record as a checked Record; errors name the field."""
    given = _as_mapping(value)
    unknown = sorted(set(given) - _FIELDS, key=str)
    if unknown:
        raise InvalidInput(f"unknown field {unknown[0]!r}; a record has {', '.join(sorted(_FIELDS))}")
    fields: dict[str, Any] = {key: item for key, item in given.items() if item is not None}
    if fields.get("content") == "" and ("user_text" in fields or "assistant_text" in fields):
        del fields["content"]
    for name in _TEXTS:
        if name in fields:
            fields[name] = checked_text(fields[name], name, empty=name != "content")
    if not fields.get("content"):
        fields["content"] = _from_parts(fields)
    for name in _NAMES:
        if name in fields:
            fields[name] = checked_name(fields[name], name)
    notes = _check_times(fields)
    _check_rest(fields)
    return Record(**fields, notes=tuple(notes))


def checked_text(value: object, field: str, *, empty: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}")
    if "\x00" in value:
        raise InvalidInput(f"{field} holds a NUL character; remove it, it cannot be stored as text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{field} holds half a surrogate pair at position {error.start}; it is not valid Unicode text"
        ) from None
    if len(value) > MAX_TEXT:
        raise InvalidInput(f"{field} has {len(value):,} characters, the most is {MAX_TEXT:,}; remember it in parts")
    if not empty and not visible(value):
        raise InvalidInput(f"{field} is empty; say something to remember or to ask")
    return value.strip()


def visible(text: str) -> bool:
    return any(unicodedata.category(c) not in _UNSEEN for c in text)


def checked_name(value: object, field: str) -> str:
    """Ids, speakers and namespaces: short, visible, one line."""
    text = checked_text(value, field, empty=True)
    if not visible(text):
        raise InvalidInput(f"{field} is empty; give it at least one visible character")
    if len(text) > MAX_NAME:
        raise InvalidInput(f"{field} has {len(text)} characters, the most is {MAX_NAME}")
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text):
        raise InvalidInput(f"{field} {text!r} holds a line break or control character")
    return text


def checked_history(history: object) -> tuple[str, ...]:
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise InvalidInput("history must be a list of earlier turns")
    turns = tuple(checked_text(turn, "a turn of the history", empty=True) for turn in history)
    told = sum(map(len, turns))
    if told > MAX_TEXT:
        raise InvalidInput(f"the history has {told:,} characters, the most is {MAX_TEXT:,}; give the last turns only")
    return turns


def checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit < 2**31:
        raise InvalidInput(f"limit must be a whole number from 1, not {limit!r}")
    return limit


def checked_count(value: object, field: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{field} must be a whole number, not {value!r}")
    if not low <= value <= high:
        raise InvalidInput(f"{field} must be between {low} and {high}, not {value}")
    return value


def checked_k(k: object) -> int:
    return checked_count(k, "k", 1, MAX_K)


def _as_mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"content": value}
    if isinstance(value, Record):
        return {name: getattr(value, name) for name in _FIELDS}
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise InvalidInput(f"a record must be text, a mapping or a dataclass, not {type(value).__name__}")


def _from_parts(fields: Mapping[str, Any]) -> str:
    """A record given as a question and its answer (F6) is remembered as both."""
    parts = [fields[name] for name in ("user_text", "assistant_text") if fields.get(name)]
    if not parts:
        raise InvalidInput("content is empty; say something to remember")
    return checked_text("\n".join(parts), "content")


def _check_times(fields: dict[str, Any]) -> list[str]:
    notes = []
    for name in _TIMES:
        if name in fields:
            moment, naive = as_utc(fields[name], name)
            fields[name] = moment
            if naive:
                notes.append(f"{name} {moment:%Y-%m-%d %H:%M} had no time zone and was taken as UTC")
    start, end = fields.get("valid_from"), fields.get("valid_to")
    if isinstance(start, datetime) and isinstance(end, datetime) and end < start:
        raise InvalidInput("valid_to lies before valid_from")
    return notes


def _check_rest(fields: dict[str, Any]) -> None:
    for name, allowed in (("kind", KINDS), ("type", TYPES)):
        if name in fields and fields[name] not in allowed:
            raise InvalidInput(f"{name} {fields[name]!r} is unknown; it is one of {', '.join(allowed)}")
    if fields.get("kind") == "turn" and not fields.get("session_id"):
        raise InvalidInput("a turn belongs to a session; give its session_id")
    if fields.get("kind") == "session":
        raise InvalidInput("session memories are built from their turns; remember the turns with a session_id")
    for name in _SHARES:
        if name in fields:
            fields[name] = _share(fields[name], name)
    turn = fields.get("turn_index")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or not 0 <= turn < 2**31):
        raise InvalidInput(f"turn_index must be a whole number from 0 to 2147483647, not {turn!r}")
    fields["tags"] = _tags(fields.get("tags", ()))
    fields["metadata"] = _metadata(fields.get("metadata", {}))


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must lie between 0 and 1, not {value!r}")
    return float(value)


def _tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise InvalidInput("tags must be a list of short texts")
    if len(value) > MAX_TAGS:
        raise InvalidInput(f"{len(value)} tags are too many, the most is {MAX_TAGS}")
    return tuple(dict.fromkeys(checked_name(tag, "a tag") for tag in value))


def _metadata(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata must be a mapping")
    if too_deep(value):
        raise InvalidInput(f"metadata must be plain JSON, nested at most {MAX_DEPTH} levels deep")
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata must be plain JSON: {error}") from None
    checked_text(text, "metadata")
    plain: Mapping[str, Any] = json.loads(text)
    return plain


def too_deep(value: Mapping[Any, Any] | Sequence[Any]) -> bool:
    """Whether values are nested deeper than is kept; what holds itself is."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = (inside for item in level for inside in (item.values() if isinstance(item, Mapping) else item))
        level = [item for item in inner if isinstance(item, Mapping | list | tuple)]
    return bool(level)
