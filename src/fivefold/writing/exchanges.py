"""Exchanges: a question and its answer, paired from single turns, so that each is found by either side (M1).

The sides are vectors and no texts: a turn's own vector as that of who says it, and for an answer also its question's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fivefold.models.embedders import Embedder
from fivefold.stores.protocol import Reader, SpaceState, Writer
from fivefold.values.memory import Memory, origin_of
from fivefold.values.vectors import FIELDS, Vector, VectorField
from fivefold.writing.draft import Draft
from fivefold.writing.indexing import NO_VECTORS

SIDES: tuple[VectorField, ...] = ("user", "assistant")

StoredVectors = Callable[[Sequence[int]], Mapping[int, Vector]]
"""The vectors of the full texts of memories, by row."""


def users_words(turn: Memory) -> str:
    """What the user says in a turn; nothing where the assistant or a tool speaks."""
    if turn.user_text:
        return turn.user_text
    return "" if turn.assistant_text or origin_of(turn.speaker) != "user" else turn.content


def answers(turn: Memory, before: Memory | None) -> bool:
    """Whether a turn answers the one before it: somebody else speaks, and not the user after the assistant.

    Between people each turn answers the one before it. A record of a question and its answer is whole by itself.
    """
    if before is None or turn.user_text or before.assistant_text or not users_words(before):
        return False
    if turn.assistant_text:
        return True
    return (
        turn.speaker is not None
        and origin_of(turn.speaker) in SIDES
        and turn.speaker.casefold() != (before.speaker or "").casefold()
    )


def own_side(turn: Memory, before: Memory | None) -> VectorField | None:
    """Whose side of an exchange a turn is; a record that says so has the vectors of the texts it gives."""
    if turn.kind != "turn" or turn.user_text or turn.assistant_text:
        return None
    if answers(turn, before) or origin_of(turn.speaker) == "assistant":
        return "assistant"
    return "user" if users_words(turn) else None


def add_sides(drafts: Iterable[Draft], stored: StoredVectors) -> None:
    """Give the drafts that have vectors those of the sides of their exchange."""
    turns = [item for item in drafts if item.memory.kind == "turn" and item.vectors is not NO_VECTORS]
    kept = [item.before_memory for item in turns if _vector_of(item.before) is None]
    known = stored(sorted({before.row for before in kept if before is not None and before.row}))
    for item in turns:
        before, question = item.before_memory, _vector_of(item.before)
        if question is None and before is not None:
            question = known.get(before.row)
        sides = _sides(item.memory, before, item.vectors.fields["full"], question)
        item.vectors = replace(item.vectors, fields={**item.vectors.fields, **sides})


def vectors_for(reader: Reader, model: Embedder) -> StoredVectors:
    """What is stored of other turns, where the same model has read them."""
    space = reader.search.vector_space()
    if space is None or space.embedder != model.pin:
        return lambda rows: {}
    return lambda rows: reader.search.vectors(space, rows) if rows else {}


def pair_with_next(turn: Memory, txn: Writer, state: SpaceState = "active") -> None:
    """The sides of a stored turn that was read again, and of the turn after it, which may answer it."""
    assert turn.session_id is not None
    pair_again(turn, txn, state)
    after = txn.sessions.turn_after(turn.session_id, turn.row)
    if after is not None:
        pair_again(after, txn, state)


def pair_again(turn: Memory, txn: Writer, state: SpaceState = "active") -> None:
    """The sides of a stored turn whose own vector, or the turn before it, has changed."""
    assert turn.session_id is not None
    before = txn.sessions.turn_before(turn.session_id, turn.row)
    vectors = txn.vectors.get([turn.row, *([before.row] if before else [])], "full", state)
    if turn.row not in vectors:
        return
    sides = _sides(turn, before, vectors[turn.row], vectors.get(before.row) if before else None)
    given = {"user": turn.user_text, "assistant": turn.assistant_text}
    gone = [side for side in SIDES if side not in sides and not given[side]]
    if gone:
        txn.vectors.drop_fields(turn.row, gone, state)
    if sides:
        txn.vectors.put(turn, sides, state)
    if state == "active":
        txn.vectors.drop_fields(turn.row, FIELDS, "building")  # it is read again there


def _sides(turn: Memory, before: Memory | None, own: Vector, question: Vector | None) -> dict[VectorField, Vector]:
    side = own_side(turn, before)
    sides: dict[VectorField, Vector] = {} if side is None else {side: own}
    if question is not None and answers(turn, before):
        sides["user"] = question
    return sides


def _vector_of(before: Draft | Memory | None) -> Vector | None:
    return before.vectors.fields.get("full") if isinstance(before, Draft) else None
