"""Bad input stops here: every record is checked as `Record` declares it before anything is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.values.fields import fields_of
from fivefold.values.limits import MAX_CONTENT, MAX_NAME
from fivefold.values.memory import Record
from fivefold.values.times import as_utc, offset_of
from fivefold.values.validate import checked_text, refusal

RECORD_FIELDS = fields_of(Record)
"""What a caller may say of a memory."""

TEXT_FIELDS = tuple(name for name, spec in RECORD_FIELDS.items() if spec.type is str and spec.max_length != MAX_NAME)
"""Fields with a whole text, not a name."""

_TIMES = tuple(name for name, spec in RECORD_FIELDS.items() if spec.type is datetime)
_CHECKERS = {name: spec.checker for name, spec in RECORD_FIELDS.items() if name not in _TIMES}


def record_of(value: object) -> Record:
    """A string, mapping, dataclass or Record as a checked Record; errors name the field."""
    data = _as_mapping(value)
    if not RECORD_FIELDS.keys() >= data.keys():
        unknown = min((name for name in data if name not in RECORD_FIELDS), key=str)
        reason = f"unknown field {unknown!r}; a record has {', '.join(sorted(RECORD_FIELDS))}"
        raise InvalidInput(reason, field=str(unknown), statement=reason)
    parts = data.get("user_text") is not None or data.get("assistant_text") is not None
    fields: dict[str, Any] = {}
    for name, checker in _CHECKERS.items():
        item = data.get(name)
        if item is not None and not (name == "content" and item == "" and parts):
            fields[name] = checker(item, name)
    if "content" not in fields:
        fields["content"] = _from_parts(fields)
    notes = _check_times(data, fields)
    _check_kind(fields)
    return Record(**fields, notes=notes, utc_offset=_offset(value, data.get("event_at")))


def _as_mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"content": value}
    if isinstance(value, Record):
        return {name: getattr(value, name) for name in RECORD_FIELDS}
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise InvalidInput(f"a record must be text, a mapping or a dataclass, not {type(value).__name__}")


def _from_parts(fields: Mapping[str, Any]) -> str:
    """A record of a question and its answer (F6) is remembered as both."""
    parts = [fields[name] for name in ("user_text", "assistant_text") if fields.get(name)]
    if not parts:
        raise refusal("content", "is empty; say something to remember")
    return checked_text("\n".join(parts), "content", most=MAX_CONTENT)


def _check_times(data: Mapping[str, Any], fields: dict[str, Any]) -> tuple[str, ...]:
    """Put the times into the fields; a time without a zone gets a note."""
    notes = []
    for name in _TIMES:
        if data.get(name) is not None:
            fields[name], naive = as_utc(data[name], name)
            if naive:
                notes.append(f"{name} {fields[name]:%Y-%m-%d %H:%M} had no time zone and was taken as UTC")
    start, end = fields.get("valid_from"), fields.get("valid_to")
    if start is not None and end is not None and end < start:
        raise InvalidInput("lies before", field="valid_to", other="valid_from")
    return tuple(notes)


def _offset(value: object, said_at: datetime | str | None) -> timedelta | None:
    """The offset of the time as it was given; a record that was checked before still knows it."""
    if isinstance(value, Record) and value.utc_offset is not None:
        return value.utc_offset
    return None if said_at is None else offset_of(said_at)


def _check_kind(fields: Mapping[str, Any]) -> None:
    if fields.get("kind") == "turn" and not fields.get("session_id"):
        reason = "a turn belongs to a session; give its session_id"
        raise InvalidInput(reason, field="session_id", statement=reason)
    if fields.get("kind") == "session":
        reason = "session memories are built from their turns; remember the turns with a session_id"
        raise InvalidInput(reason, field="kind", statement=reason)
