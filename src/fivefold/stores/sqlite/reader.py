"""A namespace as a recall sees it, in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fivefold.stores.protocol import Space
from fivefold.stores.queries import Arm, Composite, Filter, FusedHit, Walk
from fivefold.stores.sql.reader import SqlReader
from fivefold.stores.sql.recall_log import RecallLog
from fivefold.stores.sqlite import fused_search, lexical
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.vectors import stored
from fivefold.stores.sqlite.walk import walk
from fivefold.values.trace import RouteHit
from fivefold.values.vectors import Field, Matrix, Vector

if TYPE_CHECKING:
    from fivefold.stores.sqlite.store import SqliteStore


class SqliteReader(SqlReader):
    """Searches with FTS5, the vectors held in memory, and statements that join both."""

    def __init__(self, store: SqliteStore, namespace: str) -> None:
        super().__init__(namespace, SQLITE)
        self._store = store

    def exists(self) -> bool:
        return self._key() is not None

    def dense(self, space: Space, where: Field, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        with self._store.connections.reader() as connection:
            return self._store.held.search(connection, space, where, vector, depth, keep)

    def lexical(self, lexemes: Sequence[str], depth: int, keep: Filter) -> list[RouteHit]:
        key = self._key()
        if key is None or not lexemes:
            return []
        with self._store.connections.reader() as connection:
            return lexical.search(connection, key, lexemes, depth, keep)

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        """The latest memories that hold any of these lexemes, unranked."""
        key = self._key()
        if key is None or not lexemes:
            return []
        with self._store.connections.reader() as connection:
            return lexical.latest(connection, key, lexemes, limit)

    def vocabulary(self, most: int) -> list[str]:
        """The lexemes that stand in most memories, ties in their own order."""
        key = self._key()
        if key is None:
            return []
        with self._store.connections.reader() as connection:
            return lexical.vocabulary(connection, key, most)

    def patterns(self, space: Space, where: Field, vector: Vector, size: int, keep: Filter) -> Matrix:
        with self._store.connections.reader() as connection:
            return self._store.held.patterns(connection, space, where, vector, size, keep)

    def rrf(
        self, space: Space | None, vector: Vector | None, lexemes: Sequence[str], arms: Sequence[Arm], k: float
    ) -> list[FusedHit]:
        key = self._key()
        if key is None:
            return []
        with self._store.connections.reader() as connection:
            return fused_search.rrf(connection, key, space, vector, lexemes, arms, k)

    def composite(self, space: Space, vector: Vector, how: Composite) -> list[FusedHit]:
        with self._store.connections.reader() as connection:
            return fused_search.composite(connection, space, vector, how)

    def vectors(self, space: Space, rows: Sequence[int]) -> dict[int, Vector]:
        """What these memories say as a whole, turns, notes and sessions alike."""
        with self._store.connections.reader() as connection:
            return stored(connection, space, rows, ["full", "session"])

    def walk(self, roots: Sequence[tuple[int, float]], how: Walk, depth: int) -> list[RouteHit]:
        key = self._key()
        if key is None or not roots:
            return []
        with self._store.connections.reader() as connection:
            return walk(connection, key, roots, how, depth)

    @property
    def _log(self) -> RecallLog:
        return self._store.recalls

    def _key(self) -> int | None:
        return self._store.key_of(self.namespace)

    def _held(self, space: Space) -> int:
        return self._count("vectors WHERE space = :space", space=space.key)

    def _size(self) -> int:
        return self._store.size()

    def _rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        key = self._key()
        if key is None:
            return []
        with self._store.connections.reader() as connection:
            return connection.execute(sql, {"ns": key, **values}).fetchall()
