"""The write path: a record in, extract → embed → store, a report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from fivefold.models.embedders import Embedder, unit, vectors_by
from fivefold.stores.protocol import Entry, Reader, Writer
from fivefold.text import passages
from fivefold.values.extraction import Extraction, Statement
from fivefold.values.ids import content_hash, new_id
from fivefold.values.memory import Memory, Record
from fivefold.values.reports import Link, Merged, Report
from fivefold.values.vectors import Field, Vector
from fivefold.writing.extract import Extractor
from fivefold.writing.extract.statements import same_value, single_valued

SESSION_REFRESH = 64
"""A session memory is built anew with each turn up to this many, then whenever a tenth has been added."""

SESSION_TEXT = 60_000
"""Characters of a session memory; the turns beyond still stand on their own."""

LOOK_BACK = 6
"""How many turns back 'actually it's 45 now' may refer."""

REPLACEABLE = 400
"""A longer text says more than the one statement, so a new value of that does not end all of it."""

_USER = frozenset({"user", "human"})


@dataclass(slots=True)
class Draft:
    """A record on its way into the store."""

    record: Record
    memory: Memory
    extraction: Extraction
    content_hash: bytes
    vectors: Mapping[Field, Vector] = field(default_factory=dict)
    links: tuple[Link, ...] = ()

    def entry(self) -> Entry:
        predicate, content = passages.indexed(self.memory)
        return Entry(
            memory=self.memory,
            extraction=self.extraction,
            content_hash=self.content_hash,
            predicate_lexemes=predicate,
            content_lexemes=content,
            vectors=self.vectors,
        )


@dataclass(slots=True)
class ReportBuilder:
    """The report while it is being written."""

    stored: list[str] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    linked: list[Link] = field(default_factory=list)
    superseded: list[Link] = field(default_factory=list)
    entities: dict[str, None] = field(default_factory=dict)
    sessions: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def include(self, other: ReportBuilder) -> None:
        for name in ("stored", "merged", "linked", "superseded", "notes"):
            getattr(self, name).extend(getattr(other, name))
        self.entities.update(other.entities)
        self.sessions.update(other.sessions)

    def report(self) -> Report:
        return Report(
            stored=tuple(self.stored),
            merged=tuple(self.merged),
            linked=tuple(self.linked),
            superseded=tuple(self.superseded),
            entities=tuple(self.entities),
            sessions=tuple(self.sessions),
            notes=tuple(dict.fromkeys(self.notes)),
        )


def draft(record: Record, namespace: str, extractor: Extractor, now: datetime) -> Draft:
    """Read what can be read out of the record and lay out the memory it will become."""
    event_at = record.event_at or now
    extraction = extractor.extract(record if record.event_at else replace(record, event_at=event_at))
    kind = record.kind or ("turn" if record.session_id else "note")
    memory = Memory(
        id=record.id or new_id(),
        namespace=namespace,
        content=record.content,
        kind=kind,
        type=extraction.type,
        speaker=record.speaker,
        session_id=record.session_id,
        turn_index=record.turn_index,
        predicate=extraction.predicate,
        user_text=record.user_text,
        assistant_text=record.assistant_text,
        next_user_text=record.next_user_text,
        tags=record.tags,
        task_tag=record.task_tag,
        event_at=event_at,
        created_at=now,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        superseded_by=None,
        importance=extraction.importance if record.importance is None else record.importance,
        memory_score=extraction.memory_score if record.memory_score is None else record.memory_score,
        confidence=1.0 if record.confidence is None else record.confidence,
        seen_count=1,
        access_count=0,
        last_accessed_at=None,
        metadata=record.metadata,
    )
    return Draft(record, memory, extraction, content_hash(record.speaker, record.content))


def embed_drafts(drafts: Sequence[Draft], reader: Reader, model: Embedder) -> None:
    """Give vectors to the drafts that will be stored anew; equal texts are embedded once."""
    known = reader.known([item.memory.id for item in drafts if item.record.id])
    noted = reader.noted([item.content_hash for item in drafts if item.memory.kind == "note"])
    fresh = [item for item in drafts if item.memory.id not in known and item.content_hash not in noted]
    add_vectors(fresh, model)


def add_vectors(drafts: Sequence[Draft], model: Embedder) -> None:
    wanted = [passages.embedded(item.memory, item.extraction.facets) for item in drafts]
    unique = list(dict.fromkeys(text for fields in wanted for text in fields.values()))
    if not unique:
        return
    vector_of = dict(zip(unique, vectors_by(model, unique), strict=True))
    for item, fields in zip(drafts, wanted, strict=True):
        item.vectors = {where: vector_of[text] for where, text in fields.items()}


def place(item: Draft, txn: Writer, tally: ReportBuilder, model: Embedder) -> None:
    """Store one draft, or merge it into the memory that already says the same."""
    tally.notes += item.record.notes
    merged = _already_there(item, txn)
    if merged:
        tally.merged.append(merged)
        return
    if not item.vectors:
        add_vectors([item], model)
    if item.memory.kind == "turn":
        assert item.memory.session_id is not None
        free = txn.log_turn(item.memory.session_id, item.memory.event_at)
        if item.memory.turn_index is None:
            item.memory = replace(item.memory, turn_index=free)
        tally.sessions.setdefault(item.memory.session_id or "")
    _add(item, txn, tally)


def _add(item: Draft, txn: Writer, tally: ReportBuilder) -> None:
    corrected = _corrected(item, txn) if item.extraction.refers_back else None
    if corrected is not None:
        item.extraction = replace(item.extraction, slots=(*item.extraction.slots, corrected))
    row = txn.add(item.entry())
    tally.stored.append(item.memory.id)
    tally.entities.update(dict.fromkeys(m.name for m in item.extraction.mentions if m.kind != "topic"))
    if item.extraction.source.startswith("rules, because"):
        tally.notes.append(f"read by {item.extraction.source}")
    if item.memory.kind == "note" and not item.extraction.slots:
        return
    item.memory = replace(item.memory, row=row)
    if item.memory.kind == "turn":
        _link_equal_turn(item, txn, tally)
        _backfill(item, txn)
    replace_statements(item, txn, tally)


def _already_there(item: Draft, txn: Writer) -> Merged | None:
    memory = item.memory
    if item.record.id and txn.get(memory.id):
        return Merged(memory.id, "a memory with this id is already stored")
    if memory.kind == "note":
        row = txn.note_with(item.content_hash)
        if row is None:
            return None
        txn.seen_again(row, memory.tags)
        known = txn.at(row)
        assert known is not None
        return Merged(known.id, f"the same note was remembered before; seen {known.seen_count} times now")
    if item.record.event_at and memory.session_id:
        twin = txn.turn_like(memory.session_id, item.content_hash, memory.event_at)
        if twin:
            return Merged(twin, "the same turn at the same time is already in this session")
    return None


def _link_equal_turn(item: Draft, txn: Writer, tally: ReportBuilder) -> None:
    twin = txn.earlier_equal(item.content_hash, item.memory.row)
    earlier = None if twin is None else txn.at(twin)
    if earlier is not None:
        why = "says the same as an earlier turn"
        txn.connect(item.memory.row, earlier.row, "equal", why)
        tally.linked.append(Link(item.memory.id, earlier.id, "equal", why))


def _backfill(item: Draft, txn: Writer) -> None:
    """What the other side said next is part of how a turn is found (M1)."""
    memory = item.memory
    assert memory.session_id is not None
    if (memory.speaker or "").casefold() == "assistant":
        return
    before = txn.turn_before(memory.session_id, memory.row)
    if before is not None and before.next_user_text is None and before.speaker != memory.speaker:
        txn.backfill(before.row, memory.content, item.vectors["full"])


def replace_statements(item: Draft, txn: Writer, tally: ReportBuilder) -> None:
    """End what a new statement confidently replaces; told late, an old statement is itself what has ended."""
    for slot in item.extraction.slots:
        for row, stated in txn.stated(slot.subject, slot.attribute):
            other = txn.at(row)
            if other is not None and _contradicts(item.memory, slot, other, stated):
                if item.memory.event_at >= other.event_at:
                    _end(txn, tally, other, stated, item.memory, slot)
                else:
                    _end(txn, tally, item.memory, slot, other, stated)


def _end(txn: Writer, tally: ReportBuilder, old: Memory, was: Statement, new: Memory, now: Statement) -> None:
    """One statement of `old` ends. All of the memory does when nothing else it stated still holds."""
    why = f"{now.attribute}: {now.value!r} replaces {was.value!r}"
    still = txn.end_statement(old.row, was, new.row)
    if still == 0 and len(old.content) <= REPLACEABLE:
        txn.supersede(old, new, why)
        tally.superseded.append(Link(new.id, old.id, "supersedes", why))
    else:
        txn.connect(new.row, old.row, "supersedes", why)
        tally.linked.append(Link(new.id, old.id, "supersedes", f"{why}; the rest of it still holds"))


def _contradicts(memory: Memory, slot: Statement, other: Memory, stated: Statement) -> bool:
    if other.row == memory.row or same_value(slot.value, stated.value):
        return False
    return slot.update or single_valued(slot.attribute)


def _corrected(item: Draft, txn: Writer) -> Statement | None:
    """The statement a correction refers to: the one with the old value it repeats, else the last in its session."""
    correction, memory = item.extraction.refers_back, item.memory
    assert correction is not None
    if correction.old:
        found = txn.stated_as(correction.old)
        one = len({(slot.subject, slot.attribute) for slot in found}) == 1
        return Statement(found[0].subject, found[0].attribute, correction.value, True) if one else None
    if memory.session_id is None:
        return None
    numeric = any(map(str.isdigit, correction.value))
    earlier = txn.turns(memory.session_id)[-LOOK_BACK:]
    for turn in reversed(earlier):
        if turn.speaker == memory.speaker:
            for slot in txn.slots_at(turn.row):
                if any(map(str.isdigit, slot.value)) == numeric:
                    return Statement(slot.subject, slot.attribute, correction.value, True)
    return None


def refresh_session(session_id: str, namespace: str, txn: Writer, now: datetime, at_once: bool = False) -> None:
    """Build the session's own memory from its turns: their texts together, their vectors' centre.

    A long session waits until a tenth was added; what was changed or forgotten is carried over at once.
    """
    turns, built_from, row = txn.session_size(session_id)
    if turns == 0:
        row = txn.session_memory(session_id)
        if row is not None:
            txn.remove(row)
        return
    if not at_once and turns > SESSION_REFRESH and built_from and built_from < turns < built_from * 1.1:
        return
    members = txn.turns(session_id)
    held = txn.vectors_of([turn.row for turn in members], "full")
    if not held:
        return
    entry = _session_entry(session_id, namespace, members, centre(list(held.values())), now)
    known = None if row is None else txn.at(row)
    if known is None:
        row = txn.add(entry)
    else:
        kept = replace(
            entry.memory,
            id=known.id,
            created_at=known.created_at,
            access_count=known.access_count,
            last_accessed_at=known.last_accessed_at,
        )
        txn.replace(known.row, replace(entry, memory=kept))
        row = known.row
    txn.session_built(session_id, row, turns)


def centre(vectors: Sequence[Vector]) -> Vector:
    """What a session is about: the middle of what its turns are about, at unit length."""
    middle: Vector = unit(np.stack(vectors).mean(axis=0, keepdims=True, dtype=np.float32))[0]
    return middle


def _session_entry(session_id: str, namespace: str, turns: Sequence[Memory], vector: Vector, now: datetime) -> Entry:
    content = "\n".join(f"{turn.speaker}: {turn.content}" if turn.speaker else turn.content for turn in turns)
    content = content[:SESSION_TEXT]
    memory = Memory(
        id=new_id(),
        namespace=namespace,
        content=content,
        kind="session",
        type="fact",
        speaker=None,
        session_id=session_id,
        turn_index=None,
        predicate=None,
        user_text=None,
        assistant_text=None,
        next_user_text=None,
        tags=tuple(dict.fromkeys(tag for turn in turns for tag in turn.tags)),
        task_tag=next((turn.task_tag for turn in turns if turn.task_tag), None),
        event_at=turns[0].event_at,
        created_at=now,
        valid_from=None,
        valid_to=None,
        superseded_by=None,
        importance=max(turn.importance for turn in turns),
        memory_score=round(sum(turn.memory_score for turn in turns) / len(turns), 3),
        confidence=1.0,
        seen_count=1,
        access_count=0,
        last_accessed_at=None,
        metadata={},
    )
    item = Draft(Record(content=content), memory, Extraction(), content_hash(session_id, content), {"session": vector})
    return item.entry()
