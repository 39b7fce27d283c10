"""Memories of mem0: what `get_all` gives as JSON, or the file in which it keeps their history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.account import Account
from fivefold.transfer.importers.arrays import items
from fivefold.transfer.importers.expected import a_list, a_moment, a_name, a_text, an_object
from fivefold.transfer.importers.places import beginning, opened
from fivefold.transfer.importers.records import pieces
from fivefold.transfer.importers.tables import HEADER, columns, rows
from fivefold.values.memory import Record
from fivefold.values.serialize import Json

SOURCE = "mem0"
HISTORY = {"memory_id", "new_memory", "event", "created_at"}
"""The columns by which the table `history` is known."""

_OWNERS = ("actor_id", "user_id", "agent_id")
_SQL = "SELECT memory_id, new_memory, event, {at}, created_at, {actor} FROM history ORDER BY created_at, {at}, rowid"


def read(path: Path, account: Account) -> Iterator[Record]:
    if beginning(path, size=len(HEADER)) == HEADER:
        yield from _history(path, account)
        return
    with opened(path, "") as (stream, shown):
        for number, item in enumerate(_memories(items(stream, shown), shown), 1):
            account.parts += 1
            try:
                read = list(_note(an_object(item, "a memory"), account))
            except InvalidInput as error:
                account.skip(f"{shown}, memory {number}", error)
            else:
                yield from read


def _memories(found: Iterator[object], shown: str) -> Iterator[object]:
    """The memories of a bare list, or of an object that lists them as `results`."""
    for item in found:
        if isinstance(item, dict) and "results" in item and "memory" not in item:
            yield from a_list(item["results"], f"{shown}: results")
        else:
            yield item


def _note(memory: Json, account: Account) -> Iterator[Record]:
    """What is known of someone is a note of theirs; of when it was last put in words."""
    key = a_name(memory.get("id"), "the id")
    text = a_text(memory.get("memory"), "memory")
    if not text.strip():
        account.left_out["empty memories"] += 1
    created = a_moment(memory.get("created_at"), "created_at")
    owner = next((memory[name] for name in _OWNERS if memory.get(name)), None)
    tags = [a_name(tag, "a category") for tag in a_list(memory.get("categories") or [], "categories")]
    yield from pieces(
        SOURCE,
        (key,),
        text,
        speaker=None if owner is None else a_name(owner, "the owner"),
        at=a_moment(memory.get("updated_at"), "updated_at") or created,
        tags=tags,
        metadata=memory.get("metadata"),
        user_id=memory.get("user_id"),
        agent_id=memory.get("agent_id"),
        run_id=memory.get("run_id"),
    )


def _history(path: Path, account: Account) -> Iterator[Record]:
    """The last text of every memory that was not deleted."""
    known = columns(path).get("history", [])
    if not set(known) >= HISTORY:
        raise InvalidInput(f"{str(path)!r} has no table history with {', '.join(sorted(HISTORY))}")
    sql = _SQL.format(
        at="updated_at" if "updated_at" in known else "NULL", actor="actor_id" if "actor_id" in known else "NULL"
    )
    last: dict[str, Json | None] = {}
    for memory_id, text, event, updated, created, actor in rows(path, sql):
        kept = {"id": memory_id, "memory": text, "updated_at": updated, "created_at": created, "actor_id": actor}
        last.pop(str(memory_id), None)
        last[str(memory_id)] = None if str(event).upper() == "DELETE" else kept
    for key, memory in last.items():
        account.parts += 1
        if memory is None:
            account.left_out["deleted memories"] += 1
            continue
        try:
            yield from list(_note(memory, account))
        except InvalidInput as error:
            account.skip(f"{path}, memory {key}", error)
