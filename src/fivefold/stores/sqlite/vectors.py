"""Dense search: vec0 stores the vectors, and namespaces that are searched more than once are cached in memory.

Both ways are exact. The cache agrees with the file, also when other processes write: before each search it
reads the vectors added since the last one, and drops those removed.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence

import apsw
import numpy as np

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite.connection import number, one_snapshot, rows
from fivefold.stores.sqlite.scan import Arrays, Rows, closest
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

CHUNK = 8
"""Vectors in one vec0 chunk: the fewest there may be, so that a namespace of a few memories takes little room."""

SMALL = 5_000
"""A namespace up to this size is cached in memory from its first recall, a larger one from its second."""

CACHE_BYTES = 1 << 30
"""How many bytes of vectors all namespaces together may cache; the least recently used go first."""


def table_of(dimension: int) -> str:
    return f"vec_{dimension}"


def create_table(connection: apsw.Connection, dimension: int) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table_of(dimension)} USING vec0("
        "space INTEGER PARTITION KEY, field INTEGER, type INTEGER, event_at INTEGER, "
        f"embedding FLOAT[{dimension}] DISTANCE_METRIC=cosine, chunk_size={CHUNK})"
    )


def knn(
    connection: apsw.Connection, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Kept
) -> list[RouteHit]:
    """The nearest by one vec0 statement; the filter is applied inside the index."""
    types = keep.type_codes
    narrowed = f" AND type IN ({', '.join('?' * len(types))})" if types else ""
    listed = () if keep.rows is None else (keep.rows.listed, space.key, FIELDS.index(where))
    if listed:
        narrowed += (
            " AND rowid IN (SELECT v.id FROM json_each(?) kept CROSS JOIN vectors v ON v.memory = kept.value "
            "AND v.space = ? AND v.field = ?)"
        )
    cursor = connection.execute(
        f"SELECT v.memory, nearest.distance, v.part FROM (SELECT rowid, distance FROM {table_of(space.dimension)} "
        f"WHERE embedding MATCH ? AND k = ? AND space = ? AND field = ?{narrowed}) AS nearest "
        "JOIN vectors v ON v.id = nearest.rowid",
        (vector.tobytes(), depth, space.key, FIELDS.index(where), *types, *listed),
    )
    hits = [RouteHit(row, 1.0 - distance, part=part) for row, distance, part in cursor]
    return sorted(hits, key=lambda hit: (-hit.score, hit.row, hit.part))


def stored(
    connection: apsw.Connection, space: VectorSpace, memories: Sequence[int], where: Sequence[VectorField]
) -> dict[int, Vector]:
    """The vectors of these memories, straight from the file."""
    records = rows(
        connection,
        "SELECT v.memory, e.embedding FROM json_each(?) wanted CROSS JOIN vectors v ON v.memory = wanted.value "
        f"AND v.space = ? AND v.field IN ({', '.join('?' * len(where))}) "
        f"CROSS JOIN {table_of(space.dimension)} e ON e.rowid = v.id",
        json.dumps(list(memories)),
        space.key,
        *(FIELDS.index(name) for name in where),
    )
    return {row: np.frombuffer(blob, dtype=np.float32) for row, blob in records}


def stored_passages(connection: apsw.Connection, space: VectorSpace, memories: Sequence[int]) -> dict[int, Matrix]:
    """The vectors of the passages of these memories in their order; memories of one passage are left out."""
    records = rows(
        connection,
        "SELECT v.memory, v.part, e.embedding FROM json_each(?) wanted CROSS JOIN vectors v "
        f"ON v.memory = wanted.value AND v.space = ? AND v.field = ? CROSS JOIN {table_of(space.dimension)} e "
        "ON e.rowid = v.id",
        json.dumps(list(memories)),
        space.key,
        FIELDS.index("passage"),
    )
    blobs: dict[int, list[bytes]] = {}
    for memory, _, blob in sorted(records):
        blobs.setdefault(memory, []).append(blob)
    return {
        memory: np.frombuffer(b"".join(parts), dtype=np.float32).reshape(len(parts), -1)
        for memory, parts in blobs.items()
    }


_REMOVALS = "SELECT count FROM removals WHERE space = ? AND field = ?"


class CachedVectors:
    """The vectors of one field of one space. Arrays are replaced or grown, never changed under a reader."""

    def __init__(self, dimension: int) -> None:
        self.arrays = Arrays.empty(0, dimension)
        self.size = 0
        self.last_id = 0
        self.removals = 0
        self.lock = threading.Lock()

    def search(self, vector: Vector, depth: int, keep: Kept) -> list[RouteHit]:
        cached, positions = self._filtered(keep)
        order, scores = closest(cached, vector, depth, positions)
        found = zip(cached.memories[order].tolist(), scores.tolist(), cached.parts[order].tolist(), strict=True)
        return [RouteHit(row, score, part=part) for row, score, part in found]

    def patterns(self, vector: Vector, size: int, keep: Kept) -> Matrix:
        cached, positions = self._filtered(keep)
        return cached.matrix[closest(cached, vector, size, positions)[0]]

    def _filtered(self, keep: Kept) -> tuple[Arrays, Rows | None]:
        with self.lock:
            cached = self.arrays.first(self.size)
        if keep.rows is None:
            return cached, np.flatnonzero(np.isin(cached.types, keep.type_codes)) if keep.types else None
        positions = np.flatnonzero(np.isin(cached.memories, keep.rows.rows))
        return cached, positions[np.isin(cached.types[positions], keep.type_codes)] if keep.types else positions

    def catch_up(self, connection: apsw.Connection, space: VectorSpace, where: VectorField) -> None:
        """Read what was written since the last time."""
        code = FIELDS.index(where)
        with self.lock, one_snapshot(connection):
            removals = number(connection, _REMOVALS, space.key, code) or 0
            if removals != self.removals and self.size:
                self._drop_removed(connection, space.key, code)
            self.removals = removals
            self._append(connection, space, code)

    def _drop_removed(self, connection: apsw.Connection, space: int, code: int) -> None:
        alive = rows(connection, "SELECT id FROM vectors WHERE space = ? AND field = ?", space, code)
        remaining = np.isin(self.arrays.ids[: self.size], np.array([id for (id,) in alive], dtype=np.int64))
        self.arrays = self.arrays.first(self.size).only(np.flatnonzero(remaining))
        self.size = len(self.arrays.ids)

    def _append(self, connection: apsw.Connection, space: VectorSpace, code: int) -> None:
        new = rows(
            connection,
            "SELECT v.id, v.memory, v.part, v.type, e.embedding FROM vectors v "
            f"JOIN {table_of(space.dimension)} e ON e.rowid = v.id WHERE v.space = ? AND v.field = ? AND v.id > ?",
            space.key,
            code,
            self.last_id,
        )
        if not new:
            return
        end = self.size + len(new)
        if end > len(self.arrays.ids):
            room = end if self.size == 0 else end * 5 // 4
            self.arrays = self.arrays.grown(self.size, room)
        ids, memories, parts, types, blobs = zip(*new, strict=True)
        matrix = np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(new), -1)
        self.arrays.put(self.size, np.array(ids), np.array(memories), np.array(types), matrix, np.array(parts))
        self.size, self.last_id = end, max(ids)


class VectorCache:
    """Which namespaces are cached in memory, within one budget for all."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[int, VectorField], CachedVectors] = OrderedDict()
        self._asked: set[tuple[int, VectorField]] = set()
        self._sizes: dict[tuple[int, VectorField], int] = {}
        self._size_of_all = 0
        self._lock = threading.Lock()

    def search(
        self,
        connection: apsw.Connection,
        space: VectorSpace,
        where: VectorField,
        vector: Vector,
        depth: int,
        keep: Kept,
    ) -> list[RouteHit]:
        cached = self._cached_vectors(connection, space, where)
        if cached is None:
            return knn(connection, space, where, vector, depth, keep)
        cached.catch_up(connection, space, where)
        self._keep_in_budget((space.key, where), cached)
        return cached.search(vector, depth, keep)

    def patterns(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Kept
    ) -> Matrix:
        """The vectors nearest to `vector`, one a row."""
        cached = self._cached_vectors(connection, space, where)
        if cached is None:
            near = knn(connection, space, where, vector, size, keep)
            vectors = stored(connection, space, [hit.row for hit in near], [where])
            return np.array(list(vectors.values()), dtype=np.float32)
        cached.catch_up(connection, space, where)
        return cached.patterns(vector, size, keep)

    def _cached_vectors(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField
    ) -> CachedVectors | None:
        key = (space.key, where)
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
            seen = key in self._asked
            self._asked.add(key)
        size = self._size(connection, space, where)
        if (size > SMALL and not seen) or size * space.dimension * 4 > CACHE_BYTES:
            return None
        with self._lock:
            return self._cached.setdefault(key, CachedVectors(space.dimension))

    @staticmethod
    def _size(connection: apsw.Connection, space: VectorSpace, where: VectorField) -> int:
        sql = "SELECT count(*) FROM vectors WHERE space = ? AND field = ?"
        return number(connection, sql, space.key, FIELDS.index(where)) or 0

    def drop(self, spaces: Sequence[int]) -> None:
        """Forget these spaces, which were deleted."""
        gone = {(space, field) for space in spaces for field in FIELDS}
        with self._lock:
            self._asked -= gone
            for key in gone:
                self._forget(key)

    def _keep_in_budget(self, key: tuple[int, VectorField], cached: CachedVectors) -> None:
        with self._lock:
            if self._cached.get(key) is not cached:
                return
            size = cached.arrays.matrix.nbytes + cached.arrays.codes.nbytes
            self._size_of_all += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            while len(self._cached) > 1 and self._size_of_all > CACHE_BYTES:
                self._forget(next(iter(self._cached)))

    def _forget(self, key: tuple[int, VectorField]) -> None:
        self._cached.pop(key, None)
        self._size_of_all -= self._sizes.pop(key, 0)
