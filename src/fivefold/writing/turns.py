"""Turns are read with what was said before them: which turn that is, and what is read again when it changes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from fivefold.errors import FivefoldError
from fivefold.models.embedders import Embedder, gives_tokens
from fivefold.namespace import Namespace
from fivefold.stores.protocol import Reader, SpaceState, Writer
from fivefold.text.passages import PassageTexts, texts_to_embed
from fivefold.values.extraction import Extraction
from fivefold.values.memory import Memory
from fivefold.values.vectors import VectorField
from fivefold.writing.draft import Draft
from fivefold.writing.indexing import read_texts

READ_WITH_BEFORE: tuple[VectorField, ...] = ("full", "user", "assistant", "passage")
"""Vectors that depend on the turn before."""

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_STATES: tuple[SpaceState, ...] = ("active", "building")
_log = logging.getLogger("fivefold")


def find_turns_before(drafts: Iterable[Draft], reader: Reader, model: Embedder) -> None:
    """Note on each turn the one before it, of the batch or of the store; only where the model reads it along."""
    if not gives_tokens(model):
        return
    sessions: dict[str, list[Draft]] = {}
    for item in drafts:
        if item.memory.kind == "turn" and item.memory.session_id:
            sessions.setdefault(item.memory.session_id, []).append(item)
    for session_id, turns in sessions.items():
        _link(turns, session_id, reader)


def _link(turns: Sequence[Draft], session_id: str, reader: Reader) -> None:
    """Put the new turns of a session in the order they will have among those that are stored."""
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
    """Read the turn after one that was changed or removed again, so that nothing of the old text stays in its vectors.

    Where the model cannot be loaded its vectors are deleted; a repair makes them again.
    """
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
    """What a model reads of a stored memory, as when it was written: with the turn before it, and the reply to it."""
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
