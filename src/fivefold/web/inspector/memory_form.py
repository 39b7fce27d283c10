"""A memory as a form: its fields as they are declared, and the changes that a person makes in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from fivefold.values.fields import fields_of
from fivefold.values.memory import Memory, Record
from fivefold.web.inspector.form_fields import FormField, form_field, text_of, value_of

FIELDS = fields_of(Record)
NEW = ("content", "speaker", "session_id", "event_at", "type", "importance", "tags", "expires_at", "pinned")
"""The fields of the form for a new memory."""
EDITABLE = ("content", "type", "importance", "event_at", "valid_from", "valid_to", "tags", "expires_at")


def texts_of(memory: Memory) -> dict[str, str]:
    """The texts of the form for a stored memory."""
    return {name: text_of(getattr(memory, name)) for name in EDITABLE}


def form_of(texts: Mapping[str, str]) -> dict[str, FormField]:
    """The fields of the form with these texts, by name."""
    return {name: form_field(FIELDS[name], text) for name, text in texts.items()}


def version_of(memory: Memory) -> str:
    """A hash of the form, to notice that someone else changed the memory in the meantime."""
    return blake2b(json.dumps(texts_of(memory)).encode(), digest_size=8).hexdigest()


def record_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of `Engine.remember`."""
    return {name: value_of(FIELDS[name], text) for name, text in texts.items() if text.strip()}


def changes_of(memory: Memory, texts: Mapping[str, str]) -> dict[str, Any]:
    """The fields that differ from the memory, as `Engine.update` takes them."""
    before = {name: _normalize(name, text) for name, text in texts_of(memory).items()}
    after = {name: _normalize(name, text) for name, text in texts.items()}
    return {name: _value(name, text) for name, text in after.items() if text != before[name]}


def _value(name: str, text: str) -> Any:
    return text if name == "content" else value_of(FIELDS[name], text)


def _normalize(name: str, text: str) -> str:
    """Browsers send line ends as one character or two, and a time at :00 with or without seconds."""
    if FIELDS[name].type is datetime:
        return f"{text}:00" if len(text) == len("2025-01-06T08:12") else text
    return text.replace("\r\n", "\n").replace("\r", "\n")
