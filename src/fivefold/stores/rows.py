"""Between the rows of a table and values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.values.memory import Memory
from fivefold.values.times import from_micros, to_micros

MEMORY_COLUMNS = (
    "row, id, content, kind, type, speaker, session_id, turn_index, predicate, user_text, assistant_text, "
    "next_user_text, tags, task_tag, event_at, created_at, valid_from, valid_to, superseded_by, importance, "
    "memory_score, confidence, seen_count, access_count, last_accessed_at, "
    "expires_at, pinned, origin, echo_count, metadata"
).split(", ")
"""The columns of a memory in the order of `memory_of`; all but the row in that of `values_of`."""


def memory_of(namespace: str, columns: Sequence[Any]) -> Memory:
    """The memory of a row; written out, since a recall makes a hundred of them."""
    (
        row,
        id,
        content,
        kind,
        type,
        speaker,
        session_id,
        turn_index,
        predicate,
        user_text,
        assistant_text,
        next_user_text,
        tags,
        task_tag,
        event_at,
        created_at,
        valid_from,
        valid_to,
        superseded_by,
        importance,
        memory_score,
        confidence,
        seen_count,
        access_count,
        last_accessed_at,
        expires_at,
        pinned,
        origin,
        echo_count,
        metadata,
    ) = columns
    return Memory(
        id=id,
        namespace=namespace,
        content=content,
        kind=kind,
        type=type,
        speaker=speaker,
        session_id=session_id,
        turn_index=turn_index,
        predicate=predicate,
        user_text=user_text,
        assistant_text=assistant_text,
        next_user_text=next_user_text,
        tags=() if tags == "[]" else tuple(json.loads(tags)),
        task_tag=task_tag,
        event_at=from_micros(event_at),
        created_at=from_micros(created_at),
        valid_from=moment_or_none(valid_from),
        valid_to=moment_or_none(valid_to),
        superseded_by=superseded_by,
        importance=importance,
        memory_score=memory_score,
        confidence=confidence,
        seen_count=seen_count,
        access_count=access_count,
        last_accessed_at=moment_or_none(last_accessed_at),
        expires_at=moment_or_none(expires_at),
        pinned=bool(pinned),
        origin=origin,
        echo_count=echo_count,
        metadata={} if metadata == "{}" else json.loads(metadata),
        row=row,
    )


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
