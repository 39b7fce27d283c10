"""Care of a namespace: rebuilding what is derived, and moving to another embedding model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fivefold.models.embedders import Embedder, vectors_by
from fivefold.namespace import Namespace
from fivefold.stores.protocol import SpaceState, Store, Writer
from fivefold.text import passages
from fivefold.values.extraction import Extraction
from fivefold.values.memory import Memory, Record
from fivefold.values.vectors import Field, Vector
from fivefold.writing.pipeline import Draft, centre

BATCH = 128

Advance = Callable[[int], None]


def rebuild(space: Namespace, advance: Advance) -> None:
    """Make lexemes, links, statements and missing vectors anew from the memory rows."""
    model = space.embedder()
    with space.writing(model) as txn:
        txn.clear_derived()
        for memory, extraction in _all(txn):
            item = Draft(Record(content=memory.content), memory, extraction, b"")
            txn.reindex(memory, item.entry())
        txn.sweep()
    fill(space.store, space.namespace, model, "active", advance)


def reembed(store: Store, namespace: str, model: Embedder, advance: Advance) -> None:
    """Fill a second space with the new model's vectors, then switch; a second run goes on where one was killed."""
    with store.write(namespace) as txn:
        building = txn.space("building")
        if building is not None and building.embedder != model.pin:
            txn.drop_space("building")
            building = None
        if building is None:
            txn.open_space(model.pin, model.dimension, "building")
    fill(store, namespace, model, "building", advance, then=lambda txn: txn.switch_space())


def fill(
    store: Store,
    namespace: str,
    model: Embedder,
    state: SpaceState,
    advance: Advance,
    then: Callable[[Writer], None] | None = None,
) -> None:
    """Give every memory its vectors in that space; `then` runs in the transaction that finds nothing left to do."""
    while True:
        with store.write(namespace) as txn:
            todo = txn.without_vectors(state, BATCH)
            if not todo:
                if then:
                    then(txn)
                return
            plain = [(memory, extraction) for memory, extraction in todo if memory.kind != "session"]
            if not plain:
                _fill_sessions(txn, [memory for memory, _ in todo], state, model)
                advance(len(todo))
                continue
            wanted = [(memory, _fields(txn, memory, extraction)) for memory, extraction in plain]
        made = _embedded(wanted, model)
        with store.write(namespace) as txn:
            unchanged = {memory.row: memory for memory, _ in txn.without_vectors(state, BATCH)}
            for memory, vectors in made:
                if unchanged.get(memory.row) == memory:
                    txn.put_vectors(memory, vectors, state)
        advance(len(plain))


def _fields(txn: Writer, memory: Memory, extraction: Extraction) -> Mapping[Field, str]:
    """As when the memory was written: what was said next is told as that turn told it."""
    fields = passages.embedded(memory, extraction.facets)
    after = txn.turn_after(memory.session_id, memory.row) if memory.session_id and "next_user" in fields else None
    if after is not None and after.content == memory.next_user_text:
        fields["next_user"] = passages.told(after, after.content)
    return fields


def _embedded(
    wanted: Sequence[tuple[Memory, Mapping[Field, str]]], model: Embedder
) -> list[tuple[Memory, dict[Field, Vector]]]:
    unique = list(dict.fromkeys(text for _, fields in wanted for text in fields.values()))
    vector_of = dict(zip(unique, vectors_by(model, unique), strict=True))
    return [(memory, {where: vector_of[text] for where, text in fields.items()}) for memory, fields in wanted]


def _fill_sessions(txn: Writer, sessions: Sequence[Memory], state: SpaceState, model: Embedder) -> None:
    """The middle of its turns, or of its own text for a session that came without them."""
    for memory in sessions:
        assert memory.session_id is not None
        rows = [turn.row for turn in txn.turns(memory.session_id)]
        held = list(txn.vectors_of(rows, "full", state).values()) or [vectors_by(model, [memory.content])[0]]
        txn.put_vectors(memory, {"session": centre(held)}, state)


def _all(txn: Writer) -> list[tuple[Memory, Extraction]]:
    found: list[tuple[Memory, Extraction]] = []
    while batch := txn.scan(found[-1][0].row if found else 0):
        found += batch
    return found
