"""What the searches of both databases share: the active vector space, and memories of a window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.protocol import SearchReader, VectorSpace
from fivefold.stores.sql.memory_times import find_events, find_within
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.spaces import SPACE_COLUMNS, space_of
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import Vector, VectorField


class SqlSearchReader(SearchReader):
    """Dense and lexical searches are each store's own."""

    def __init__(self, scope: ScopedReader) -> None:
        self._scope = scope
        self._sql = scope.sql

    @abstractmethod
    def count_vectors(self, space: VectorSpace) -> int:
        """How many vectors a space has."""

    def dense_each(
        self, space: VectorSpace, where: VectorField, vectors: Sequence[Vector], depth: int
    ) -> list[list[RouteHit]]:
        return [self.dense(space, where, vector, depth, EVERYTHING) for vector in vectors]

    def vector_space(self) -> VectorSpace | None:
        sql = f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = :ns AND state = 'active'"
        rows = self._scope.rows(sql)
        return space_of(rows[0]) if rows else None

    def temporal(
        self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING, *, named: bool = False
    ) -> list[RouteHit]:
        return find_events(self._scope, start, end, depth, keep, named=named)

    def within(self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING) -> list[RouteHit]:
        return find_within(self._scope, start, end, depth, keep)
