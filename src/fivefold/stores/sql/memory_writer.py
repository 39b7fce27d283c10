"""Writing memories with everything derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fivefold.stores.protocol import Entry
from fivefold.stores.rows import compact, micros_or_none, values_of
from fivefold.stores.sql.forgotten_marks import SqlForgottenMarks
from fivefold.stores.sql.index_writer import SqlIndexWriter
from fivefold.stores.sql.memory_labels import drop_labels, put_labels
from fivefold.stores.sql.memory_links import link_memories, unlink_read
from fivefold.stores.sql.memory_rows import COLUMNS, WRITTEN, with_extractions
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.entities import Extraction, Mention, extraction_data
from fivefold.values.ids import content_hash
from fivefold.values.memory import Memory
from fivefold.values.reports import LinkKind
from fivefold.values.validate import MAX_TAGS

_INSERT = (
    f"INSERT INTO memories (row, namespace, content_hash, extracted, {WRITTEN}) "
    f"VALUES (?, ?, ?, ?, {', '.join('?' * len(WRITTEN.split(',')))})"
)
_UPDATE = (
    "UPDATE memories SET content_hash = ?, extracted = ?, "
    + ", ".join(f"{name.strip()} = ?" for name in WRITTEN.split(","))
    + " WHERE namespace = ? AND row = ?"
)


class SqlMemoryWriter:
    """Adds, replaces and removes memories, and finds those that a new one repeats."""

    def __init__(self, txn: Transaction, index: SqlIndexWriter, forgotten: SqlForgottenMarks) -> None:
        self._txn = txn
        self._index = index
        self._forgotten = forgotten

    def preload(self, mentions: Sequence[Mention], hashes: Sequence[bytes]) -> None:
        """Look up in two statements what a batch will mention and may repeat."""
        self._index.entities.preload(mentions)
        rows = self._txn.rows(
            "SELECT content_hash, row FROM memories WHERE namespace = ? AND kind = 'note' AND superseded_by IS NULL "
            f"AND {self._txn.sql.among('content_hash', '?')} ORDER BY row DESC",
            self._txn.key,
            self._txn.sql.as_list(hashes),
        )
        self._txn.notes = dict.fromkeys(hashes) | dict(rows)

    def add(self, entry: Entry) -> int:
        extracted = compact(extraction_data(entry.extraction))
        row = self._txn.db.insert(_INSERT, self._txn.key, entry.content_hash, extracted, *values_of(entry.memory))
        self._index.add(row, entry)
        if entry.memory.kind == "note" and self._txn.notes.get(entry.content_hash, row) is None:
            self._txn.notes[entry.content_hash] = row
        return row

    def replace(self, row: int, entry: Entry) -> None:
        self._txn.notes.clear()
        old = self._txn.memory(row)
        if old is not None and old.content != entry.memory.content:
            self._txn.reworded.append(old.id)
        self._index.remove(row)
        unlink_read(self._txn, row)
        extracted = compact(extraction_data(entry.extraction))
        self._txn.run(_UPDATE, entry.content_hash, extracted, *values_of(entry.memory), self._txn.key, row)
        self._index.add(row, entry)

    def remove(self, row: int) -> None:
        """Delete a memory, everything derived from it and the recalls that returned it; what it superseded holds.

        A mark stays, by which its source is known; the memory of a session has no source.
        """
        memory = self._txn.memory(row)
        assert memory is not None
        if memory.kind != "session":
            self._forgotten.add(memory, content_hash(memory.speaker, memory.content))
        key = self._txn.key
        self._txn.notes.clear()
        self._txn.removed.append(memory.id)
        self._index.remove(row)
        self._index.statements.pass_on(row)
        self._txn.run("UPDATE slots SET ended_by = NULL WHERE namespace = ? AND ended_by = ?", key, row)
        self._txn.run("UPDATE sessions SET memory = NULL WHERE namespace = ? AND memory = ?", key, row)
        self._txn.run(
            f"DELETE FROM recalls WHERE namespace = ? AND {self._txn.sql.position}(returned, ?) > 0",
            key,
            compact(memory.id),
        )
        self._txn.run("DELETE FROM memories WHERE namespace = ? AND row = ?", key, row)

    def get(self, id: str) -> Memory | None:
        return self._txn.first_memory("id = ?", id)

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        sql = f"SELECT id FROM memories WHERE namespace = ? AND {self._txn.sql.among('id', '?')}"
        return {str(id) for (id,) in self._txn.rows(sql, self._txn.key, self._txn.sql.as_list(ids))}

    def by_row(self, row: int) -> Memory | None:
        return self._txn.memory(row)

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        """Memories with their extraction in the order of their rows, as this transaction sees them."""
        rows = self._txn.rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE row > ? AND {self._txn.sql.unindexed('namespace')} = ? "
            "ORDER BY row LIMIT ?",
            after,
            self._txn.key,
            size,
        )
        return with_extractions(self._txn.namespace, rows)

    def find_note(self, content_hash: bytes) -> int | None:
        if content_hash in self._txn.notes:
            return self._txn.notes[content_hash]
        return self._txn.number(
            "SELECT row FROM memories WHERE namespace = ? AND content_hash = ? AND kind = 'note' "
            "AND superseded_by IS NULL ORDER BY row LIMIT 1",
            self._txn.key,
            content_hash,
        )

    def find_earlier_equal(self, content_hash: bytes, before: int) -> int | None:
        return self._txn.number(
            "SELECT max(row) FROM memories WHERE namespace = ? AND content_hash = ? AND row < ?",
            self._txn.key,
            content_hash,
            before,
        )

    def count_repeat(self, row: int, tags: Sequence[str]) -> None:
        memory = self._txn.memory(row)
        assert memory is not None
        merged = replace(memory, tags=_joined_tags(memory.tags, tags))
        self._txn.run(
            "UPDATE memories SET seen_count = seen_count + 1, tags = ? WHERE namespace = ? AND row = ?",
            compact(list(merged.tags)),
            self._txn.key,
            row,
        )
        if merged.tags != memory.tags:
            drop_labels(self._txn, row)
            put_labels(self._txn, row, merged)

    def count_echo(self, row: int) -> None:
        self._txn.run(
            "UPDATE memories SET echo_count = echo_count + 1 WHERE namespace = ? AND row = ?", self._txn.key, row
        )

    def set_life(self, row: int, expires_at: datetime | None, pinned: bool) -> None:
        self._txn.run(
            "UPDATE memories SET expires_at = ?, pinned = ? WHERE namespace = ? AND row = ?",
            micros_or_none(expires_at),
            int(pinned),
            self._txn.key,
            row,
        )

    def link(self, source: int, target: int, relation: LinkKind, why: str, chance: float = 1.0) -> None:
        link_memories(self._txn, source, target, relation, why, chance)


def _joined_tags(tags: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """The tags of a memory and of a note that equals it, as many as a memory may have."""
    return tuple(dict.fromkeys((*tags, *more)))[: max(MAX_TAGS, len(tags))]
