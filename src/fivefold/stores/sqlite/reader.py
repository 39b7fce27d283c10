"""A namespace as a recall sees it, in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import apsw

from fivefold.stores.protocol import DensePreparation, VectorSpace
from fivefold.stores.queries import Arm, Composite, FusedHit, Walk
from fivefold.stores.sql.exchanges import SIDES
from fivefold.stores.sql.graph_reader import SqlGraphReader
from fivefold.stores.sql.reader import SqlReader
from fivefold.stores.sql.recall_log import RecallLog
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.search_reader import SqlSearchReader
from fivefold.stores.sqlite import fused_search, lexical_search
from fivefold.stores.sqlite.connection import Connections
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.lexical_search import PostingCache
from fivefold.stores.sqlite.token_cache import TokenCache
from fivefold.stores.sqlite.vector_cache import VectorCache
from fivefold.stores.sqlite.vectors import stored_passages
from fivefold.stores.sqlite.walk import walk
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import Matrix, Vector, VectorField

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """What the readers of a file share."""

    connections: Connections
    vector_cache: VectorCache
    token_cache: TokenCache
    posting_cache: PostingCache
    recalls: RecallLog
    key_of: Callable[[str], int | None]
    size: Callable[[], int]


class SqliteScopedReader(ScopedReader):
    """Takes a connection to the file for each statement."""

    def __init__(self, file: SqliteFile, namespace: str) -> None:
        super().__init__(namespace, SQLITE, file.recalls)
        self.file = file
        self._key: int | None = None

    def key(self) -> int | None:
        """Looked up once for each reader, which lives as long as one operation."""
        if self._key is None:
            self._key = self.file.key_of(self.namespace)
        return self._key

    def exists(self) -> bool:
        return self.key() is not None

    def rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        key = self.key()
        if key is None:
            return []
        with self.file.connections.reader() as connection:
            return connection.execute(sql, {"ns": key, **values}).fetchall()

    def find(self, search: Callable[[apsw.Connection, int], list[Answer]]) -> list[Answer]:
        """What a search finds, given a connection and the namespace's key; nothing where the namespace is new."""
        key = self.key()
        if key is None:
            return []
        with self.file.connections.reader() as connection:
            return search(connection, key)


class SqliteSearchReader(SqlSearchReader):
    """Searches by postings, by vectors cached in memory, and by statements that join both."""

    def __init__(self, scope: SqliteScopedReader) -> None:
        super().__init__(scope)
        self._find = scope.find
        self._file = scope.file

    def prepare_dense(self, space: VectorSpace, where: VectorField) -> DensePreparation:
        with self._file.connections.reader() as connection:
            return self._file.vector_cache.prepare(connection, space, where)

    def dense(self, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        if where in SIDES:
            rows = self._scope.kept_rows(keep)
            return self._find(
                lambda connection, key: fused_search.dense_side(connection, key, space, where, vector, depth, rows)
            )
        kept = self._scope.kept(keep)
        with self._file.connections.reader() as connection:
            return self._file.vector_cache.search(connection, space, where, vector, depth, kept)

    def lexical(
        self, lexemes: Sequence[str], depth: int, keep: Filter, *, sessions: bool = False, multiplied: bool = False
    ) -> list[RouteHit]:
        if not lexemes:
            return []
        kept = self._scope.kept(keep)
        return self._find(
            lambda connection, key: lexical_search.search(
                connection, self._file.posting_cache, key, lexemes, depth, kept, sessions, multiplied
            )
        )

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        if not lexemes:
            return []
        return self._find(lambda connection, key: lexical_search.latest(connection, key, lexemes, limit))

    def vocabulary(self, most: int, prefix: str = "") -> list[str]:
        return self._find(lambda connection, key: lexical_search.vocabulary(connection, key, most, prefix))

    def patterns(self, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Filter) -> Matrix:
        kept = self._scope.kept(keep)
        with self._file.connections.reader() as connection:
            return self._file.vector_cache.patterns(connection, space, where, vector, size, kept)

    def rrf(
        self,
        space: VectorSpace | None,
        vector: Vector | None,
        lexemes: Sequence[str],
        arms: Sequence[Arm],
        k: float,
        keep: Filter = EVERYTHING,
    ) -> list[FusedHit]:
        kept = self._scope.kept_rows(keep)
        return self._find(
            lambda connection, key: fused_search.rrf(
                connection, self._file.posting_cache, key, space, vector, lexemes, arms, k, kept
            )
        )

    def composite(
        self, space: VectorSpace, vector: Vector, how: Composite, keep: Filter = EVERYTHING
    ) -> list[FusedHit]:
        kept = self._scope.kept_rows(keep)
        with self._file.connections.reader() as connection:
            return fused_search.composite(connection, space, vector, how, kept)

    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
        with self._file.connections.reader() as connection:
            return self._file.vector_cache.vectors(connection, space, rows)

    def token_vectors(self, space: VectorSpace, passages: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        if not space.tokens or not passages:
            return {}
        with self._file.connections.reader() as connection:
            return self._file.token_cache.read(connection, space, passages)

    def passage_vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Matrix]:
        with self._file.connections.reader() as connection:
            return stored_passages(connection, space, rows)

    def count_vectors(self, space: VectorSpace) -> int:
        return self._scope.count("vectors WHERE space = :space", space=space.key)


class SqliteGraphReader(SqlGraphReader):
    def __init__(self, scope: SqliteScopedReader) -> None:
        super().__init__(scope)
        self._find = scope.find

    def walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, keep: Filter = EVERYTHING
    ) -> list[RouteHit]:
        if not roots:
            return []
        kept = self._scope.kept_rows(keep)
        return self._find(lambda connection, key: walk(connection, key, roots, how, depth, kept))


def reader_of(file: SqliteFile, namespace: str) -> SqlReader:
    scope = SqliteScopedReader(file, namespace)
    return SqlReader(scope, SqliteSearchReader(scope), SqliteGraphReader(scope), file.size)
