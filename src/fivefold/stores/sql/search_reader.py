"""What the searches of both databases share: the active vector space, and memories of a window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.protocol import SearchReader, VectorSpace
from fivefold.stores.sql.memory_times import find_within
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.spaces import SPACE_COLUMNS, space_of
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.times import to_micros
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

    def temporal(self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING) -> list[RouteHit]:
        """Events of the window; when there are too many, those nearest to its centre, else as they happened."""
        if keep.types and "event" not in keep.types:
            return []
        first, last, kept = to_micros(start), to_micros(end), self._scope.kept(keep)
        source = self._sql.events if kept.rows is None or not kept.rows.few else "memories"
        rows = self._scope.rows(
            f"SELECT row, event_at FROM {source} WHERE namespace = :ns AND type = 'event' "
            f"AND event_at >= :first AND event_at < :last{kept.among('row', 'kept')} "
            "ORDER BY abs(event_at - :centre), row LIMIT :most",
            first=first,
            last=last,
            centre=(first + last) // 2,
            most=depth + 1,
            **kept.values("kept"),
        )
        if len(rows) <= depth:
            rows.sort(key=lambda item: (item[1], item[0]))
        return [RouteHit(row, 1.0) for row, _ in rows[:depth]]

    def within(self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING) -> list[RouteHit]:
        return find_within(self._scope, start, end, depth, keep)
