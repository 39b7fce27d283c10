"""Rebuilding what is derived from memories, and moving a namespace to another embedding model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from fivefold.errors import NotFound, RetiredEmbedder
from fivefold.models.embedders import RETIRED, Embedder, embed_texts, gives_tokens
from fivefold.models.embedders import embedder as load_embedder
from fivefold.namespace import Namespace
from fivefold.stores.protocol import SpaceState, Writer
from fivefold.text.progress import bar
from fivefold.values.memory import Memory
from fivefold.writing.indexing import all_entries, centre, read_texts
from fivefold.writing.turns import stored_texts

BATCH = 128
"""Memories that are embedded together."""

Advance = Callable[[int], None]

_log = logging.getLogger("fivefold")


def rebuild(namespace: Namespace, *, progress: bool = False) -> None:
    """Derive lexemes, links, statements and missing vectors again from the memory rows."""
    model = writing_model(namespace)
    with bar("Rebuilding", namespace.reader.admin.stats().memories, show=progress) as advance:
        with namespace.transaction(model) as txn:
            txn.index.clear()
            for entry in all_entries(txn):
                txn.index.add(entry.memory.row, entry)
            txn.index.finish_rebuild()
        fill(namespace, model, "active", advance)


def reembed(namespace: Namespace, choice: str | Embedder, *, progress: bool = False) -> str:
    """Move the namespace to another embedder; the old vectors serve until the switch. Returns the new pin."""
    model = load_embedder(choice) if isinstance(choice, str) else choice
    pinned = namespace.reader.search.vector_space()
    if pinned is None:
        raise NotFound(f"namespace {namespace.name!r} holds no vectors yet; open it with embedder={choice!r}")
    if pinned.embedder != model.pin:
        with bar(f"Embedding with {model.pin}", namespace.reader.admin.stats().memories, show=progress) as advance:
            _fill_second_space(namespace, model, advance)
    else:
        with namespace.transaction() as txn:
            txn.vectors.drop_space("building")  # a move to another model that was started and is no longer wanted
    namespace.embedder_choice = choice
    return model.pin


def writing_model(namespace: Namespace, advance: Advance = lambda done: None) -> Embedder:
    """The namespace's model. Vectors of a version that is no longer there are first made again, as nothing reads them.

    `advance` may end this by an exception; the next call goes on where it stopped.
    """
    try:
        return namespace.embedder()
    except RetiredEmbedder as error:
        _log.warning("namespace %r moves from %s to %s", namespace.name, error.pinned, error.requested)
        _fill_second_space(namespace, load_embedder(RETIRED[error.pinned]), advance)
        return namespace.embedder()


def _fill_second_space(namespace: Namespace, model: Embedder, advance: Advance) -> None:
    """Fill a second space with the new model's vectors, then switch; a killed run is continued by the next one."""
    with namespace.transaction() as txn:
        building = txn.vectors.space("building")
        if building is not None and building.embedder != model.pin:
            txn.vectors.drop_space("building")
            building = None
        if building is None:
            txn.vectors.open_space(model.pin, model.dimension, "building", gives_tokens(model))
    fill(namespace, model, "building", advance, then=lambda txn: txn.vectors.switch_space())


def fill(
    namespace: Namespace,
    model: Embedder,
    state: SpaceState,
    advance: Advance,
    then: Callable[[Writer], None] | None = None,
) -> None:
    """Give every memory its vectors in that space; `then` runs in the transaction that finds nothing left to do."""
    while True:
        with namespace.transaction() as txn:
            pending = txn.vectors.missing(state, BATCH)
            if not pending:
                if then:
                    then(txn)
                return
            own = [(memory, extraction) for memory, extraction in pending if memory.kind != "session"]
            if not own:
                _fill_sessions(txn, [memory for memory, _ in pending], state, model)
                advance(len(pending))
                continue
            texts = [stored_texts(txn, memory, extraction) for memory, extraction in own]
        read = read_texts(texts, model)
        with namespace.transaction() as txn:
            missing = {memory.row: (memory, extraction) for memory, extraction in txn.vectors.missing(state, BATCH)}
            for (memory, _), given, vectors in zip(own, texts, read, strict=True):
                current = missing.get(memory.row)
                if current is not None and stored_texts(txn, *current) == given:
                    txn.vectors.put(current[0], vectors.fields, state, vectors.passages)
        advance(len(own))


def _fill_sessions(txn: Writer, sessions: Sequence[Memory], state: SpaceState, model: Embedder) -> None:
    """The centre of the turns' vectors, or the vector of its own text for a session that has no turns."""
    for memory in sessions:
        assert memory.session_id is not None
        rows = [turn.row for turn in txn.sessions.turns(memory.session_id)]
        vectors = list(txn.vectors.get(rows, "full", state).values()) or [embed_texts(model, [memory.content])[0]]
        txn.vectors.put(memory, {"session": centre(vectors)}, state)
