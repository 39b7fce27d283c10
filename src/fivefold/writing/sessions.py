"""Sessions: each has a memory of its own that follows its turns, and each turn knows the reply to it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from fivefold.errors import FivefoldError
from fivefold.models.embedders import Embedder, gives_tokens
from fivefold.namespace import Namespace
from fivefold.stores.interface import Reader, Writer
from fivefold.stores.records import SpaceState
from fivefold.text.passages import PassageTexts, texts_to_embed
from fivefold.values.entities import Extraction
from fivefold.values.memory import Memory, Record, origin_of
from fivefold.values.times import content_hash, new_id
from fivefold.values.vectors import Vector, VectorField
from fivefold.writing.draft import Draft, MemoryVectors, centre, index_entry, new_memory, read_texts

MAX_FRESH_TURNS = 64
"""A session memory is built again with each turn up to this number of turns, then whenever a tenth is new."""

MAX_SESSION_TEXT = 60_000
"""Characters of a session memory; the turns beyond are still memories of their own."""


def log_turn(item: Draft, txn: Writer) -> None:
    """Enter a turn in the log of its session; a turn without an index gets the next one."""
    assert item.memory.session_id is not None
    next_index = txn.sessions.log_turn(item.memory.session_id, item.memory.event_at)
    if item.memory.turn_index is None:
        item.memory = replace(item.memory, turn_index=next_index)
    else:
        item.inserted = item.memory.turn_index < next_index


def backfill_previous(item: Draft, txn: Writer) -> None:
    """Adds the user's next words to the fields by which a turn is found, even if nobody is named as the speaker
    (M1)."""
    memory = item.memory
    assert memory.session_id is not None
    if not _users_words(memory):
        return
    before = txn.sessions.turn_before(memory.session_id, memory.row)
    goes_on = before is not None and memory.speaker is not None and before.speaker == memory.speaker
    if before is not None and before.next_user_text is None and not goes_on:
        txn.sessions.set_next_text(before.row, *_users_side(item))


def _users_side(item: Draft) -> tuple[str | None, Vector | None]:
    """The user's part of a turn, and its vector unless the whole turn's serves: no vector is stored twice."""
    return _users_words(item.memory) or None, item.vectors.fields.get("user")


def _users_words(turn: Memory) -> str:
    """The user's words in a turn; empty if the assistant or a tool speaks."""
    if turn.user_text:
        return turn.user_text
    return "" if turn.assistant_text or origin_of(turn.speaker) != "user" else turn.content


def follow_change(session_id: str, old: Memory, new: Draft | None, namespace: Namespace, txn: Writer) -> None:
    """After the turn `old` has changed to `new` or is gone: the turn before it and its session follow."""
    text, vector = (None, None) if new is None else _users_side(new)
    for said in filter(None, dict.fromkeys((old.content, old.user_text))):
        for turn in txn.sessions.turns_followed_by(session_id, said):
            txn.sessions.set_next_text(turn.row, text, vector)
    txn.sessions.recount(session_id)
    refresh_session(session_id, namespace, txn, at_once=True)


def refresh_session(session_id: str, namespace: Namespace, txn: Writer, *, at_once: bool = False) -> None:
    """Build the session's own memory from its turns; a long one waits until a tenth is new, unless `at_once`."""
    turns, built_from, row = txn.sessions.size(session_id)
    if turns == 0:
        row = txn.sessions.memory_row(session_id)
        if row is not None:
            txn.memories.remove(row)
        return
    if not at_once and turns > MAX_FRESH_TURNS and built_from and built_from < turns < built_from * 1.1:
        return
    members = txn.sessions.turns(session_id)
    vectors = txn.vectors.get([turn.row for turn in members], "full")
    if not vectors:
        return
    content = "\n".join(f"{turn.speaker}: {turn.content}" if turn.speaker else turn.content for turn in members)
    content = content[:MAX_SESSION_TEXT]
    record = Record(
        content=content,
        kind="session",
        type="fact",
        session_id=session_id,
        tags=tuple(dict.fromkeys(tag for turn in members for tag in turn.tags)),
        task_tag=next((turn.task_tag for turn in members if turn.task_tag), None),
        event_at=members[0].event_at,
        importance=max(turn.importance for turn in members),
        memory_score=round(sum(turn.memory_score for turn in members) / len(members), 3),
        confidence=1.0,
    )
    memory = new_memory(record, namespace.name, namespace.clock(), id=new_id())
    known = None if row is None else txn.memories.by_row(row)
    if known is not None:  # its id and age stay, and how often it was used
        used = {"access_count": known.access_count, "last_accessed_at": known.last_accessed_at}
        memory = new_memory(record, namespace.name, known.created_at, id=known.id, **used)
    vectors_of = MemoryVectors({"session": centre(list(vectors.values()))})
    entry = index_entry(memory, Extraction(), content_hash(session_id, content), vectors_of)
    if known is not None:
        txn.memories.replace(known.row, entry)
    row = txn.memories.add(entry) if known is None else known.row
    txn.sessions.mark_built(session_id, row, turns)


READ_WITH_BEFORE: tuple[VectorField, ...] = ("full", "user", "assistant", "passage")
"""Vectors that depend on the turn before."""

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_STATES: tuple[SpaceState, ...] = ("active", "building")
_log = logging.getLogger("fivefold")


def find_turns_before(drafts: Iterable[Draft], reader: Reader, model: Embedder) -> None:
    """Notes on each turn the one before it, of the batch or of the store; only if the model reads it along."""
    if not gives_tokens(model):
        return
    sessions: dict[str, list[Draft]] = {}
    for item in drafts:
        if item.memory.kind == "turn" and item.memory.session_id:
            sessions.setdefault(item.memory.session_id, []).append(item)
    for session_id, turns in sessions.items():  # in the order they will have among the turns that are stored
        stored = reader.sessions.last_turns(session_id, _END_OF_TIME, 1)
        last = _index(stored[0]) if stored else -1
        places, free = [], last + 1
        for item in turns:
            places.append(free if item.memory.turn_index is None else item.memory.turn_index)
            free = max(free, places[-1] + 1)
        if stored and min(places) <= last:
            stored = reader.sessions.turns(session_id)
        ordered: list[tuple[int, Draft | Memory]] = [(_index(known), known) for known in stored]
        ordered += zip(places, turns, strict=True)
        ordered.sort(key=lambda placed: placed[0])
        for (_, before), (_, turn) in pairwise(ordered):
            if isinstance(turn, Draft):
                turn.before = before


def _index(turn: Memory) -> int:
    return -1 if turn.turn_index is None else turn.turn_index


def follow_new_turns(drafts: Sequence[Draft], txn: Writer, model: Embedder) -> None:
    """Read again what was read with another turn before it than the one that is stored there now."""
    if not gives_tokens(model):
        return
    added = {item.memory.row: item for item in drafts if item.memory.row and item.memory.kind == "turn"}
    again: dict[int, Memory] = {}
    for row, item in added.items():
        assert item.memory.session_id is not None
        if not (isinstance(item.before, Draft) and item.before.memory.row):
            before = txn.sessions.turn_before(item.memory.session_id, row)
            if (before.content if before else "") != item.text_before:
                again[row] = item.memory
        after = txn.sessions.turn_after(item.memory.session_id, row) if item.inserted else None
        if after is not None and after.row not in added:
            again[after.row] = after
    _read_again(again.values(), txn, model)


def follow_changed_turn(after: Memory | None, namespace: Namespace, txn: Writer) -> None:
    """Read the turn after a changed or removed one again; if the model cannot be loaded, a repair makes its vectors."""
    space = txn.vectors.space("active")
    if after is None or space is None or not space.tokens:
        return
    try:
        _read_again([after], txn, namespace.embedder_of(space))
    except FivefoldError as error:
        _log.warning("the turn after a changed one has no vectors now: %s", error)
        _drop_readings(after, txn)


def drop_readings_after(drafts: Sequence[Draft], txn: Writer) -> None:
    """Delete the vectors of turns that were stored before and follow one of these now, to be made again."""
    space = txn.vectors.space("active")
    added = {item.memory.row for item in drafts}
    for item in drafts if space is not None and space.tokens else ():
        if item.inserted and item.memory.session_id:
            after = txn.sessions.turn_after(item.memory.session_id, item.memory.row)
            if after is not None and after.row not in added:
                _drop_readings(after, txn)


def _drop_readings(turn: Memory, txn: Writer) -> None:
    for state in _STATES:
        txn.vectors.drop_fields(turn.row, READ_WITH_BEFORE, state)


def stored_texts(txn: Writer, memory: Memory, extraction: Extraction) -> PassageTexts:
    """The model's input for a stored memory, as when it was written: with the turn before it, and the reply to it."""
    if memory.session_id is None or memory.kind != "turn":
        return texts_to_embed(memory, extraction.facets)
    before = txn.sessions.turn_before(memory.session_id, memory.row)
    texts = texts_to_embed(memory, extraction.facets, before.content if before else "")
    after = txn.sessions.turn_after(memory.session_id, memory.row) if memory.next_user_text else None
    if after is not None and after.user_text and after.user_text == memory.next_user_text:
        texts["next_user"] = texts_to_embed(after, {})["user"]
    elif after is not None and after.content == memory.next_user_text:
        del texts["next_user"]  # the vector of the turn after it serves
    return texts


def _read_again(turns: Iterable[Memory], txn: Writer, model: Embedder) -> None:
    """The vectors that depend on the turn before; a file of an older version has one of them also there."""
    for turn in turns:
        assert turn.session_id is not None
        before = txn.sessions.turn_before(turn.session_id, turn.row)
        texts = texts_to_embed(turn, {}, before.content if before else "")
        shared: PassageTexts = {field: read for field, read in texts.items() if read == texts["full"]}
        (vectors,) = read_texts([shared], model)
        txn.vectors.drop_fields(turn.row, READ_WITH_BEFORE, "building")
        txn.vectors.put(turn, vectors.fields, "active", vectors.passages)
        if before is not None and before.next_user_text == turn.content:
            txn.sessions.set_next_text(before.row, turn.content, None)
