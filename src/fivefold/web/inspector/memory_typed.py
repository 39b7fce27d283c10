"""A memory as the fields of a form, and what was changed in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.values.memory import Memory

EDITED = ("content", "type", "tags", "importance", "event_at", "valid_from", "valid_to")
TIMES = ("event_at", "valid_from", "valid_to")


def typed_of(memory: Memory) -> dict[str, str]:
    """The fields as they stand in the form before anything is typed; tags one a line, times in UTC."""
    return {
        "content": memory.content,
        "type": memory.type,
        "tags": "\n".join(memory.tags),
        "importance": f"{memory.importance:g}",
        **{name: _moment(getattr(memory, name)) for name in TIMES},
    }


def mark(memory: Memory) -> str:
    """Stands for what the form showed, so that a change made elsewhere since then is seen."""
    return blake2b(json.dumps(typed_of(memory)).encode(), digest_size=8).hexdigest()


def changed(memory: Memory, typed: Mapping[str, str]) -> dict[str, Any]:
    """What `Engine.update` is to change: only fields that no longer stand as they did."""
    before = {name: _sent(name, text) for name, text in typed_of(memory).items()}
    given = {name: _sent(name, typed[name]) for name in EDITED if name in typed}
    return {name: _value(name, text) for name, text in given.items() if text != before[name]}


def _value(name: str, text: str) -> object:
    if name == "tags":
        return tags_of(text)
    if name == "importance":
        return number(text, "importance")
    if name in TIMES:
        return text or None
    return text


def tags_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def number(text: str, field: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise InvalidInput(f"{field} must be a number, not {text!r}") from None


def _moment(value: datetime | None) -> str:
    return "" if value is None else value.replace(tzinfo=None).isoformat(timespec="seconds")


def _sent(name: str, text: str) -> str:
    """As every browser sends it: line ends as two characters or one, times with seconds or, at :00, without."""
    if name in TIMES:
        return f"{text}:00" if len(text) == len("2025-01-06T08:12") else text
    return text.replace("\r\n", "\n").replace("\r", "\n")
