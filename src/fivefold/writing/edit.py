"""What can be done to memories: store, update, supersede, forget, restore, mark as used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any, TypeVar

from fivefold.errors import EmbedderMismatch, InvalidInput, NotFound
from fivefold.learning.adaptation import after_use, restored, signals_of
from fivefold.models.embedders import Embedder
from fivefold.namespace import Namespace
from fivefold.stores.protocol import Writer
from fivefold.text.progress import bar
from fivefold.values.extraction import Extraction
from fivefold.values.memory import Memory, Record
from fivefold.values.recall import Recall
from fivefold.values.reports import BY_HAND, Link, Merged
from fivefold.values.validate import checked_name, record_of
from fivefold.writing import rebuild
from fivefold.writing.pipeline import (
    Draft,
    ReportBuilder,
    add_vectors,
    draft,
    embed_drafts,
    place,
    refresh_session,
    replace_statements,
)

BATCH = 1_000
"""Records that are stored together; each batch is one transaction."""

EMBEDDED = 128
"""Records that are embedded together, between two looks at the progress bar."""

_T = TypeVar("_T")
_CHANGEABLE = {field.name for field in fields(Record)} - {"id", "kind", "session_id", "turn_index", "notes"}


def store_records(
    space: Namespace, records: Iterable[Record], tally: ReportBuilder, progress: bool = False, count: int = 1
) -> None:
    """extract → embed → store, a batch at a time; `count` is how many there are."""
    with bar("Remembering", count, show=progress) as advance:
        for batch in _batches(records):
            now = space.clock()
            drafts = [draft(record, space.namespace, space.extractor, now) for record in batch]
            tally.include(_store_drafts(space, drafts, advance))


def _batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        yield batch


def _store_drafts(space: Namespace, drafts: Sequence[Draft], advance: Callable[[int], None]) -> ReportBuilder:
    """One transaction. Should the namespace move to another model meanwhile, that model embeds anew."""
    model = space.embedder()
    for part in range(0, len(drafts), EMBEDDED):
        embed_drafts(drafts[part : part + EMBEDDED], space.reader, model)
        advance(len(drafts[part : part + EMBEDDED]))
    touched = ReportBuilder()
    try:
        with space.writing(model) as txn:
            mentions = [mention for item in drafts for mention in item.extraction.mentions]
            txn.preload(mentions, [item.content_hash for item in drafts if item.memory.kind == "note"])
            for item in drafts:
                place(item, txn, touched, model)
            _refresh(space, txn, touched.sessions)
    except EmbedderMismatch:
        if space.embedder().pin == model.pin:
            raise
        for item in drafts:
            item.vectors = {}
        return _store_drafts(space, drafts, lambda done: None)
    return touched


def update(space: Namespace, id: str, changes: Mapping[str, Any]) -> None:
    """Change fields of a memory; index, vectors, links, statements, its session and the turn before it follow."""
    wrong = sorted(set(changes) - _CHANGEABLE)
    if wrong:
        raise InvalidInput(f"{wrong[0]!r} cannot be changed; an update takes {', '.join(sorted(_CHANGEABLE))}")
    while not _updated(space, space.get(id), changes):
        continue  # someone else changed it while it was embedded: begin again from what they made of it


def _updated(space: Namespace, old: Memory, changes: Mapping[str, Any]) -> bool:
    if old.kind == "session":
        raise InvalidInput("a session memory follows its turns; update those")
    model = space.embedder()
    item = draft(_changed(old, changes), space.namespace, space.extractor, space.clock())
    item.memory = replace(
        item.memory,
        id=old.id,
        kind=old.kind,
        session_id=old.session_id,
        turn_index=old.turn_index,
        row=old.row,
        created_at=old.created_at,
        superseded_by=old.superseded_by,
        seen_count=old.seen_count,
        access_count=old.access_count,
        last_accessed_at=old.last_accessed_at,
    )
    if (item.memory.content, item.memory.speaker) == (old.content, old.speaker):
        item.extraction = replace(extraction_of(space, old), type=item.memory.type, predicate=item.memory.predicate)
    add_vectors([item], model)
    with space.writing(model) as txn:
        if txn.get(old.id) != old:
            return False
        txn.release(old.row)
        txn.replace(old.row, item.entry())
        txn.settle(old.row)
        replace_statements(item, txn, ReportBuilder())
        if old.session_id:
            for turn in txn.told_next(old.session_id, old.content):
                txn.backfill(turn.row, item.memory.content, item.vectors["full"])
            txn.close_gap(old.session_id)
            refresh_session(old.session_id, space.namespace, txn, space.clock(), at_once=True)
    return True


def extraction_of(space: Namespace, memory: Memory) -> Extraction:
    """What was read out of a memory when it was stored."""
    stored = space.reader.scan(memory.row - 1, 1)
    return stored[0][1] if stored and stored[0][0].row == memory.row else Extraction()


def supersede(space: Namespace, old_id: str, record: Record, tally: ReportBuilder) -> None:
    """Store `record` as what replaces `old_id`."""
    model = space.embedder()
    item = draft(record, space.namespace, space.extractor, space.clock())
    _supersedable(space.get(old_id))
    embed_drafts([item], space.reader, model)
    with space.writing(model) as txn:
        old = txn.get(old_id)
        if old is None:
            raise NotFound(f"namespace {space.namespace!r} has no memory {old_id!r}")
        _supersedable(old)
        place(item, txn, tally, model)
        new = txn.get(item.memory.id) if item.memory.id in tally.stored else None
        if new is None:
            raise InvalidInput("the new record says the same as a memory already stored; nothing was changed")
        current = txn.at(old.row)
        if current is not None and current.superseded_by is None:
            txn.supersede(current, new, BY_HAND)
            tally.superseded.append(Link(new.id, old.id, "supersedes", BY_HAND))
        _refresh(space, txn, tally.sessions)


def _supersedable(old: Memory) -> None:
    if old.kind == "session":
        raise InvalidInput("a session memory follows its turns; supersede those")
    if old.superseded_by is not None:
        raise InvalidInput(f"{old.id} was already superseded by {old.superseded_by}; supersede that one")


def reinstate(space: Namespace, id: str) -> None:
    """A memory that was superseded, or given an end, holds again."""
    memory = space.get(id)
    with space.editing() as txn:
        txn.reinstate(memory.row)


def forget(space: Namespace, id: str) -> Memory:
    """Remove a memory with everything derived from it, also from the session it stood in."""
    space.get(id)
    with space.editing() as txn:
        memory = txn.get(id)
        if memory is None:
            raise NotFound(f"namespace {space.namespace!r} has no memory {id!r}")
        if memory.kind == "session":
            raise InvalidInput(
                f"{id} is the memory of session {memory.session_id!r}; forget its turns, or the whole session"
            )
        txn.remove(memory.row)
        if memory.session_id:
            for turn in txn.told_next(memory.session_id, memory.content):
                txn.backfill(turn.row, None, None)
            txn.close_gap(memory.session_id)
            refresh_session(memory.session_id, space.namespace, txn, space.clock(), at_once=True)
    space.store.settle()
    return memory


def forget_session(space: Namespace, session_id: str) -> int:
    """Remove a session with all its turns; gives how many there were."""
    session_id = checked_name(session_id, "session_id")
    with space.editing() as txn:
        turns = txn.turns(session_id)
        if not turns:
            raise NotFound(f"namespace {space.namespace!r} has no session {session_id!r}")
        for turn in turns:
            txn.remove(turn.row)
        own = txn.session_memory(session_id)
        if own is not None:
            txn.remove(own)
        txn.close_gap(session_id)
    space.store.settle()
    return len(turns)


def restore(
    space: Namespace, read: Callable[[], Iterable[Draft]], tally: ReportBuilder, progress: bool = False
) -> None:
    """Put exported memories back as they were: rows first, turns before their sessions, then the vectors.

    `read` begins with the first of them each time, so that they need not be held together.
    """
    model = space.embedder()
    links: list[Link] = []
    for sessions in (False, True):
        for batch in _batches(item for item in read() if (item.memory.kind == "session") == sessions):
            _restore_batch(space, model, batch, tally)
            links += [link for item in batch for link in item.links]
    with space.writing(model) as txn:
        for link in links:
            source, target = txn.get(link.source), txn.get(link.target)
            if source is not None and target is not None:
                txn.connect(source.row, target.row, link.relation, link.why)
        txn.settle()
    with bar("Embedding", len(tally.stored), show=progress) as advance:
        rebuild.fill(space.store, space.namespace, model, "active", advance)


def _restore_batch(space: Namespace, model: Embedder, batch: Sequence[Draft], tally: ReportBuilder) -> None:
    """One transaction over those that are not there yet."""
    known = space.reader.known([item.memory.id for item in batch])
    fresh = [item for item in batch if item.memory.id not in known]
    for item in batch:
        if item.memory.id in known:
            tally.merged.append(Merged(item.memory.id, "a memory with this id is already stored"))
    if fresh:
        with space.writing(model) as txn:
            for item in fresh:
                _restore_one(txn, item, tally)


def mark_used(space: Namespace, recall: Recall | str, ids: Sequence[str], not_used: Sequence[str] = ()) -> None:
    """Note which of the returned memories were used, and which were of no use."""
    lists = [ids, not_used]
    if not isinstance(recall, Recall | str) or any(isinstance(x, str) or not isinstance(x, Sequence) for x in lists):
        raise InvalidInput("feedback takes a Recall or its id, and lists of the ids that were used and not used")
    both = next((id for id in ids if id in not_used), None)
    if both is not None:
        raise InvalidInput(f"{both!r} cannot be both used and of no use; name it once")
    recall_id = recall if isinstance(recall, str) else recall.id
    if isinstance(recall, Recall):
        if recall.namespace != space.namespace:
            raise InvalidInput(f"recall {recall_id} was made in namespace {recall.namespace!r}, not here")
        returned: tuple[str, ...] | None = tuple(hit.memory.id for hit in recall)
    else:
        returned = _recalled(space, recall)
    if returned is None:
        raise NotFound(f"namespace {space.namespace!r} has no recall {recall_id!r} in its log")
    stray = [id for id in (*ids, *not_used) if id not in returned]
    if stray:
        raise InvalidInput(f"{stray[0]!r} was not returned by recall {recall_id}")
    signals = signals_of(recall) if isinstance(recall, Recall) else space.reader.signals(recall)
    with space.editing() as txn:
        rows, refused = (
            [memory.row for memory in map(txn.get, dict.fromkeys(named)) if memory is not None] for named in lists
        )
        if txn.mark_used(recall, rows, space.clock(), refused) and signals is not None:
            taught = after_use(restored(txn.learned("weights")), signals, set(ids), space.clock())
            txn.save_learned("weights", taught.to_dict())


def _recalled(space: Namespace, recall_id: str) -> tuple[str, ...] | None:
    try:
        return space.reader.recalled(checked_name(recall_id, "a recall's id"))
    except InvalidInput:
        return None


def _restore_one(txn: Writer, item: Draft, tally: ReportBuilder) -> None:
    memory = item.memory
    if memory.kind == "turn" and memory.session_id:
        txn.log_turn(memory.session_id, memory.event_at)
        tally.sessions.setdefault(memory.session_id)
    row = txn.add(item.entry())
    if memory.kind == "session" and memory.session_id:
        turns, _, _ = txn.session_size(memory.session_id)
        txn.session_built(memory.session_id, row, turns)
    tally.stored.append(memory.id)


def _refresh(space: Namespace, txn: Writer, sessions: Mapping[str, None]) -> None:
    for session_id in sessions:
        refresh_session(session_id, space.namespace, txn, space.clock())


def _changed(old: Memory, changes: Mapping[str, Any]) -> Record:
    """The memory as a record with the changes; what the rules had read is read again when the text is new."""
    kept = {name: getattr(old, name) for name in _CHANGEABLE}
    if "content" in changes and changes["content"] != old.content:
        for name in ("type", "predicate", "importance", "memory_score"):
            kept[name] = None
    if "content" not in changes and old.content == "\n".join(filter(None, (old.user_text, old.assistant_text))):
        kept["content"] = None
    return record_of({**kept, **changes})
