"""A memory as the fields of a form, and the changes that a person makes in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.values.memory import Memory

EDITABLE = ("content", "type", "tags", "importance", "event_at", "valid_from", "valid_to")
TIMES = ("event_at", "valid_from", "valid_to")


def form_of(memory: Memory) -> dict[str, str]:
    """The memory as texts for the form: one tag per line, times in UTC."""
    return {
        "content": memory.content,
        "type": memory.type,
        "tags": "\n".join(memory.tags),
        "importance": f"{memory.importance:g}",
        **{name: _moment(getattr(memory, name)) for name in TIMES},
    }


def version_of(memory: Memory) -> str:
    """A hash of the form, to notice that someone else changed the memory in the meantime."""
    return blake2b(json.dumps(form_of(memory)).encode(), digest_size=8).hexdigest()


def changes_of(memory: Memory, form: Mapping[str, str]) -> dict[str, Any]:
    """The fields that differ from the memory, as `Engine.update` takes them."""
    before = {name: _normalize(name, text) for name, text in form_of(memory).items()}
    after = {name: _normalize(name, form[name]) for name in EDITABLE if name in form}
    return {name: _value(name, text) for name, text in after.items() if text != before[name]}


def _value(name: str, text: str) -> object:
    if name == "tags":
        return parse_tags(text)
    if name == "importance":
        return parse_number(text, "importance")
    if name in TIMES:
        return text or None
    return text


def parse_tags(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def parse_number(text: str, field: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise InvalidInput(f"{field} must be a number, not {text!r}") from None


def _moment(value: datetime | None) -> str:
    return "" if value is None else value.replace(tzinfo=None).isoformat(timespec="seconds")


def _normalize(name: str, text: str) -> str:
    """Browsers send line ends as one character or two, and a time at :00 with or without seconds."""
    if name in TIMES:
        return f"{text}:00" if len(text) == len("2025-01-06T08:12") else text
    return text.replace("\r\n", "\n").replace("\r", "\n")
