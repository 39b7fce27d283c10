"""Changes to stored memories: update, supersede, reinstate, forget. All that is derived from a memory follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fivefold.errors import InvalidInput, NotFound
from fivefold.namespace import Namespace
from fivefold.stores.interface import Writer
from fivefold.text.lexemes import empty_text_caches
from fivefold.values.memory import RECORD_FIELDS, Memory, Record, RecordChanges, record_of
from fivefold.values.reports import BY_HAND, Report, Sweep
from fivefold.values.times import content_hash
from fivefold.values.validate import checked_name, is_name
from fivefold.writing.draft import Draft, ReportBuilder, embed_drafts
from fivefold.writing.facets import add_facets
from fivefold.writing.pipeline import batches, embed, extract, merge_or_add, write_checked
from fivefold.writing.queue_entries import waiting_memory
from fivefold.writing.rebuild import writing_model
from fivefold.writing.relations import find_relations, relate, replace_statements
from fivefold.writing.sessions import follow_change, follow_changed_turn, follow_new_turns, refresh_session

_CHANGEABLE = RecordChanges.__annotations__.keys()


def update(namespace: Namespace, id: str, changes: Mapping[str, object]) -> None:
    """Change fields of a memory; index, vectors, links, statements, its session and the turn before it follow."""
    unknown = sorted(set(changes) - _CHANGEABLE)
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} cannot be changed; an update takes {', '.join(sorted(_CHANGEABLE))}")
    while not _try_update(namespace, old := namespace.get(id), changes):
        continue  # another writer changed it while it was embedded: start again from what is stored now
    if changes.get("content", old.content) != old.content:
        empty_text_caches()
        namespace.store.checkpoint()


def _try_update(namespace: Namespace, old: Memory, changes: Mapping[str, object]) -> bool:
    """True if the memory was still `old` when the transaction began."""
    if old.kind == "session":
        raise InvalidInput("session memories are built from their turns; update the turns instead")
    model = writing_model(namespace)
    item = _redraft(namespace, old, changes)
    row, _ = namespace.reader.sessions.neighbours([old.row]).get(old.row, (None, None))
    item.before = None if row is None else namespace.reader.memories.fetch([row]).get(row)
    embed_drafts([item], model)
    report = ReportBuilder()
    found = find_relations([item], namespace, report)
    with namespace.transaction(model) as txn:
        if txn.memories.get(old.id) != old:
            return False
        add_facets([item], model, txn)
        txn.statements.reinstate_ended_by(old.row)
        txn.memories.replace(old.row, item.entry())
        txn.statements.end_superseded(old.row)
        replace_statements(item, txn, report, namespace.settings)
        found.store(txn, report, namespace.settings)
        if old.session_id:
            follow_new_turns([item], txn, model)
            if item.memory.content != old.content:
                follow_changed_turn(txn.sessions.turn_after(old.session_id, old.row), namespace, txn)
            follow_change(old.session_id, old, item, namespace, txn)
    return True


def _redraft(namespace: Namespace, old: Memory, changes: Mapping[str, object]) -> Draft:
    """The changed memory as a draft with the old one's identity, age and use; new text is extracted again."""
    unchanged = {name: getattr(old, name) for name in _CHANGEABLE}
    if "content" in changes and changes["content"] != old.content:
        unchanged |= dict.fromkeys(("type", "predicate", "importance", "memory_score"))
    if "content" not in changes and old.content == "\n".join(filter(None, (old.user_text, old.assistant_text))):
        unchanged["content"] = None
    (item,) = extract([record_of({**unchanged, **changes})], namespace)
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
        expires_at=item.record.expires_at,
        origin=old.origin,
        echo_count=old.echo_count,
    )
    if (item.memory.content, item.memory.speaker) == (old.content, old.speaker):
        stored = namespace.extraction_of(old)
        item.extraction = replace(stored, type=item.memory.type, predicate=item.memory.predicate)
    return item


def supersede(namespace: Namespace, old_id: str, record: Record) -> Report:
    """Store `record` as what replaces `old_id`, whose pin and origin it has unless it says otherwise."""
    report, model = ReportBuilder(), writing_model(namespace)
    replaced = namespace.get(old_id)
    _check_supersedable(replaced)
    origin = record.origin or (None if record.speaker else replaced.origin)
    pinned = replaced.pinned if record.pinned is None else record.pinned
    settings = namespace.settings
    (item,) = extract([replace(record, origin=origin, pinned=pinned)], namespace, settings)
    if settings.holds(item.memory):
        raise InvalidInput(
            "a record of this origin waits for approval and replaces nothing; remember it, and supersede by it once it "
            "is approved",
            field="origin",
        )
    embed([item], namespace.reader, model)
    found = find_relations([item], namespace, report)
    with namespace.transaction(model) as txn:
        old = txn.memories.get(old_id)
        if old is None:
            raise NotFound(f"namespace {namespace.name!r} has no memory {old_id!r}")
        _check_supersedable(old)
        add_facets([item], model, txn)
        merge_or_add(item, txn, report, model, settings)
        follow_new_turns([item], txn, model)
        new = txn.memories.get(item.memory.id) if item.memory.id in report.stored else None
        if new is None:
            raise InvalidInput("the new record says the same as a memory already stored; nothing was changed")
        current = txn.memories.by_row(old.row)
        if current is not None and current.superseded_by is None:
            relate("replaces", new, current, BY_HAND, txn, report)
        found.store(txn, report, settings)
        for session_id in report.sessions:
            refresh_session(session_id, namespace, txn)
    return report.build()


def _check_supersedable(old: Memory) -> None:
    if old.kind == "session":
        raise InvalidInput("session memories are built from their turns; supersede the turns instead")
    if old.superseded_by is not None:
        raise InvalidInput(f"{old.id} was already superseded by {old.superseded_by}; supersede that one")


def reinstate(namespace: Namespace, id: str) -> bool:
    """Let a memory hold again that was superseded or has an end, or be stored again if it was forgotten.

    Returns if the memory is stored now. The id of a forgotten session stands for all its turns.
    """
    memory = namespace.reader.memories.get(id) if is_name(id) else None
    if memory is None and not (is_name(id) and namespace.reader.exists()):
        raise NotFound(f"namespace {namespace.name!r} has no memory {id!r}")
    with namespace.transaction() as txn:
        if memory is not None:
            txn.statements.reinstate(memory.row)
        elif not txn.forgotten.lift(id):
            raise NotFound(f"namespace {namespace.name!r} has no memory {id!r}, and has forgotten none of that id")
    return memory is not None


def forget(namespace: Namespace, id: str) -> Memory:
    """Remove a memory with everything derived from it, also from the memory of its session."""
    if not (is_name(id) and namespace.store.queue.holds(namespace.name, id)):
        if is_name(id) and namespace.reader.quarantine.get([id]):
            return reject(namespace, [id])[0]
        namespace.get(id)
    with namespace.transaction() as txn:
        waiting = txn.queue.forget(id)
        memory = txn.memories.get(id) or (None if waiting is None else waiting_memory(namespace, id, waiting))
        if memory is None:
            raise NotFound(f"namespace {namespace.name!r} has no memory {id!r}")
        if memory.kind == "session":
            raise InvalidInput(
                f"{id} is the memory of session {memory.session_id!r}; forget its turns, or the whole session"
            )
        if txn.memories.get(id) is not None:
            remove(memory, namespace, txn)
        else:
            txn.forgotten.add(memory, content_hash(memory.speaker, memory.content))
    empty_text_caches()
    namespace.store.checkpoint()
    return memory


def remove(memory: Memory, namespace: Namespace, txn: Writer) -> None:
    """Delete a memory; the turn after it and the memory of its session follow."""
    after = txn.sessions.turn_after(memory.session_id, memory.row) if memory.session_id else None
    txn.memories.remove(memory.row)
    if memory.session_id:
        follow_changed_turn(after, namespace, txn)
        follow_change(memory.session_id, memory, None, namespace, txn)


def forget_session(namespace: Namespace, session_id: str) -> int:
    """Remove a session with all its turns; returns how many turns there were."""
    session_id = checked_name(session_id, "session_id")
    with namespace.transaction() as txn:
        waiting = txn.queue.forget_session(session_id)
        held = txn.quarantine.get(txn.quarantine.ids_of_session(session_id))
        waiting += _drop_held(held, txn)
        turns = txn.sessions.turns(session_id)
        if not turns and not waiting:
            raise NotFound(f"namespace {namespace.name!r} has no session {session_id!r}")
        for turn in turns:
            txn.memories.remove(turn.row)
        own = txn.sessions.memory_row(session_id)
        if own is not None:
            txn.memories.remove(own)
        txn.sessions.recount(session_id)
    empty_text_caches()
    namespace.store.checkpoint()
    return len(turns) + waiting


def _drop_held(held: Sequence[Memory], txn: Writer) -> int:
    """Take records out of quarantine for good; a mark stays of each, by which its source is known."""
    for memory in held:
        txn.forgotten.add(memory, content_hash(memory.speaker, memory.content))
    return txn.quarantine.take([memory.id for memory in held]) if held else 0


def reject(namespace: Namespace, ids: Sequence[str]) -> list[Memory]:
    """Remove records that wait for approval for good; they are not stored again when their source brings them."""
    with namespace.transaction() as txn:
        held = txn.quarantine.get(ids)
        _check_held(namespace, ids, held)
        _drop_held(held, txn)
    empty_text_caches()
    namespace.store.checkpoint()
    return held


def _check_held(namespace: Namespace, ids: Sequence[str], held: Sequence[Memory]) -> None:
    missing = set(ids) - {memory.id for memory in held}
    if missing:
        raise NotFound(f"in namespace {namespace.name!r} no record {min(missing)!r} waits for approval")


class _DecisionConflict(Exception):
    """A record that was about to be stored was approved or rejected by somebody else."""


def approve(namespace: Namespace, ids: Sequence[str]) -> Report:
    """Store records that wait for approval, in the order they came, as if they were remembered now."""
    held = namespace.reader.quarantine.get(ids)
    _check_held(namespace, ids, held)
    records = [Record(**{name: getattr(memory, name) for name in RECORD_FIELDS}) for memory in held]
    report = ReportBuilder()
    for batch in batches(records):

        def take(txn: Writer, _: ReportBuilder, own: Sequence[Record] = batch) -> None:
            if txn.quarantine.take([record.id or "" for record in own]) != len(own):
                raise _DecisionConflict

        try:
            report.include(write_checked(namespace, batch, len(batch), at_end=take, approved=True))
        except _DecisionConflict:
            raise InvalidInput(
                "another caller has decided on one of these; look at the list again", field="ids"
            ) from None
    return report.build()


MAX_SWEPT = 200
"""Maximum number of expired memories that one transaction forgets."""


def pin(namespace: Namespace, id: str, pinned: bool) -> Memory:
    """Pin a memory or let it go; nothing that is derived from it changes."""
    namespace.get(id)  # a transaction would make a namespace that is not there
    with namespace.transaction() as txn:
        memory = txn.memories.get(id)
        if memory is None:
            raise NotFound(f"namespace {namespace.name!r} has no memory {id!r}")
        txn.memories.set_life(memory.row, memory.expires_at, pinned)
    return namespace.get(id)


def sweep(namespace: Namespace, *, dry_run: bool = False) -> Sweep:
    """Forget what has expired by now, in transactions of a few hundred memories; a dry run only lists it."""
    now = namespace.clock()
    if dry_run:
        return Sweep(now, tuple(memory.id for memory in namespace.reader.memories.expired(now)), dry_run=True)
    swept: list[str] = []
    while found := namespace.reader.memories.expired(now, MAX_SWEPT):
        with namespace.transaction() as txn:
            for each in found:
                memory = txn.memories.by_row(each.row)
                if memory is not None and not memory.is_alive(now):
                    remove(memory, namespace, txn)
                    swept.append(memory.id)
    if swept:
        empty_text_caches()
        namespace.store.checkpoint()
    return Sweep(now, tuple(swept))
