"""One transaction on a namespace, in SQLite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw
import numpy as np

from fivefold.extract.kept import kept, restored
from fivefold.memory import TYPES, Extraction, Memory, Mention, Slot
from fivefold.recall import Recall, Vector
from fivefold.stores.base import FIELDS, Entry, Field, Space, SpaceState
from fivefold.stores.sqlite import lexical, vectors
from fivefold.stores.sqlite.checks import missing_vectors
from fivefold.stores.sqlite.connection import number, rows
from fivefold.stores.sqlite.rows import COLUMNS, WRITTEN, compact, memory_of, values_of
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

_HOLDS = "ended_by IS NULL AND (SELECT superseded_by FROM memories WHERE row = slots.memory) IS NULL"
"""Of a statement: nothing has ended it, neither alone nor with all of its memory."""


class SqliteWriter:
    """Lives inside `BEGIN IMMEDIATE … COMMIT`; the store opens and ends the transaction."""

    def __init__(self, connection: apsw.Connection, key: int, namespace: str, now: datetime) -> None:
        self._db = connection
        self._key = key
        self._now = to_micros(now)
        self._spaces: dict[str, Space | None] = {}
        self._entities: dict[str, int] = {}
        self._linked: Counter[int] = Counter()
        self.namespace = namespace

    # spaces and settings

    def pin(self, embedder: str, dimension: int) -> Space:
        """The active space; the first write of a namespace pins its model."""
        space = self.space("active")
        return space or self.open_space(embedder, dimension, "active")

    def space(self, state: SpaceState) -> Space | None:
        if state not in self._spaces:
            found = self._rows(
                "SELECT key, embedder, dimension FROM spaces WHERE namespace = ? AND state = ?",
                self._key,
                state,
            )
            self._spaces[state] = Space(*found[0]) if found else None
        return self._spaces[state]

    def open_space(self, embedder: str, dimension: int, state: SpaceState) -> Space:
        vectors.create_table(self._db, dimension)
        self._db.execute(
            "INSERT INTO spaces (namespace, embedder, dimension, state) VALUES (?, ?, ?, ?)",
            (self._key, embedder, dimension, state),
        )
        space = Space(self._db.last_insert_rowid(), embedder, dimension)
        self._spaces[state] = space
        return space

    def drop_space(self, state: SpaceState) -> None:
        space = self.space(state)
        if space is None:
            return
        self._db.execute(
            f"DELETE FROM {vectors.table_of(space.dimension)} WHERE rowid IN (SELECT id FROM vectors WHERE space = ?)",
            (space.key,),
        )
        self._db.execute("DELETE FROM vectors WHERE space = ?", (space.key,))
        self._db.execute("DELETE FROM spaces WHERE key = ?", (space.key,))
        self._spaces[state] = None

    def switch_space(self) -> None:
        """The space that was built becomes the one that serves; the old one goes."""
        self.drop_space("active")
        self._db.execute("UPDATE spaces SET state = 'active' WHERE namespace = ? AND state = 'building'", (self._key,))
        self._spaces.clear()

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        self._db.execute("UPDATE namespaces SET settings = ? WHERE key = ?", (compact(dict(settings)), self._key))

    # memories

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
        """Forget a memory and everything derived from it; what it had replaced holds again."""
        self._unindex(row)
        self._db.execute(
            "UPDATE memories SET superseded_by = NULL, valid_to = NULL WHERE namespace = ? AND superseded_by = "
            "(SELECT id FROM memories WHERE row = ?)",
            (self._key, row),
        )
        self._db.execute("DELETE FROM memories WHERE namespace = ? AND row = ?", (self._key, row))

    def get(self, id: str) -> Memory | None:
        return self._memory("id = ?", id)

    def at(self, row: int) -> Memory | None:
        return self._memory("row = ?", row)

    def _index(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        lexical.add(self._db, self._key, memory.kind, row, entry.predicate_lexemes, entry.content_lexemes)
        for where, vector in entry.vectors.items():
            self._put_vector(row, where, memory, vector)
        self.state(row, entry.extraction.slots)
        if memory.kind != "session":
            self.link(row, entry.extraction.mentions)

    def _unindex(self, row: int) -> None:
        kind = self._rows("SELECT kind FROM memories WHERE row = ? AND namespace = ?", row, self._key)[0][0]
        lexical.remove(self._db, self._key, kind, row)
        for held in self._vectors_held(row):
            self._drop_vector(*held)
        self._db.execute("DELETE FROM slots WHERE memory = ?", (row,))
        self.unlink(row)

    # vectors

    def put_vectors(self, memory: Memory, vectors: Mapping[Field, Vector], state: SpaceState) -> None:
        for where, vector in vectors.items():
            self._put_vector(memory.row, where, memory, vector, state)

    def _put_vector(self, row: int, where: Field, memory: Memory, vector: Vector, state: SpaceState = "active") -> None:
        space = self.space(state)
        assert space is not None, "a space is pinned before vectors are written"
        kind = TYPES.index(memory.type)
        self._db.execute(
            "INSERT INTO vectors (space, field, memory, type) VALUES (?, ?, ?, ?)",
            (space.key, FIELDS.index(where), row, kind),
        )
        self._db.execute(
            f"INSERT INTO {vectors.table_of(space.dimension)} (rowid, space, field, type, event_at, embedding) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._db.last_insert_rowid(), space.key, FIELDS.index(where), kind,
                to_micros(memory.event_at), vector.tobytes(),
            ),
        )  # fmt: skip

    def _vectors_held(self, row: int, condition: str = "1", *values: Any) -> list[tuple[Any, ...]]:
        return self._rows(
            "SELECT v.id, v.space, v.field, s.dimension FROM vectors v JOIN spaces s ON s.key = v.space "
            f"WHERE v.memory = ? AND ({condition})",
            row, *values,
        )  # fmt: skip

    def _drop_vector(self, id: int, space: int, field: int, dimension: int) -> None:
        self._db.execute(f"DELETE FROM {vectors.table_of(dimension)} WHERE rowid = ?", (id,))
        self._db.execute("DELETE FROM vectors WHERE id = ?", (id,))
        self._db.execute(
            "INSERT INTO removals VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
            (space, field),
        )

    def without_vectors(self, state: SpaceState, limit: int) -> list[tuple[Memory, Extraction]]:
        """Memories that lack the vector every memory of their kind has, turns before the sessions made of them."""
        space = self.space(state)
        if space is None:
            return []
        rows = missing_vectors(self._db, self._key, space.key, limit)
        found = self._rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE row IN (SELECT value FROM json_each(?)) "
            "ORDER BY kind = 'session', row",
            json.dumps(rows),
        )
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in found]
        return [(memory, restored(memory, json.loads(extracted))) for memory, extracted in memories]

    def vectors_of(self, memories: Sequence[int], where: Field, state: SpaceState = "active") -> dict[int, Vector]:
        space = self.space(state)
        if space is None:
            return {}
        found = self._rows(
            f"SELECT v.memory, e.embedding FROM json_each(?) wanted "
            "CROSS JOIN vectors v ON v.memory = wanted.value AND v.space = ? AND v.field = ? "
            f"JOIN {vectors.table_of(space.dimension)} e ON e.rowid = v.id",
            json.dumps(list(memories)), space.key, FIELDS.index(where),
        )  # fmt: skip
        return {row: np.frombuffer(blob, dtype=np.float32) for row, blob in found}

    # everything derived, made anew

    def clear_derived(self) -> None:
        """Take away what can be rebuilt from the memories: lexemes, links, statements, stray vectors."""
        lexical.drop_tables(self._db, self._key)
        lexical.create_tables(self._db, self._key)
        mine = "(SELECT key FROM entities WHERE namespace = ?)"
        self._db.execute(f"DELETE FROM links WHERE entity IN {mine}", (self._key,))
        self._db.execute("DELETE FROM slots WHERE namespace = ?", (self._key,))
        self._db.execute("UPDATE entities SET links = 0 WHERE namespace = ?", (self._key,))
        self._entities.clear()
        for dimension in {row[0] for row in self._rows("SELECT dimension FROM spaces WHERE namespace = ?", self._key)}:
            self._drop_stray_vectors(dimension)

    def _drop_stray_vectors(self, dimension: int) -> None:
        table = vectors.table_of(dimension)
        mine = "SELECT key FROM spaces WHERE namespace = ? AND dimension = ?"
        lost = self._rows(
            f"SELECT id, space, field FROM vectors WHERE space IN ({mine}) AND id NOT IN (SELECT rowid FROM {table})",
            self._key, dimension,
        )  # fmt: skip
        for id, space, field in lost:
            self._drop_vector(id, space, field, dimension)
        stray = self._rows(f"SELECT rowid FROM {table} WHERE rowid NOT IN (SELECT id FROM vectors)")
        self._db.executemany(f"DELETE FROM {table} WHERE rowid = ?", stray)

    def reindex(self, memory: Memory, entry: Entry) -> None:
        self._index(memory.row, entry)

    def sweep(self) -> None:
        """End a rebuild: entities nothing mentions go, and the session log counts anew."""
        self.finish()
        self._db.execute("DELETE FROM entities WHERE namespace = ? AND links = 0 AND by_hand = 0", (self._key,))
        for (session_id,) in self._rows("SELECT id FROM sessions WHERE namespace = ?", self._key):
            self.close_gap(session_id)

    # duplicates, turns and sessions

    def note_with(self, content_hash: bytes) -> int | None:
        return self._number(
            "SELECT row FROM memories WHERE namespace = ? AND content_hash = ? AND kind = 'note' "
            "AND superseded_by IS NULL LIMIT 1",
            self._key, content_hash,
        )  # fmt: skip

    def turn_like(self, session_id: str, content_hash: bytes, event_at: datetime) -> str | None:
        found = self._rows(
            "SELECT id FROM memories WHERE namespace = ? AND content_hash = ? AND session_id = ? AND event_at = ? "
            "AND kind = 'turn' LIMIT 1",
            self._key, content_hash, session_id, to_micros(event_at),
        )  # fmt: skip
        return str(found[0][0]) if found else None

    def earlier_equal(self, content_hash: bytes, before: int) -> int | None:
        return self._number(
            "SELECT max(row) FROM memories WHERE namespace = ? AND content_hash = ? AND row < ?",
            self._key, content_hash, before,
        )  # fmt: skip

    def seen_again(self, row: int, tags: Sequence[str]) -> None:
        memory = self.at(row)
        assert memory is not None
        together = list(dict.fromkeys((*memory.tags, *tags)))
        self._db.execute(
            "UPDATE memories SET seen_count = seen_count + 1, tags = ? WHERE row = ?",
            (compact(together), row),
        )

    def turn_before(self, session_id: str, row: int) -> Memory | None:
        """The turn just before this one in its session."""
        return self._memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) < "
            "(SELECT turn_index, row FROM memories WHERE row = ?) ORDER BY turn_index DESC, row DESC LIMIT 1",
            session_id, row,
        )  # fmt: skip

    def turn_after(self, session_id: str, row: int) -> Memory | None:
        """The turn just after this one in its session."""
        return self._memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) > "
            "(SELECT turn_index, row FROM memories WHERE row = ?) ORDER BY turn_index, row LIMIT 1",
            session_id, row,
        )  # fmt: skip

    def turns(self, session_id: str) -> list[Memory]:
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND session_id = ? AND kind = 'turn' "
            "ORDER BY turn_index, row",
            self._key, session_id,
        )  # fmt: skip
        return [memory_of(self.namespace, columns) for columns in found]

    def session_size(self, session_id: str) -> tuple[int, int, int | None]:
        """Turns in the session, turns its memory was built from, and that memory's row."""
        found = self._rows(
            "SELECT turns, built_from, memory FROM sessions WHERE namespace = ? AND id = ?",
            self._key,
            session_id,
        )
        return found[0] if found else (0, 0, None)

    def log_turn(self, session_id: str, at: datetime) -> int:
        """Count a turn into the session log; gives the next free turn index."""
        moment = to_micros(at)
        self._db.execute(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns) VALUES (?, ?, ?, ?, 1) "
            "ON CONFLICT DO UPDATE SET started_at = min(started_at, excluded.started_at), "
            "ended_at = max(ended_at, excluded.ended_at), turns = turns + 1",
            (self._key, session_id, moment, moment),
        )
        last = self._number(
            "SELECT max(turn_index) FROM memories WHERE namespace = ? AND session_id = ?",
            self._key,
            session_id,
        )
        return 0 if last is None else last + 1

    def session_built(self, session_id: str, row: int, turns: int) -> None:
        self._db.execute(
            "UPDATE sessions SET memory = ?, built_from = ? WHERE namespace = ? AND id = ?",
            (row, turns, self._key, session_id),
        )

    def close_gap(self, session_id: str) -> None:
        """Recount a session after one of its turns was forgotten; an empty one leaves the log."""
        self._db.execute(
            "UPDATE sessions SET (turns, started_at, ended_at) = "
            "(SELECT count(*), coalesce(min(event_at), started_at), coalesce(max(event_at), ended_at) "
            "FROM memories m WHERE m.namespace = sessions.namespace "
            "AND m.session_id = sessions.id AND m.kind = 'turn') WHERE namespace = ? AND id = ?",
            (self._key, session_id),
        )
        self._db.execute("DELETE FROM sessions WHERE namespace = ? AND id = ? AND turns = 0", (self._key, session_id))

    def backfill(self, row: int, text: str | None, vector: Vector | None) -> None:
        """Put the next user turn on the memory before it (M1), or take it off again."""
        self._db.execute("UPDATE memories SET next_user_text = ? WHERE row = ?", (text, row))
        outdated = self._vectors_held(row, "s.state = 'building' OR v.field = ?", FIELDS.index("next_user"))
        for held in outdated:
            self._drop_vector(*held)
        memory = self.at(row)
        if vector is not None and memory is not None:
            self._put_vector(row, "next_user", memory, vector)

    # statements that replace others

    def stated(self, subject: str, attribute: str) -> list[tuple[int, Slot]]:
        found = self._rows(
            "SELECT memory, subject, attribute, value FROM slots WHERE namespace = ? AND subject = ? AND attribute = ? "
            f"AND {_HOLDS} ORDER BY memory DESC",
            self._key, subject, attribute,
        )  # fmt: skip
        return [(row, Slot(*parts)) for row, *parts in found]

    def stated_as(self, row: int, value: str) -> list[Slot]:
        """Statements of other memories that still hold and whose value begins with these words."""
        found = self._rows(
            f"SELECT subject, attribute, value FROM slots WHERE namespace = ? AND memory <> ? AND {_HOLDS} "
            "AND substr(lower(value) || ' ', 1, length(?3) + 1) = lower(?3) || ' '",
            self._key, row, value.strip(),
        )  # fmt: skip
        return [Slot(*parts) for parts in found]

    def slots_at(self, row: int) -> list[Slot]:
        return [
            Slot(*parts) for parts in self._rows("SELECT subject, attribute, value FROM slots WHERE memory = ?", row)
        ]

    def state(self, row: int, slots: Sequence[Slot]) -> None:
        if not slots:
            return
        self._db.executemany(
            "INSERT OR IGNORE INTO slots VALUES (?, ?, ?, ?, ?, NULL)",
            [(self._key, slot.subject, slot.attribute, slot.value, row) for slot in slots],
        )

    def end_statement(self, row: int, slot: Slot, by: int) -> int:
        """A statement no longer holds, under whichever attributes it was noted; gives how many still do."""
        self._db.execute("UPDATE slots SET ended_by = ? WHERE memory = ? AND value = ?", (by, row, slot.value))
        return self._number(f"SELECT count(*) FROM slots WHERE memory = ? AND {_HOLDS}", row) or 0

    def supersede(self, old: Memory, new: Memory, why: str) -> None:
        self._db.execute(
            "UPDATE memories SET superseded_by = ?, valid_to = ? WHERE row = ?",
            (new.id, to_micros(new.event_at), old.row),
        )
        self.relate(new.row, old.row, "supersedes", why)

    def relate(self, source: int, target: int, relation: str, why: str) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO memory_links VALUES (?, ?, ?, ?, ?)",
            (self._key, source, target, relation, why),
        )

    # entities

    def expect(self, mentions: Sequence[Mention]) -> None:
        """Look up the entities a batch will mention in one go."""
        aliases = list({_alias(mention) for mention in mentions})
        found = self._rows(
            "SELECT a.alias, a.entity FROM json_each(?) wanted CROSS JOIN entity_aliases a "
            "ON a.namespace = ? AND a.alias = wanted.value JOIN entities e ON e.key = a.entity "
            "ORDER BY e.links, e.key DESC",
            json.dumps(aliases, ensure_ascii=False), self._key,
        )  # fmt: skip
        self._entities.update(found)  # of several entities with one alias the most mentioned comes last and stays

    def link(self, row: int, mentions: Sequence[Mention]) -> None:
        counts: dict[int, int] = {}
        for mention in mentions:
            entity = self._entity(mention)
            counts[entity] = counts.get(entity, 0) + mention.count
        self._db.executemany(
            "INSERT INTO links VALUES (?, ?, ?)", [(row, entity, count) for entity, count in counts.items()]
        )
        self._linked.update(counts.keys())

    def finish(self) -> None:
        """Write the link counts this transaction gathered; called before it ends."""
        counted = [(count, entity) for entity, count in self._linked.items()]
        self._db.executemany("UPDATE entities SET links = links + ? WHERE key = ?", counted)
        self._linked.clear()

    def unlink(self, row: int) -> None:
        """Take a memory's links away; an entity that nothing mentions any more goes with them."""
        self.finish()
        entities = [key for (key,) in self._rows("SELECT entity FROM links WHERE memory = ?", row)]
        self._db.execute("DELETE FROM links WHERE memory = ?", (row,))
        self._db.executemany("UPDATE entities SET links = links - 1 WHERE key = ?", [(key,) for key in entities])
        self._db.executemany(
            "DELETE FROM entities WHERE key = ? AND links <= 0 AND by_hand = 0", [(key,) for key in entities]
        )
        self._entities.clear()

    def _entity(self, mention: Mention) -> int:
        alias = _alias(mention)
        if alias not in self._entities:
            known = self._number(
                "SELECT a.entity FROM entity_aliases a JOIN entities e ON e.key = a.entity "
                "WHERE a.namespace = ? AND a.alias = ? ORDER BY e.links DESC, e.key LIMIT 1",
                self._key, alias,
            )  # fmt: skip
            self._entities[alias] = known if known is not None else self._new_entity(mention, alias)
        return self._entities[alias]

    def _new_entity(self, mention: Mention, alias: str) -> int:
        self._db.execute(
            "INSERT INTO entities (namespace, name, kind, created_at) VALUES (?, ?, ?, ?)",
            (self._key, mention.name, mention.kind, self._now),
        )
        key = self._db.last_insert_rowid()
        self._db.execute("INSERT INTO entity_aliases VALUES (?, ?, ?)", (self._key, alias, key))
        return key

    # feedback

    def mark_used(self, recall: Recall | str, rows: Sequence[int], at: datetime) -> None:
        """Note that these memories were used; the first word on each counts, repeats change nothing."""
        if isinstance(recall, Recall):
            log_recall(self._db, self._key, recall)
        recall_id = recall if isinstance(recall, str) else recall.id
        moment = to_micros(at)
        for row in rows:
            self._db.execute("INSERT OR IGNORE INTO feedback VALUES (?, ?, ?, ?)", (self._key, recall_id, row, moment))
            if self._db.changes():
                self._db.execute(
                    "UPDATE memories SET access_count = access_count + 1, last_accessed_at = ? WHERE row = ?",
                    (moment, row),
                )

    def _memory(self, condition: str, *values: Any) -> Memory | None:
        found = self._rows(f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND {condition}", self._key, *values)
        return memory_of(self.namespace, found[0]) if found else None

    def _number(self, sql: str, *values: Any) -> int | None:
        return number(self._db, sql, *values)

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return rows(self._db, sql, *values)


def _alias(mention: Mention) -> str:
    return " ".join(mention.name.casefold().split())


def log_recall(connection: apsw.Connection, key: int, recall: Recall) -> None:
    returned = [[hit.memory.id, hit.rank, round(hit.score, 6)] for hit in recall.hits]
    connection.execute(
        "INSERT OR IGNORE INTO recalls VALUES (?, ?, ?, ?, ?, ?)",
        (
            key,
            recall.id,
            to_micros(recall.query.now),
            recall.plan.recipe,
            recall.query.text,
            compact(returned),
        ),
    )
