"""Writing vectors: the spaces of a namespace, and the vectors in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from fivefold.extract.kept import restored
from fivefold.memory import TYPES, Extraction, Memory
from fivefold.recall import Vector
from fivefold.stores.base import FIELDS, Field, Space, SpaceState
from fivefold.stores.sqlite import vectors
from fivefold.stores.sqlite.checks import missing_vectors
from fivefold.stores.sqlite.rows import COLUMNS, memory_of
from fivefold.stores.sqlite.transaction import Transaction
from fivefold.times import to_micros


class Spaces(Transaction):
    """The active space serves; a second one may be building."""

    def __init__(self, connection: apsw.Connection, key: int, namespace: str, now: datetime) -> None:
        super().__init__(connection, key, namespace, now)
        self._spaces: dict[str, Space | None] = {}

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
        return vectors.stored(self._db, space, memories, [where])

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
