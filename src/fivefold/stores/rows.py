"""Between the rows of a table and values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, cast

from fivefold.values.memory import Memory
from fivefold.values.serialize import Value
from fivefold.values.times import from_micros, to_micros

MEMORY_COLUMNS = (
    "row, id, content, kind, type, speaker, session_id, turn_index, predicate, user_text, assistant_text, "
    "next_user_text, tags, task_tag, event_at, created_at, valid_from, valid_to, superseded_by, importance, "
    "memory_score, confidence, seen_count, access_count, last_accessed_at, "
    "expires_at, pinned, origin, echo_count, metadata"
).split(", ")
"""The columns of a memory in the order of `memory_of`; all but the row in that of `values_of`."""


_decode = json.JSONDecoder().raw_decode


class _Draft(Value):
    """A memory that is still being filled in. Its slots are those of a memory, which it becomes."""

    __slots__ = tuple(field.name for field in fields(Memory))


def memory_of(namespace: str, columns: Sequence[Any]) -> Memory:
    """The memory of a row. A recall makes a hundred, and filling in a frozen one takes five times as long."""
    memory: Any = _Draft()
    (
        memory.row,
        memory.id,
        memory.content,
        memory.kind,
        memory.type,
        memory.speaker,
        memory.session_id,
        memory.turn_index,
        memory.predicate,
        memory.user_text,
        memory.assistant_text,
        memory.next_user_text,
        tags,
        memory.task_tag,
        event_at,
        created_at,
        valid_from,
        valid_to,
        memory.superseded_by,
        memory.importance,
        memory.memory_score,
        memory.confidence,
        memory.seen_count,
        memory.access_count,
        last_accessed_at,
        expires_at,
        pinned,
        memory.origin,
        memory.echo_count,
        metadata,
    ) = columns
    memory.namespace = namespace
    memory.tags = () if tags == "[]" else tuple(_decode(tags)[0])
    memory.event_at = from_micros(event_at)
    memory.created_at = from_micros(created_at)
    memory.valid_from = moment_or_none(valid_from)
    memory.valid_to = moment_or_none(valid_to)
    memory.last_accessed_at = moment_or_none(last_accessed_at)
    memory.expires_at = moment_or_none(expires_at)
    memory.pinned = bool(pinned)
    memory.metadata = {} if metadata == "{}" else _decode(metadata)[0]
    memory.__class__ = Memory
    return cast(Memory, memory)


def values_of(memory: Memory) -> tuple[Any, ...]:
    """The memory's columns in the order of `MEMORY_COLUMNS`, without the row."""
    return (
        memory.id,
        memory.content,
        memory.kind,
        memory.type,
        memory.speaker,
        memory.session_id,
        memory.turn_index,
        memory.predicate,
        memory.user_text,
        memory.assistant_text,
        memory.next_user_text,
        compact(list(memory.tags)) if memory.tags else "[]",
        memory.task_tag,
        to_micros(memory.event_at),
        to_micros(memory.created_at),
        micros_or_none(memory.valid_from),
        micros_or_none(memory.valid_to),
        memory.superseded_by,
        memory.importance,
        memory.memory_score,
        memory.confidence,
        memory.seen_count,
        memory.access_count,
        micros_or_none(memory.last_accessed_at),
        micros_or_none(memory.expires_at),
        int(memory.pinned),
        memory.origin,
        memory.echo_count,
        compact(dict(memory.metadata)) if memory.metadata else "{}",
    )


def compact(value: object) -> str:
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def micros_or_none(value: datetime | None) -> int | None:
    return None if value is None else to_micros(value)


def moment_or_none(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
