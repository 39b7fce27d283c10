"""One transaction on a namespace, in SQLite: memories with everything derived from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fivefold.extract.kept import kept
from fivefold.memory import Memory
from fivefold.recall import Recall
from fivefold.stores.base import Entry
from fivefold.stores.sqlite import lexical
from fivefold.stores.sqlite.edges import Edges
from fivefold.stores.sqlite.recall_log import row_of, write_row
from fivefold.stores.sqlite.rows import WRITTEN, compact, values_of
from fivefold.stores.sqlite.statements import Statements
from fivefold.stores.sqlite.turns import Turns
from fivefold.times import to_micros

_INSERT = (
    f"INSERT INTO memories (namespace, content_hash, extracted, {WRITTEN}) "
    f"VALUES (?, ?, ?, {', '.join('?' * len(WRITTEN.split(',')))})"
)
_UPDATE = (
    "UPDATE memories SET content_hash = ?, extracted = ?, "
    + ", ".join(f"{name.strip()} = ?" for name in WRITTEN.split(","))
    + " WHERE row = ?"
)


class SqliteWriter(Turns, Statements, Edges):
    """Adds, replaces and removes memories; vectors, turns, statements and entities have their own files."""

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        self._db.execute("UPDATE namespaces SET settings = ? WHERE key = ?", (compact(dict(settings)), self._key))

    def finish(self) -> None:
        """Write what the transaction gathered; called before it ends."""
        self.write_counts()
        self.write_ties()

    def add(self, entry: Entry) -> int:
        memory = entry.memory
        self._db.execute(_INSERT, (self._key, entry.content_hash, compact(kept(entry.extraction)), *values_of(memory)))
        row = self._db.last_insert_rowid()
        self._index(row, entry)
        return row

    def replace(self, row: int, entry: Entry) -> None:
        self._unindex(row)
        self._db.execute(_UPDATE, (entry.content_hash, compact(kept(entry.extraction)), *values_of(entry.memory), row))
        self._index(row, entry)

    def remove(self, row: int) -> None:
        """Forget a memory, everything derived from it and the recalls that returned it; what it had replaced holds."""
        self._unindex(row)
        self.hand_over(row)
        self._db.execute(
            "DELETE FROM recalls WHERE namespace = ?1 AND instr(returned, '\"' || "
            "(SELECT id FROM memories WHERE row = ?2) || '\"') > 0",
            (self._key, row),
        )
        self._db.execute("DELETE FROM memories WHERE namespace = ? AND row = ?", (self._key, row))

    def _index(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        lexical.add(self._db, self._key, memory.kind, row, entry.predicate_lexemes, entry.content_lexemes)
        for where, vector in entry.vectors.items():
            self._put_vector(row, where, memory, vector)
        self.state(row, entry.extraction.slots)
        if memory.kind != "session":
            self.tie(self.link(row, entry.extraction.mentions))
            self.state_relations(row, entry.extraction.relations, memory.event_at)

    def _unindex(self, row: int) -> None:
        kind = self._rows("SELECT kind FROM memories WHERE row = ? AND namespace = ?", row, self._key)[0][0]
        lexical.remove(self._db, self._key, kind, row)
        for held in self._vectors_held(row):
            self._drop_vector(*held)
        self._db.execute("DELETE FROM slots WHERE memory = ?", (row,))
        self.untie(row)
        self.unlink(row)

    def clear_derived(self) -> None:
        """Take away what can be rebuilt from the memories: lexemes, links, statements, stray vectors."""
        lexical.drop_tables(self._db, self._key)
        lexical.create_tables(self._db, self._key)
        mine = "(SELECT key FROM entities WHERE namespace = ?)"
        self._db.execute(f"DELETE FROM links WHERE entity IN {mine}", (self._key,))
        self._db.execute("DELETE FROM slots WHERE namespace = ?", (self._key,))
        self._db.execute("DELETE FROM edges WHERE namespace = ? AND by_hand = 0", (self._key,))
        self._db.execute("UPDATE entities SET links = 0 WHERE namespace = ?", (self._key,))
        self._entities.clear()
        for dimension in {row[0] for row in self._rows("SELECT dimension FROM spaces WHERE namespace = ?", self._key)}:
            self._drop_stray_vectors(dimension)

    def reindex(self, memory: Memory, entry: Entry) -> None:
        self._index(memory.row, entry)

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
            self._db.execute("DELETE FROM learned WHERE namespace = ? AND name = ?", (self._key, name))
        else:
            sql = "INSERT OR REPLACE INTO learned VALUES (?, ?, ?)"
            self._db.execute(sql, (self._key, name, compact(dict(value))))

    def mark_used(self, recall: Recall | str, rows: Sequence[int], at: datetime) -> bool:
        """Note that these memories were used; repeats change nothing. Gives whether the recall had no feedback yet."""
        if isinstance(recall, Recall):
            write_row(self._db, row_of(self._key, recall))
        recall_id = recall if isinstance(recall, str) else recall.id
        moment = to_micros(at)
        known = "SELECT count(*) FROM feedback WHERE namespace = ? AND recall = ?"
        first = not self._number(known, self._key, recall_id)
        for row in rows:
            self._db.execute("INSERT OR IGNORE INTO feedback VALUES (?, ?, ?, ?)", (self._key, recall_id, row, moment))
            if self._db.changes():
                self._db.execute(
                    "UPDATE memories SET access_count = access_count + 1, last_accessed_at = ? WHERE row = ?",
                    (moment, row),
                )
        return first
