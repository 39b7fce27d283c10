"""Records that say what is already stored or was forgotten: the same id, the same note, the same turn."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.stores.protocol import Reader, Writer
from fivefold.values.memory import Memory
from fivefold.values.reports import Link, Merged
from fivefold.writing.draft import Draft
from fivefold.writing.echoes import merge_echo
from fivefold.writing.report import ReportBuilder

FORGOTTEN = "it was forgotten and is not stored again; reinstate its id to allow that"


def new_drafts(drafts: Sequence[Draft], reader: Reader) -> list[Draft]:
    """The drafts whose id and text are not stored yet, as far as can be seen before the transaction."""
    known = reader.memories.existing_ids([item.memory.id for item in drafts if item.record.id])
    note_hashes = reader.memories.existing_notes([item.content_hash for item in drafts if item.memory.kind == "note"])
    return [item for item in drafts if item.memory.id not in known and item.content_hash not in note_hashes]


def merge(item: Draft, txn: Writer) -> Merged | None:
    """Merge the draft into the memory that already says the same; None where there is no such memory."""
    memory = item.memory
    if was_forgotten(item, txn):
        return Merged(memory.id, FORGOTTEN)
    if item.record.id and txn.memories.get(memory.id):
        return Merged(memory.id, "a memory with this id is already stored")
    if memory.kind == "note":
        row = txn.memories.find_note(item.content_hash)
        if row is None:
            return merge_echo(item, txn)
        txn.memories.count_repeat(row, memory.tags)
        _prolong(row, memory, txn)
        known = txn.memories.by_row(row)
        assert known is not None
        return Merged(known.id, f"the same note was remembered before; seen {known.seen_count} times now")
    if item.record.event_at and memory.session_id:
        twin = txn.sessions.find_turn(memory.session_id, item.content_hash, memory.event_at)
        if twin:
            return Merged(twin, "the same turn at the same time is already in this session")
    return None


def look_up_forgotten(drafts: Sequence[Draft], txn: Writer) -> None:
    """Read in one step which of the drafts were forgotten; one that is only a text is remembered anew."""
    txn.forgotten.look_up([(item.memory, item.content_hash) for item in drafts if _has_source(item)])


def was_forgotten(item: Draft, txn: Writer) -> bool:
    """Whether this was stored from the same source before, and forgotten."""
    return _has_source(item) and txn.forgotten.has(item.memory, item.content_hash)


def _has_source(item: Draft) -> bool:
    return bool(item.record.id or (item.record.event_at and item.memory.session_id))


def _prolong(row: int, again: Memory, txn: Writer) -> None:
    """What is said again lives as long as the later of both ends, and a pin counts for both."""
    known = txn.memories.by_row(row)
    assert known is not None
    ends = (known.expires_at, again.expires_at)
    life = (None if None in ends else max(filter(None, ends)), known.pinned or again.pinned)
    if life != (known.expires_at, known.pinned):
        txn.memories.set_life(row, *life)


def link_equal_turn(item: Draft, txn: Writer, report: ReportBuilder) -> None:
    """Link a stored turn to an earlier one with the same text; both stay."""
    twin = txn.memories.find_earlier_equal(item.content_hash, item.memory.row)
    earlier = None if twin is None else txn.memories.by_row(twin)
    if earlier is not None:
        why = "says the same as an earlier turn"
        txn.memories.link(item.memory.row, earlier.row, "equal", why)
        report.linked.append(Link(item.memory.id, earlier.id, "equal", why))
