"""Writing vectors to a SQLite file: vec0 has the numbers, a plain table says whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fivefold.stores.protocol import SpaceState, VectorSpace
from fivefold.stores.sql.checks import unsound_passages
from fivefold.stores.sql.spaces import SPACE_COLUMNS, space_of
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter
from fivefold.stores.sqlite import checksums, token_rows, vectors
from fivefold.stores.sqlite.code_writer import CodeWriter
from fivefold.stores.sqlite.dialect import SqliteDatabase
from fivefold.stores.sqlite.sequences import reserve
from fivefold.stores.tables import Row
from fivefold.values.entities import Extraction
from fivefold.values.memory import TYPES, Memory
from fivefold.values.vectors import FIELDS, Vector, VectorField

AT_ONCE = 2_000
"""Vectors that wait at most to be stored together."""


class SqliteVectorWriter(SqlVectorWriter):
    """Each removal is counted, so that copies in memory notice it."""

    def __init__(self, txn: Transaction, db: SqliteDatabase) -> None:
        super().__init__(txn)
        self._connection = db.connection
        self._codes = CodeWriter(db.connection)
        self._waiting: list[Row] = []

    def make_room(self, dimension: int) -> None:
        vectors.create_table(self._connection, dimension)

    def clear_space(self, space: VectorSpace) -> None:
        self._write()
        self._drop_tokens(space.key)
        self._codes.clear(space.key)
        self._txn.run(
            f"DELETE FROM {vectors.table_of(space.dimension)} WHERE rowid IN (SELECT id FROM vectors WHERE space = ?)",
            space.key,
        )
        self._txn.run("DELETE FROM vectors WHERE space = ?", space.key)

    def stored(self, space: VectorSpace, rows: Sequence[int], where: VectorField) -> dict[int, Vector]:
        self._write()
        return vectors.stored(self._connection, space, rows, [where])

    def put_vector(
        self,
        row: int,
        where: VectorField,
        memory: Memory,
        vector: Vector,
        state: SpaceState = "active",
        part: int = 0,
        tokens: bytes | None = None,
    ) -> None:
        space = self.space(state)
        assert space is not None, "a space is pinned before vectors are written"
        kept = tokens if space.tokens else None
        type = TYPES.index(memory.type)
        self._waiting.append((space.key, FIELDS.index(where), row, part, type, vector.tobytes(), kept))
        if len(self._waiting) >= AT_ONCE:
            self._write()

    def _write(self) -> None:
        """Store the vectors that wait, before any are read or deleted."""
        if self._waiting:
            rows, self._waiting = self._waiting, []
            self.put_rows(rows)

    def missing(self, state: SpaceState, limit: int) -> list[tuple[Memory, Extraction]]:
        self._write()
        return super().missing(state, limit)

    def drop_vectors(self, row: int) -> None:
        self._drop_where(row, "1")

    def drop_next(self, row: int) -> None:
        self._drop_where(row, "s.state = 'building' OR v.field = ?", FIELDS.index("next_user"))

    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        codes = [FIELDS.index(name) for name in fields]
        self._drop_where(row, f"s.state = ? AND v.field IN ({', '.join('?' * len(codes))})", state, *codes)

    def drop_stray_vectors(self) -> None:
        """Also all vectors of a memory whose passages do not agree, and all of them if one is damaged."""
        self._write()
        checksums.begin_again(self._connection, self._txn.key)
        names = [name for name in checksums.tables(self._connection) if name.startswith(("vec_", "vectors", "tokens"))]
        wrong = {name: keys for name in names if (keys := checksums.wrong_keys(self._connection, name))}
        if wrong:
            self.clear()
        for name, keys in wrong.items():
            checksums.forget_lost(self._connection, name, keys)
        for (dimension,) in self._txn.rows("SELECT DISTINCT dimension FROM spaces WHERE namespace = ?", self._txn.key):
            table = vectors.table_of(dimension)
            mine = "SELECT key FROM spaces WHERE namespace = ? AND dimension = ?"
            strays = self._txn.rows(
                f"SELECT id, space, field, memory FROM vectors WHERE space IN ({mine}) "
                f"AND id NOT IN (SELECT rowid FROM {table})",
                self._txn.key,
                dimension,
            )
            for id, space, field, memory in strays:
                self._drop_vector(id, space, field, dimension)
                if field == FIELDS.index("passage"):
                    self._drop_where(memory, "v.space = ?", space)
            stray = self._txn.rows(f"SELECT rowid FROM {table} WHERE rowid NOT IN (SELECT id FROM vectors)")
            self._txn.db.many(f"DELETE FROM {table} WHERE rowid = ?", stray)
        token_rows.drop(self._txn, [id for (id,) in self._txn.rows(token_rows.STRAY)])
        for (key,) in self._txn.rows("SELECT key FROM spaces WHERE namespace = ?", self._txn.key):
            for row in unsound_passages(self._txn.db.rows, self._txn.sql, self._txn.key, key):
                self._drop_where(row, "v.space = ?", key)
        for record in self._txn.rows(f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = ?", self._txn.key):
            self._codes.rebuild(space_of(record))

    def clear(self) -> None:
        self._write()
        spaces = self._txn.rows("SELECT key, dimension FROM spaces WHERE namespace = ?", self._txn.key)
        for space, dimension in spaces:
            self._drop_tokens(space)
            self._codes.clear(space)
            ids = self._txn.rows("SELECT id FROM vectors WHERE space = ?", space)
            self._txn.db.many(f"DELETE FROM {vectors.table_of(dimension)} WHERE rowid = ?", ids)
            self._txn.run("DELETE FROM vectors WHERE space = ?", space)

    def put_rows(self, rows: Sequence[Row]) -> None:
        first = reserve(self._txn, "vectors", len(rows)) + 1
        self._txn.db.many(
            "INSERT INTO vectors (id, space, field, memory, part, type) VALUES (?, ?, ?, ?, ?, ?)",
            [(id, *row[:5]) for id, row in enumerate(rows, first)],
        )
        by_length: dict[int, list[Row]] = {}
        for id, (space, field, memory, _, type, embedding, _) in enumerate(rows, first):
            by_length.setdefault(len(embedding) // 4, []).append((id, space, field, type, memory, embedding))
        for dimension, of_length in by_length.items():
            self._txn.db.many(
                f"INSERT INTO {vectors.table_of(dimension)} (rowid, space, field, type, event_at, embedding) "
                "VALUES (?, ?, ?, ?, (SELECT event_at FROM memories WHERE row = ?), ?)",
                of_length,
            )
        for id, (space, field, _, _, _, embedding, _) in enumerate(rows, first):
            self._codes.added(VectorSpace(space, "", len(embedding) // 4), field, id)
        token_rows.put(self._txn, [(id, row[6]) for id, row in enumerate(rows, first) if row[6] is not None])

    def flush(self) -> None:
        """A field that has grown large gets codes, and one that has them gets more."""
        self._write()
        self._codes.pack()

    def _drop_tokens(self, space: int) -> None:
        """Delete all token vectors of a space."""
        token_rows.drop(self._txn, [id for (id,) in self._txn.rows("SELECT id FROM vectors WHERE space = ?", space)])

    def _drop_where(self, row: int, condition: str, *values: Any) -> None:
        self._write()
        rows = self._txn.rows(
            "SELECT v.id, v.space, v.field, s.dimension FROM vectors v JOIN spaces s ON s.key = v.space "
            f"WHERE v.memory = ? AND ({condition})",
            row,
            *values,
        )
        for id, space, field, dimension in rows:
            self._drop_vector(id, space, field, dimension)

    def _drop_vector(self, id: int, space: int, field: int, dimension: int) -> None:
        self._txn.run(f"DELETE FROM {vectors.table_of(dimension)} WHERE rowid = ?", id)
        token_rows.drop(self._txn, [id])
        self._txn.run("DELETE FROM vectors WHERE id = ?", id)
        sql = "INSERT INTO removals VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
        self._codes.removed(space, field, id, self._txn.number(sql, space, field) or 1)
