"""One transaction on a namespace, in SQLite: how vectors and lexemes are kept there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.protocol import Entry, Space, SpaceState
from fivefold.stores.sql.writer import SqlWriter
from fivefold.stores.sqlite import lexical, vectors
from fivefold.stores.sqlite.dialect import SqliteDatabase
from fivefold.stores.sqlite.snapshot import SqliteSnapshotImporter
from fivefold.values.memory import TYPES, Memory
from fivefold.values.times import to_micros
from fivefold.values.vectors import FIELDS, Field, Vector


class SqliteWriter(SqlWriter, SqliteSnapshotImporter):
    """Lives inside `BEGIN IMMEDIATE … COMMIT`."""

    def __init__(self, db: SqliteDatabase, key: int, namespace: str, now: datetime) -> None:
        super().__init__(db, key, namespace, now)
        self._connection = db.connection

    @property
    def answering_as(self) -> str:
        return self.namespace

    def index_words(self, row: int, entry: Entry) -> None:
        lexical.add(self._connection, self._key, entry.memory.kind, row, entry.predicate_lexemes, entry.content_lexemes)

    def unindex_words(self, row: int, kind: str) -> None:
        lexical.remove(self._connection, self._key, kind, row)

    def clear_words(self) -> None:
        lexical.drop_tables(self._connection, self._key)
        lexical.create_tables(self._connection, self._key)

    def settle_words(self) -> None:
        lexical.optimize(self._connection, self._key)

    def make_room(self, dimension: int) -> None:
        vectors.create_table(self._connection, dimension)

    def clear_space(self, space: Space) -> None:
        self._run(
            f"DELETE FROM {vectors.table_of(space.dimension)} WHERE rowid IN (SELECT id FROM vectors WHERE space = ?)",
            space.key,
        )
        self._run("DELETE FROM vectors WHERE space = ?", space.key)

    def stored(self, space: Space, rows: Sequence[int], where: Field) -> dict[int, Vector]:
        return vectors.stored(self._connection, space, rows, [where])

    def put_vector(self, row: int, where: Field, memory: Memory, vector: Vector, state: SpaceState = "active") -> None:
        space = self.space(state)
        assert space is not None, "a space is pinned before vectors are written"
        kind = TYPES.index(memory.type)
        id = self._db.insert(
            "INSERT INTO vectors (id, space, field, memory, type) VALUES (?, ?, ?, ?, ?)",
            space.key,
            FIELDS.index(where),
            row,
            kind,
        )
        self._run(
            f"INSERT INTO {vectors.table_of(space.dimension)} (rowid, space, field, type, event_at, embedding) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            id,
            space.key,
            FIELDS.index(where),
            kind,
            to_micros(memory.event_at),
            vector.tobytes(),
        )

    def drop_vectors(self, row: int) -> None:
        self._drop_held(row, "1")

    def drop_next(self, row: int) -> None:
        self._drop_held(row, "s.state = 'building' OR v.field = ?", FIELDS.index("next_user"))

    def drop_stray_vectors(self) -> None:
        for (dimension,) in self._rows("SELECT DISTINCT dimension FROM spaces WHERE namespace = ?", self._key):
            table = vectors.table_of(dimension)
            mine = "SELECT key FROM spaces WHERE namespace = ? AND dimension = ?"
            lost = self._rows(
                f"SELECT id, space, field FROM vectors WHERE space IN ({mine}) "
                f"AND id NOT IN (SELECT rowid FROM {table})",
                self._key,
                dimension,
            )
            for id, space, field in lost:
                self._drop_vector(id, space, field, dimension)
            stray = self._rows(f"SELECT rowid FROM {table} WHERE rowid NOT IN (SELECT id FROM vectors)")
            self._db.many(f"DELETE FROM {table} WHERE rowid = ?", stray)

    def _drop_held(self, row: int, condition: str, *values: Any) -> None:
        held = self._rows(
            "SELECT v.id, v.space, v.field, s.dimension FROM vectors v JOIN spaces s ON s.key = v.space "
            f"WHERE v.memory = ? AND ({condition})",
            row,
            *values,
        )
        for id, space, field, dimension in held:
            self._drop_vector(id, space, field, dimension)

    def _drop_vector(self, id: int, space: int, field: int, dimension: int) -> None:
        self._run(f"DELETE FROM {vectors.table_of(dimension)} WHERE rowid = ?", id)
        self._run("DELETE FROM vectors WHERE id = ?", id)
        self._run("INSERT INTO removals VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1", space, field)
