"""Memories of mem0: what `get_all` gives as JSON, or the file in which it keeps their history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import (
    HEADER,
    ImportLog,
    columns,
    first_bytes,
    items,
    open_source_file,
    rows,
    text_records,
)
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import optional_time, require_list, require_name, require_object, require_text

SOURCE = "mem0"
HISTORY = {"memory_id", "new_memory", "event", "created_at"}
"""The columns by which the table `history` is known."""

_OWNERS = ("actor_id", "user_id", "agent_id")
_SQL = "SELECT memory_id, new_memory, event, {at}, created_at, {actor} FROM history ORDER BY created_at, {at}, rowid"


def read(path: Path, log: ImportLog) -> Iterator[Record]:
    if first_bytes(path, size=len(HEADER)) == HEADER:
        yield from _history(path, log)
        return
    with open_source_file(path, "") as (stream, label):
        for number, item in enumerate(_memories(items(stream, label), label), 1):
            log.parts += 1
            try:
                notes = list(_note(require_object(item, "a memory"), log))
            except InvalidInput as error:
                log.skip(label, f"memory {number}", error)
            else:
                yield from notes


def _memories(entries: Iterator[object], label: str) -> Iterator[object]:
    """The memories of a bare list, or of an object that lists them as `results`."""
    for item in entries:
        if isinstance(item, dict) and "results" in item and "memory" not in item:
            yield from require_list(item["results"], f"{label}: results")
        else:
            yield item


def _note(memory: Json, log: ImportLog) -> Iterator[Record]:
    """A memory becomes a note of its owner, with the time of its last change."""
    key = require_name(memory.get("id"), "the id")
    text = require_text(memory.get("memory"), "memory")
    if not text.strip():
        log.left_out["empty memories"] += 1
    created = optional_time(memory.get("created_at"), "created_at")
    owner = next((memory[name] for name in _OWNERS if memory.get(name)), None)
    tags = [require_name(tag, "a category") for tag in require_list(memory.get("categories") or [], "categories")]
    yield from text_records(
        SOURCE,
        (key,),
        text,
        speaker=None if owner is None else require_name(owner, "the owner"),
        at=optional_time(memory.get("updated_at"), "updated_at") or created,
        tags=tags,
        metadata=memory.get("metadata"),
        user_id=memory.get("user_id"),
        agent_id=memory.get("agent_id"),
        run_id=memory.get("run_id"),
    )


def _history(path: Path, log: ImportLog) -> Iterator[Record]:
    """The last text of every memory that was not deleted."""
    known = columns(path).get("history", [])
    if not set(known) >= HISTORY:
        raise InvalidFile(path, f"has no table history with {', '.join(sorted(HISTORY))}")
    sql = _SQL.format(
        at="updated_at" if "updated_at" in known else "NULL", actor="actor_id" if "actor_id" in known else "NULL"
    )
    last: dict[str, Json | None] = {}
    for memory_id, text, event, updated, created, actor in rows(path, sql):
        latest = {"id": memory_id, "memory": text, "updated_at": updated, "created_at": created, "actor_id": actor}
        last.pop(str(memory_id), None)
        last[str(memory_id)] = None if str(event).upper() == "DELETE" else latest
    for key, memory in last.items():
        log.parts += 1
        if memory is None:
            log.left_out["deleted memories"] += 1
            continue
        try:
            yield from list(_note(memory, log))
        except InvalidInput as error:
            log.skip(str(path), f"memory {key}", error)
