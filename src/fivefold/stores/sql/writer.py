"""One transaction on a namespace: memories with everything derived from them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.protocol import Entry
from fivefold.stores.sql import idempotency
from fivefold.stores.sql.edges import Edges
from fivefold.stores.sql.recall_log import row_of, write_row
from fivefold.stores.sql.rows import COLUMNS, WRITTEN, compact, memory_of, values_of
from fivefold.stores.sql.statements import Statements
from fivefold.stores.sql.turns import Turns
from fivefold.values.extraction import Extraction, Mention
from fivefold.values.extraction_json import kept, restored
from fivefold.values.memory import Memory
from fivefold.values.recall import Recall
from fivefold.values.times import to_micros

_INSERT = (
    f"INSERT INTO memories (row, namespace, content_hash, extracted, {WRITTEN}) "
    f"VALUES (?, ?, ?, ?, {', '.join('?' * len(WRITTEN.split(',')))})"
)
_UPDATE = (
    "UPDATE memories SET content_hash = ?, extracted = ?, "
    + ", ".join(f"{name.strip()} = ?" for name in WRITTEN.split(","))
    + " WHERE namespace = ? AND row = ?"
)


class SqlWriter(Turns, Statements, Edges):
    """Adds, replaces and removes memories; vectors, turns, statements and entities have their own files."""

    @abstractmethod
    def index_words(self, row: int, entry: Entry) -> None:
        """Put a memory's lexemes into the lexical index."""

    @abstractmethod
    def unindex_words(self, row: int, kind: str) -> None:
        """Take a memory's lexemes out of the lexical index."""

    @abstractmethod
    def clear_words(self) -> None:
        """Empty the lexical index of the namespace."""

    @property
    @abstractmethod
    def answering_as(self) -> int | str:
        """What stands for the namespace among the kept answers."""

    def settings(self) -> dict[str, Any]:
        return dict(json.loads(self._rows("SELECT settings FROM namespaces WHERE key = ?", self._key)[0][0]))

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        self._run("UPDATE namespaces SET settings = ? WHERE key = ?", compact(dict(settings)), self._key)

    def finish(self) -> None:
        """Write what the transaction gathered; called before it ends."""
        self.write_counts()
        self.write_ties()
        idempotency.forget(self._db, self.answering_as, self.removed)

    def add(self, entry: Entry) -> int:
        row = self._db.insert(
            _INSERT, self._key, entry.content_hash, compact(kept(entry.extraction)), *values_of(entry.memory)
        )
        self._index(row, entry)
        if entry.memory.kind == "note" and self._notes.get(entry.content_hash, row) is None:
            self._notes[entry.content_hash] = row
        return row

    def preload(self, mentions: Sequence[Mention], hashes: Sequence[bytes]) -> None:
        """Look up in one go what a batch will mention and may repeat."""
        self.expect_entities(mentions)
        self.expect_notes(hashes)

    def replace(self, row: int, entry: Entry) -> None:
        self._notes.clear()
        self._unindex(row)
        self._run(
            _UPDATE, entry.content_hash, compact(kept(entry.extraction)), *values_of(entry.memory), self._key, row
        )
        self._index(row, entry)

    def remove(self, row: int) -> None:
        """Forget a memory, everything derived from it and the recalls that returned it; what it had replaced holds."""
        memory = self.at(row)
        assert memory is not None
        self._notes.clear()
        self.removed.append(memory.id)
        self._unindex(row)
        self.hand_over(row)
        self._run("UPDATE slots SET ended_by = NULL WHERE namespace = ? AND ended_by = ?", self._key, row)
        self._run("UPDATE sessions SET memory = NULL WHERE namespace = ? AND memory = ?", self._key, row)
        self._run(
            f"DELETE FROM recalls WHERE namespace = ? AND {self._sql.position}(returned, ?) > 0",
            self._key,
            compact(memory.id),
        )
        self._run("DELETE FROM memories WHERE namespace = ? AND row = ?", self._key, row)

    def _index(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        self.index_words(row, entry)
        for where, vector in entry.vectors.items():
            self.put_vector(row, where, memory, vector)
        self.state(row, entry.extraction.statements)
        if memory.kind != "session":
            self.tie(self.link(row, entry.extraction.mentions))
            self.state_relations(row, entry.extraction.relations, memory.event_at)

    def _unindex(self, row: int) -> None:
        kind = self._rows("SELECT kind FROM memories WHERE namespace = ? AND row = ?", self._key, row)[0][0]
        self.unindex_words(row, kind)
        self.drop_vectors(row)
        self._run("DELETE FROM slots WHERE namespace = ? AND memory = ?", self._key, row)
        self.untie(row)
        self.unlink(row)

    def clear_derived(self) -> None:
        """Take away what can be rebuilt from the memories: lexemes, links, statements, stray vectors."""
        self.clear_words()
        self._run("DELETE FROM links WHERE namespace = ?", self._key)
        self._run("DELETE FROM slots WHERE namespace = ?", self._key)
        self._run("DELETE FROM edges WHERE namespace = ? AND by_hand = 0", self._key)
        self._run("UPDATE entities SET links = 0 WHERE namespace = ?", self._key)
        self._entities.clear()
        self.drop_stray_vectors()

    def reindex(self, memory: Memory, entry: Entry) -> None:
        self._index(memory.row, entry)

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        """Memories in their order with what was read out of them, as this transaction sees them."""
        found = self._rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE row > ? AND {self._sql.apart('namespace')} = ? "
            "ORDER BY row LIMIT ?",
            after,
            self._key,
            size,
        )
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in found]
        return [(memory, restored(memory, json.loads(extracted))) for memory, extracted in memories]

    def rebuild_words(self, entries: Iterable[Entry]) -> None:
        """Make the lexical index anew; the entries are those of all memories."""
        self.clear_words()
        for entry in entries:
            self.index_words(entry.memory.row, entry)
        self.settle_words()

    def settle_words(self) -> None:
        """Put the lexical index in order after much was written to it."""

    def sweep(self) -> None:
        """End a rebuild: entities nothing mentions go, and the session log counts anew."""
        self.finish()
        self.drop_unused()
        self.settle()
        self.recount_sessions()

    def learned(self, name: str) -> dict[str, Any] | None:
        found = self._rows("SELECT value FROM learned WHERE namespace = ? AND name = ?", self._key, name)
        return dict(json.loads(found[0][0])) if found else None

    def save_learned(self, name: str, value: Mapping[str, Any] | None) -> None:
        """Keep what was learned under a name; None takes it away."""
        if value is None:
            self._run("DELETE FROM learned WHERE namespace = ? AND name = ?", self._key, name)
        else:
            self._run(
                "INSERT INTO learned (namespace, name, value) VALUES (?, ?, ?) "
                "ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value",
                self._key,
                name,
                compact(dict(value)),
            )

    def mark_used(self, recall: Recall | str, rows: Sequence[int], at: datetime, refused: Sequence[int] = ()) -> bool:
        """Note which memories were used and which were of no use; repeats change nothing, the last word counts.

        Gives whether these are the first of the recall that were used.
        """
        if isinstance(recall, Recall):
            write_row(self._db, row_of(self._key, recall))
        recall_id = recall if isinstance(recall, str) else recall.id
        moment = to_micros(at)
        known = dict(
            self._rows("SELECT memory, used FROM feedback WHERE namespace = ? AND recall = ?", self._key, recall_id)
        )
        for row, used in [(row, 1) for row in rows] + [(row, 0) for row in refused]:
            if known.get(row) != used:
                self._note_use(recall_id, row, used, moment, known.get(row, 0))
        return bool(rows) and not any(known.values())

    def _note_use(self, recall_id: str, row: int, used: int, at: int, before: int) -> None:
        self._run(
            "INSERT INTO feedback (namespace, recall, memory, at, used) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (namespace, recall, memory) DO UPDATE SET at = excluded.at, used = excluded.used",
            self._key,
            recall_id,
            row,
            at,
            used,
        )
        if used:
            self._run(
                "UPDATE memories SET access_count = access_count + 1, last_accessed_at = ? "
                "WHERE namespace = ? AND row = ?",
                at,
                self._key,
                row,
            )
        elif before:
            self._run(
                "UPDATE memories SET access_count = access_count - 1 "
                "WHERE namespace = ? AND row = ? AND access_count > 0",
                self._key,
                row,
            )
