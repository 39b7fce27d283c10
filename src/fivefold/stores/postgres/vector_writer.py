"""Writing vectors to PostgreSQL, and counting them by space, field and type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fivefold.stores.postgres.dialect import PostgresDatabase
from fivefold.stores.postgres.vectors import vector_of
from fivefold.stores.protocol import SpaceState, VectorSpace
from fivefold.stores.sql.checks import unsound_passages
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter
from fivefold.stores.tables import Row
from fivefold.values.memory import TYPES, Memory
from fivefold.values.vectors import FIELDS, Vector, VectorField

_PUT_TOKENS = "INSERT INTO tokens (namespace, space, field, memory, part, tokens) VALUES (?, ?, ?, ?, ?, ?)"

WITHOUT_VECTOR = (
    "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.namespace = t.namespace AND v.space = t.space AND v.field = t.field "
    "AND v.memory = t.memory AND v.part = t.part)"
)
"""The condition that token vectors `t` belong to no vector."""


class PostgresVectorWriter(SqlVectorWriter):
    """Counts are gathered and written at the end of the transaction."""

    def __init__(self, txn: Transaction, db: PostgresDatabase) -> None:
        super().__init__(txn)
        self._pg = db
        self._vector_counts: Counter[tuple[int, int, int]] = Counter()

    def flush(self) -> None:
        self._txn.db.many(
            "INSERT INTO held (namespace, space, field, type, count) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (namespace, space, field, type) DO UPDATE SET count = held.count + excluded.count",
            [(self._txn.key, *group, count) for group, count in sorted(self._vector_counts.items()) if count],
        )
        self._vector_counts.clear()

    def make_room(self, dimension: int) -> None:
        """Vectors of any dimension are in the same tables."""

    def clear_space(self, space: VectorSpace) -> None:
        for table in ("vectors", "held", "tokens"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = ? AND space = ?", self._txn.key, space.key)
        for group in [group for group in self._vector_counts if group[0] == space.key]:
            del self._vector_counts[group]

    def stored(self, space: VectorSpace, rows: Sequence[int], where: VectorField) -> dict[int, Vector]:
        cursor = self._pg.connection.execute(
            "SELECT memory, embedding FROM vectors WHERE namespace = $1 AND space = $2 AND field = $3 "
            "AND memory = ANY($4) ORDER BY memory",
            [self._txn.key, space.key, FIELDS.index(where), list(rows)],
            binary=True,
        )
        return {row: vector_of(data) for row, data in cursor.fetchall()}

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
        group = (space.key, FIELDS.index(where), TYPES.index(memory.type))
        self._txn.run(
            "INSERT INTO vectors (namespace, space, field, type, memory, part, dimension, embedding) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?::vector)",
            self._txn.key,
            *group,
            row,
            part,
            space.dimension,
            vector,
        )
        self._vector_counts[group] += 1
        if space.tokens and tokens is not None:
            self._txn.run(_PUT_TOKENS, self._txn.key, space.key, FIELDS.index(where), row, part, tokens)

    def drop_vectors(self, row: int) -> None:
        self._drop(row, self._space_keys(), FIELDS)

    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        space = self.space(state)
        if space is not None:
            self._drop(row, [space.key], fields)

    def drop_next(self, row: int) -> None:
        self._drop(row, self._space_keys(), ["next_user"])
        self.drop_fields(row, FIELDS, "building")

    def drop_stray_vectors(self) -> None:
        """Vectors whose memory or space was deleted, or whose passages do not agree; all others are counted again."""
        self._txn.run(
            "DELETE FROM vectors WHERE namespace = ?1 AND (NOT EXISTS (SELECT 1 FROM memories m "
            "WHERE m.namespace = ?1 AND m.row = vectors.memory) OR NOT space = ANY(?2))",
            self._txn.key,
            self._space_keys(),
        )
        for space in self._space_keys():
            for row in unsound_passages(self._txn.db.rows, self._txn.sql, self._txn.key, space):
                self._drop(row, [space], FIELDS)
        self._txn.run(f"DELETE FROM tokens AS t WHERE namespace = ? AND {WITHOUT_VECTOR}", self._txn.key)
        self._txn.run("DELETE FROM held WHERE namespace = ?", self._txn.key)
        self._txn.run(
            "INSERT INTO held (namespace, space, field, type, count) SELECT namespace, space, field, type, count(*) "
            "FROM vectors WHERE namespace = ? GROUP BY namespace, space, field, type",
            self._txn.key,
        )
        self._vector_counts.clear()

    def clear(self) -> None:
        for table in ("vectors", "held", "tokens"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = ?", self._txn.key)
        self._vector_counts.clear()

    def put_rows(self, rows: Sequence[Row]) -> None:
        self._txn.db.many(
            "INSERT INTO vectors (namespace, space, field, memory, part, type, dimension, embedding) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?::vector)",
            [(self._txn.key, *row[:5], len(row[5]) // 4, np.frombuffer(row[5], dtype="<f4")) for row in rows],
        )
        self._txn.db.many(_PUT_TOKENS, [(self._txn.key, *row[:4], row[6]) for row in rows if row[6] is not None])
        self._vector_counts.update((space, field, type) for space, field, _, _, type, *_ in rows)

    def _drop(self, row: int, spaces: list[int], fields: Sequence[VectorField]) -> None:
        where = "namespace = ? AND memory = ? AND space = ANY(?) AND field = ANY(?)"
        values = (self._txn.key, row, spaces, [FIELDS.index(name) for name in fields])
        self._txn.run(f"DELETE FROM tokens WHERE {where}", *values)
        for group in self._txn.rows(f"DELETE FROM vectors WHERE {where} RETURNING space, field, type", *values):
            self._vector_counts[group] -= 1

    def _space_keys(self) -> list[int]:
        spaces = (self.space("active"), self.space("building"))
        return [space.key for space in spaces if space is not None]
