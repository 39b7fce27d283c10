"""Dense search: small namespaces are cached in memory as they are, large ones by short codes.

Either agrees with the file, also when other processes write: before each search it reads the vectors added since the
last one, and drops those removed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import perf_counter

import apsw
import numpy as np

from fivefold.stores.records import DensePreparation, VectorSpace
from fivefold.stores.sql.scope import Gate
from fivefold.stores.sqlite import codes
from fivefold.stores.sqlite.codes import CodedVectors
from fivefold.stores.sqlite.connection import number, one_snapshot, rows
from fivefold.stores.sqlite.dialect import REMOVALS, table_of
from fivefold.stores.sqlite.scan import Arrays, CodeArrays, Rows, closest
from fivefold.stores.sqlite.vectors import knn, stored, stored_passages
from fivefold.text.lexemes import empty_text_caches
from fivefold.values.recall_trace import RouteHit, new_hit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

# The vectors of a field in memory as they are, for an exact search.

_CHANGES = (
    "SELECT coalesce((SELECT count FROM removals WHERE space = ?1 AND field = ?2), 0), "
    "EXISTS (SELECT 1 FROM vectors WHERE space = ?1 AND field = ?2 AND id > ?3)"
)


class CachedVectors:
    """The vectors of one field of one space. Arrays are replaced or grown, never changed under a reader."""

    def __init__(self, dimension: int) -> None:
        self.arrays: Arrays = Arrays.empty(0, dimension)
        self.size: int = 0
        self.last_id: int = 0
        self.removals: int = 0
        self.in_order = True
        """True if the rows of the memories rise, each once."""
        self.lock: threading.Lock = threading.Lock()

    @property
    def bytes(self) -> int:
        return self.arrays.matrix.nbytes + self.arrays.codes.nbytes

    def search(self, vector: Vector, depth: int, keep: Gate) -> list[RouteHit]:
        if not self.size:
            return []
        cached, positions = self._filtered(keep)
        order, scores = closest(cached, vector, depth, positions)
        found = zip(cached.memories[order].tolist(), scores.tolist(), cached.parts[order].tolist(), strict=True)
        return [new_hit(row, score, part=part) for row, score, part in found]

    def patterns(self, vector: Vector, size: int, keep: Gate) -> Matrix:
        cached, positions = self._filtered(keep)
        return cached.matrix[closest(cached, vector, size, positions)[0]]

    def vectors_of(self, memories: Sequence[int]) -> dict[int, Vector]:
        """The vectors of those of the memories that can be found at once."""
        with self.lock:
            cached, in_order = self.arrays.first(self.size), self.in_order
        if not in_order or not len(cached.ids) or not memories:
            return {}
        places = np.searchsorted(cached.memories, memories).clip(max=len(cached.ids) - 1)
        known, matrix = cached.memories[places].tolist(), cached.matrix.view()
        matrix.flags.writeable = False
        return {
            row: matrix[place]
            for row, found, place in zip(memories, known, places.tolist(), strict=True)
            if row == found
        }

    def passages_of(self, memories: Sequence[int]) -> dict[int, Matrix]:
        with self.lock:
            cached = self.arrays.first(self.size)
        if not len(cached.ids):
            return {}
        places = np.flatnonzero(np.isin(cached.memories, memories))
        places = places[np.lexsort((cached.parts[places], cached.memories[places]))]
        rows, starts = np.unique(cached.memories[places], return_index=True)
        return dict(zip(rows.tolist(), np.split(cached.matrix[places], starts[1:]), strict=True)) if len(rows) else {}

    def _filtered(self, keep: Gate) -> tuple[Arrays, Rows | None]:
        with self.lock:
            cached = self.arrays.first(self.size)
        if keep.rows is None:
            return cached, np.flatnonzero(np.isin(cached.types, keep.type_codes)) if keep.types else None
        positions = np.flatnonzero(np.isin(cached.memories, keep.rows.rows))
        return cached, positions[np.isin(cached.types[positions], keep.type_codes)] if keep.types else positions

    def catch_up(self, connection: apsw.Connection, space: VectorSpace, where: VectorField) -> None:
        code = FIELDS.index(where)
        with self.lock:
            ((count, added),) = rows(connection, _CHANGES, space.key, code, self.last_id)
            if not added and count == self.removals:  # mostly so, as one short statement says
                return
            with one_snapshot(connection):
                removals = number(connection, REMOVALS, space.key, code) or 0
                if removals != self.removals and self.size:
                    self._drop_removed(connection, space.key, code)
                    empty_text_caches()  # another process may have forgotten something
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
        tail = self.arrays.memories[max(0, self.size - 1) : end]
        self.in_order = self.in_order and bool((tail[1:] > tail[:-1]).all())
        self.size, self.last_id = end, max(ids)


SMALL_SIZE = 5_000
"""A namespace up to this size is cached in memory from its first recall, a larger one from its second."""

CACHE_BYTES = 1 << 30
"""Maximum bytes of vectors that all namespaces together may cache; the least recently used go first."""

MAX_UNCODED = 32 * codes.BLOCK
"""Maximum number of vectors without a code that are read with the codes; if there are more, the file is scanned."""

Key = tuple[int, VectorField]
Build = Callable[[VectorSpace, VectorField], None]
"""Begins to pack the codes of a field, and returns at once."""


class VectorCache:
    """The namespaces cached in memory, within one budget for all."""

    def __init__(self) -> None:
        self.build: Build | None = None
        self._cached: OrderedDict[Key, CachedVectors | CodedVectors] = OrderedDict()
        self._asked: set[Key] = set()
        self._sizes: dict[Key, int] = {}
        self._size_of_all = 0
        self._lock = threading.Lock()

    def prepare(self, connection: apsw.Connection, space: VectorSpace, where: VectorField) -> DensePreparation:
        """Read the codes of a large field before its first search; says what was done and how long it took."""
        with self._lock:
            if (space.key, where) in self._cached:
                return DensePreparation()
        size = codes.count_after(connection, space.key, FIELDS.index(where))
        if size <= codes.exact_limit(space.dimension):
            return DensePreparation()
        start = perf_counter()
        cached = self._cached_vectors(connection, space, where)
        if not isinstance(cached, CodedVectors):
            return DensePreparation(f"{size:,} vectors have no codes in memory, so the file is scanned", scans=True)
        cached.catch_up(connection)
        self._keep_in_budget((space.key, where), cached)
        return DensePreparation(f"the codes of {size:,} vectors were read in {(perf_counter() - start) * 1000:.0f} ms")

    def search(
        self,
        connection: apsw.Connection,
        space: VectorSpace,
        where: VectorField,
        vector: Vector,
        depth: int,
        keep: Gate,
    ) -> list[RouteHit]:
        cached = self._cached_vectors(connection, space, where)
        if cached is None:
            return knn(connection, space, where, vector, depth, keep)
        if isinstance(cached, CodedVectors):
            hits = cached.search(connection, vector, depth, keep)
        else:
            cached.catch_up(connection, space, where)
            hits = cached.search(vector, depth, keep)
        self._keep_in_budget((space.key, where), cached)
        return hits

    def patterns(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Gate
    ) -> Matrix:
        cached = self._cached_vectors(connection, space, where)
        if cached is None:
            near = knn(connection, space, where, vector, size, keep)
            vectors = stored(connection, space, [hit.row for hit in near], [where])
            return np.array(list(vectors.values()), dtype=np.float32)
        if isinstance(cached, CodedVectors):
            return cached.patterns(connection, vector, size, keep)
        cached.catch_up(connection, space, where)
        return cached.patterns(vector, size, keep)

    def vectors(self, connection: apsw.Connection, space: VectorSpace, memories: Sequence[int]) -> dict[int, Vector]:
        """The vectors of these memories, from memory if the cached ones are current."""
        with self._lock:
            cached = self._cached.get((space.key, "full"))
        known: dict[int, Vector] = {}
        if isinstance(cached, CachedVectors):
            cached.catch_up(connection, space, "full")
            known = cached.vectors_of(memories)
        if len(known) == len(memories):
            return known
        rest = [row for row in memories if row not in known]
        return known | stored(connection, space, rest, ["full", "session"])

    def passages(self, connection: apsw.Connection, space: VectorSpace, memories: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of all passages of these memories in their order, from memory if they are cached as they are."""
        with self._lock:
            cached = self._cached.get((space.key, "passage"))
        if not isinstance(cached, CachedVectors):
            return stored_passages(connection, space, memories)
        cached.catch_up(connection, space, "passage")
        return cached.passages_of(memories)

    def _cached_vectors(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField
    ) -> CachedVectors | CodedVectors | None:
        key = (space.key, where)
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                cached = self._cached[key]
                if isinstance(cached, CodedVectors) or cached.size <= 2 * codes.exact_limit(space.dimension):
                    return cached
                self._forget(key)  # it has grown
            seen = key in self._asked
            self._asked.add(key)
        size = codes.count_after(connection, space.key, FIELDS.index(where))
        fresh = self._empty(connection, space, where, size, seen)
        if fresh is None:
            return None
        with self._lock:
            return self._cached.setdefault(key, fresh)

    def _empty(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField, size: int, seen: bool
    ) -> CachedVectors | CodedVectors | None:
        """An empty cache for a field of that size; None if the file is scanned."""
        if size <= codes.exact_limit(space.dimension):
            fits = (size <= SMALL_SIZE or seen) and size * space.dimension * 4 <= CACHE_BYTES
            return CachedVectors(space.dimension) if fits else None
        if size * CodeArrays.bytes_each(space.dimension) > CACHE_BYTES:
            return None
        field = FIELDS.index(where)
        last = codes.last_packed(connection, space.key, field)
        if codes.count_after(connection, space.key, field, last) > MAX_UNCODED:
            if self.build is not None:
                self.build(space, where)
            return None
        return CodedVectors(space, where)

    def drop(self, spaces: Sequence[int]) -> None:
        """Forget these spaces, which were deleted."""
        gone = {(space, field) for space in spaces for field in FIELDS}
        with self._lock:
            self._asked -= gone
            for key in gone:
                self._forget(key)

    def _keep_in_budget(self, key: Key, cached: CachedVectors | CodedVectors) -> None:
        with self._lock:
            if self._cached.get(key) is not cached:
                return
            size = cached.bytes
            self._size_of_all += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            while len(self._cached) > 1 and self._size_of_all > CACHE_BYTES:
                self._forget(next(iter(self._cached)))

    def _forget(self, key: Key) -> None:
        self._cached.pop(key, None)
        self._size_of_all -= self._sizes.pop(key, 0)
