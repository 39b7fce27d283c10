"""Rebuilding what is derived from memories, and moving a namespace to another embedding model."""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from fivefold.errors import NotFound, RetiredEmbedder
from fivefold.models.embedders import RETIRED, Embedder, embed_texts, gives_tokens
from fivefold.models.embedders import embedder as load_embedder
from fivefold.namespace import Namespace
from fivefold.stores.interface import Store, Writer
from fivefold.stores.records import TYPE_VOCABULARY, VOCABULARY, SpaceState
from fivefold.text.display import bar
from fivefold.values.reports import Drift
from fivefold.values.times import from_micros, to_micros
from fivefold.writing.draft import all_entries, centre, read_texts
from fivefold.writing.extract import beginning
from fivefold.writing.extract.kinds import with_kinds
from fivefold.writing.facets import forget_facets
from fivefold.writing.sessions import stored_texts
from fivefold.writing.type_vocabulary import count_words

BATCH_MEMORIES = 128
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
                found, text = entry.extraction, beginning(entry.memory.content)
                mentions = with_kinds(text, found.mentions, found.relations)
                if mentions != found.mentions:  # read before there were kinds
                    txn.memories.save_extraction(entry.memory.row, replace(found, mentions=mentions))
                txn.index.add(entry.memory.row, replace(entry, extraction=replace(found, mentions=mentions)))
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
    """The namespace's model; vectors of a retired one are made again first. `advance` may end it, to go on later."""
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
            pending = txn.vectors.missing(state, BATCH_MEMORIES)
            if not pending:
                if then:
                    then(txn)
                return
            forget_facets(txn)
            own = [(memory, extraction) for memory, extraction in pending if memory.kind != "session"]
            if not own:  # sessions have the centre of their turns' vectors; without turns, the vector of their text
                for session, _ in pending:
                    assert session.session_id is not None
                    rows = [turn.row for turn in txn.sessions.turns(session.session_id)]
                    of_turns = list(txn.vectors.get(rows, "full", state).values())
                    centred = centre(of_turns or [embed_texts(model, [session.content])[0]])
                    txn.vectors.put(session, {"session": centred}, state)
                advance(len(pending))
                continue
            texts = [stored_texts(txn, memory, extraction) for memory, extraction in own]
        read = read_texts(texts, model)
        with namespace.transaction() as txn:
            missing = {
                memory.row: (memory, extraction) for memory, extraction in txn.vectors.missing(state, BATCH_MEMORIES)
            }
            for (memory, _), given, vectors in zip(own, texts, read, strict=True):
                current = missing.get(memory.row)
                if current is not None and stored_texts(txn, *current) == given:
                    txn.vectors.put(current[0], vectors.fields, state, vectors.passages)
        advance(len(own))


MAX_LEXEMES = 5_000
"""Lexemes that are compared: those that most memories contain."""

MIN_JACCARD = 0.7
"""Below this Jaccard index the vocabulary counts as a different one."""

DIGEST_BYTES = 5
"""Bytes stored for each lexeme."""


def check(store: Store, namespace: str, now: datetime, advance: Callable[[int], None] = lambda done: None) -> Drift:
    """Compare the vocabulary with the last check, reindex if it differs, and count the words of types (R2)."""
    reader = store.reader(namespace)
    if not reader.exists():
        return Drift(now, 0, None, False)
    digests = {  # stored in place of lexemes, so that no word of a forgotten memory stays in the store
        blake2b(f"{namespace}\n{lexeme}".encode(), digest_size=DIGEST_BYTES).digest()
        for lexeme in reader.search.vocabulary(MAX_LEXEMES)
    }
    advance(0)
    by_type = count_words(reader).to_dict()
    advance(0)
    with store.write(namespace) as txn:
        last = txn.admin.learned_value(VOCABULARY)
        packed = b"" if last is None else b64decode(last["marks"])
        before = {packed[start : start + DIGEST_BYTES] for start in range(0, len(packed), DIGEST_BYTES)}
        similarity = None if last is None else jaccard(digests, before)
        drifted = similarity is not None and similarity < MIN_JACCARD
        if drifted:
            txn.index.rebuild_lexical(all_entries(txn, advance))
        txn.admin.save_learned_value(TYPE_VOCABULARY, by_type)
        txn.admin.save_learned_value(
            VOCABULARY,
            {
                "at": to_micros(now),
                "lexemes": len(digests),
                "jaccard": similarity,
                "reindexed": drifted,
                "marks": b64encode(b"".join(sorted(digests))).decode(),
            },
        )
    return Drift(now, len(digests), similarity, drifted)


def is_due(last: Mapping[str, Any] | None, now: datetime, days: int) -> bool:
    """True if a namespace is to be checked again, by the stored result of its last check; never if `days` is 0."""
    if days == 0:
        return False
    return last is None or now >= from_micros(last["at"]) + timedelta(days=days)


def jaccard(one: set[bytes], other: set[bytes]) -> float:
    """Jaccard similarity of two sets; two empty ones are equal."""
    return len(one & other) / len(one | other) if one or other else 1.0
