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

from fivefold.stores.protocol import DensePreparation, VectorSpace
from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite import code_blocks
from fivefold.stores.sqlite.cached_vectors import CachedVectors
from fivefold.stores.sqlite.coded_vectors import CodedVectors
from fivefold.stores.sqlite.sign_scan import CodeArrays
from fivefold.stores.sqlite.vectors import knn, stored
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

SMALL = 5_000
"""A namespace up to this size is cached in memory from its first recall, a larger one from its second."""

CACHE_BYTES = 1 << 30
"""How many bytes of vectors all namespaces together may cache; the least recently used go first."""

UNPACKED = 32 * code_blocks.BLOCK
"""Up to this many vectors without a code are read with the codes; where there are more, the file is scanned."""

Key = tuple[int, VectorField]
Build = Callable[[VectorSpace, VectorField], None]
"""Begins to pack the codes of a field, and returns at once."""


class VectorCache:
    """Which namespaces are cached in memory, within one budget for all."""

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
        size = code_blocks.count_after(connection, space.key, FIELDS.index(where))
        if size <= code_blocks.exact_limit(space.dimension):
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
        keep: Kept,
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
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Kept
    ) -> Matrix:
        """The vectors nearest to `vector`, one a row."""
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
        """The vectors of these memories, from memory where they are cached as they are."""
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

    def _cached_vectors(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField
    ) -> CachedVectors | CodedVectors | None:
        key = (space.key, where)
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                cached = self._cached[key]
                if isinstance(cached, CodedVectors) or cached.size <= 2 * code_blocks.exact_limit(space.dimension):
                    return cached
                self._forget(key)  # it has grown
            seen = key in self._asked
            self._asked.add(key)
        size = code_blocks.count_after(connection, space.key, FIELDS.index(where))
        fresh = self._empty(connection, space, where, size, seen)
        if fresh is None:
            return None
        with self._lock:
            return self._cached.setdefault(key, fresh)

    def _empty(
        self, connection: apsw.Connection, space: VectorSpace, where: VectorField, size: int, seen: bool
    ) -> CachedVectors | CodedVectors | None:
        """How a field of that size is cached; None where the file is scanned."""
        if size <= code_blocks.exact_limit(space.dimension):
            fits = (size <= SMALL or seen) and size * space.dimension * 4 <= CACHE_BYTES
            return CachedVectors(space.dimension) if fits else None
        if size * CodeArrays.bytes_each(space.dimension) > CACHE_BYTES:
            return None
        field = FIELDS.index(where)
        last = code_blocks.last_packed(connection, space.key, field)
        if code_blocks.count_after(connection, space.key, field, last) > UNPACKED:
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
