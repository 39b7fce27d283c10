"""A namespace as a recall sees it, in PostgreSQL. Every method is one round trip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fivefold.stores.postgres import fused_search, lexical, vectors
from fivefold.stores.postgres.dialect import POSTGRES
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.indexes import Indexes
from fivefold.stores.postgres.keys import namespace_key
from fivefold.stores.postgres.vectors import VectorCounts, search_each, text_of
from fivefold.stores.postgres.walk import KEPT_WALK, WALK, values_of
from fivefold.stores.protocol import VectorSpace
from fivefold.stores.queries import Arm, Composite, FusedHit, Walk
from fivefold.stores.sql.dialect import Values
from fivefold.stores.sql.exchanges import SIDES, texts_for
from fivefold.stores.sql.graph_reader import SqlGraphReader
from fivefold.stores.sql.kept_rows import ALL, Kept
from fivefold.stores.sql.reader import SqlReader
from fivefold.stores.sql.recall_log import RecallLog
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.search_reader import SqlSearchReader
from fivefold.stores.sql.spaces import space_of
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

ASKED = 100
"""Vectors that one statement searches for."""


class Ask(Protocol):
    """Runs one reading statement of a namespace, for which the statements in `first` set how it runs."""

    def __call__(
        self, key: int, sql: str, values: Values, first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]: ...


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """What the readers of a server share."""

    ask: Ask
    recalls: RecallLog
    options: Options
    indexes: Indexes
    iterative: bool
    """Whether pgvector can go on searching an index."""
    size: Callable[[], int]


class PostgresScopedReader(ScopedReader):
    """Every statement names its namespace, and runs in a transaction that can see no other (R12)."""

    def __init__(self, server: PostgresServer, namespace: str) -> None:
        super().__init__(namespace, POSTGRES, server.recalls)
        self.server = server
        self.ns = namespace_key(namespace)

    def key(self) -> int:
        return self.ns

    def exists(self) -> bool:
        return bool(self.rows("SELECT 1 FROM namespaces WHERE key = :ns"))

    def rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        return self.search(sql, values)

    def search(
        self, sql: str, values: Mapping[str, object], first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of one statement, for which the statements in `first` set how it runs."""
        return self.server.ask(self.ns, sql, {"ns": self.ns, **values}, first, binary)


class PostgresSearchReader(SqlSearchReader):
    """Every search is one statement in one round trip."""

    def __init__(self, scope: PostgresScopedReader) -> None:
        super().__init__(scope)
        self._search = scope.search
        self._server = scope.server
        self._ns = scope.ns
        self._counts: dict[int, dict[int, int]] | None = None
        self._ef_search: int | None = None

    def vector_space(self) -> VectorSpace | None:
        """The active space; the number of its vectors and `ef_search` are read with it: the next search needs them."""
        rows = self._scope.rows(
            "SELECT s.key, s.embedder, s.dimension, s.tokens, h.field, h.type, h.count, "
            "(SELECT (n.settings::json ->> 'ef_search')::int FROM namespaces n WHERE n.key = :ns) FROM spaces s "
            "LEFT JOIN held h ON h.namespace = :ns AND h.space = s.key WHERE s.namespace = :ns AND s.state = 'active'"
        )
        self._counts = {}
        for *_, field, type, count, self._ef_search in rows:
            if field is not None:
                self._counts.setdefault(field, {})[type] = count
        return space_of(rows[0]) if rows else None

    def dense(self, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        if where in SIDES:
            return self._dense_side(space, where, vector, depth, self._scope.kept_rows(keep))
        kept = self._scope.kept(keep)
        indexed = self._by_index(space, where, depth, kept)
        sql, values = vectors.search("nearest", space, where, depth, kept, indexed)
        rows = self._search(
            f"WITH {sql} SELECT memory, score, part FROM nearest ORDER BY score DESC, memory, part",
            {**values, "vector": vector},
            self._settings(indexed, depth),
        )
        return [RouteHit(row, score, part=part) for row, score, part in rows]

    def _dense_side(
        self, space: VectorSpace, side: VectorField, vector: Vector, depth: int, keep: Kept
    ) -> list[RouteHit]:
        indexed, texts_indexed = self._by_index(space, side, depth, keep), self._texts_by_index(space, depth)
        sql, values = fused_search.dense_side(space, side, depth, keep, indexed, self._has_vectors(side), texts_indexed)
        settings = self._settings(indexed or texts_indexed, texts_for(depth))
        return [RouteHit(row, score) for row, score in self._search(sql, {**values, "vector": vector}, settings)]

    def dense_each(
        self, space: VectorSpace, where: VectorField, vectors: Sequence[Vector], depth: int
    ) -> list[list[RouteHit]]:
        indexed = self._by_index(space, where, depth, ALL)
        sql, values = search_each(space, where, depth, indexed)
        found: list[list[RouteHit]] = [[] for _ in vectors]
        for start in range(0, len(vectors), ASKED):
            asked = [text_of(vector) for vector in vectors[start : start + ASKED]]
            rows = self._search(sql, {**values, "asked": asked}, self._settings(indexed, depth))
            for place, row, score, part in rows:
                found[start + place - 1].append(RouteHit(row, score, part=part))
        return found

    def lexical(
        self, lexemes: Sequence[str], depth: int, keep: Filter, *, sessions: bool = False, multiplied: bool = False
    ) -> list[RouteHit]:
        if not lexemes:
            return []
        sql, values = lexical.search("best", lexemes, self._ns, depth, self._scope.kept(keep), sessions, multiplied)
        rows = self._search(f"WITH {sql} SELECT memory, score FROM best ORDER BY score DESC, memory", values)
        return [RouteHit(row, score) for row, score in rows]

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        """The latest memories with any of these lexemes, unranked."""
        if not lexemes:
            return []
        rows = self._scope.rows(
            "SELECT memory FROM lexicon WHERE namespace = :ns AND keys && :keys::bigint[] "
            "ORDER BY memory DESC LIMIT :most",
            keys=lexical.keys_of(self._ns, False, lexemes),
            most=limit,
        )
        return [row for (row,) in rows]

    def vocabulary(self, most: int, prefix: str = "") -> list[str]:
        """The lexemes of most memories that begin with the prefix, ties in the order of the lexemes."""
        rows = self._scope.rows(
            "SELECT term FROM terms WHERE namespace = :ns AND NOT sessions AND starts_with(term, :prefix) "
            "ORDER BY documents DESC, term LIMIT :most",
            prefix=prefix,
            most=most,
        )
        return [term for (term,) in rows]

    def patterns(self, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Filter) -> Matrix:
        """The vectors nearest to `vector`, side by side."""
        kept = self._scope.kept(keep)
        indexed = self._by_index(space, where, size, kept)
        sql, values = vectors.nearby(space, where, size, kept, indexed)
        rows = self._search(sql, {**values, "vector": vector}, self._settings(indexed, size), binary=True)
        return np.array([vectors.vector_of(data) for (data,) in rows], dtype=np.float32)

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
        indexed = [
            space is not None
            and arm.field is not None
            and self._by_index(
                space, arm.field, texts_for(arm.depth) if arm.sessions else arm.depth, ALL if arm.sessions else kept
            )
            for arm in arms
        ]
        has_vectors = [arm.field is None or self._has_vectors(arm.field) for arm in arms]
        deepest = max(arm.depth for arm in arms)
        sided = space is not None and any(arm.field in SIDES for arm in arms)
        texts_indexed = sided and space is not None and self._texts_by_index(space, deepest)
        statement = fused_search.rrf(
            self._ns, space, vector, lexemes, arms, k, indexed, has_vectors, kept, texts_indexed
        )
        if statement is None:
            return []
        wide = sided or any(arm.sessions for arm in arms)
        settings = self._settings(any(indexed) or texts_indexed, texts_for(deepest) if wide else deepest)
        rows = self._search(*statement, settings)
        return [FusedHit(arms[arm].route, *rest) for arm, *rest in rows]

    def composite(
        self, space: VectorSpace, vector: Vector, how: Composite, keep: Filter = EVERYTHING
    ) -> list[FusedHit]:
        kept = self._scope.kept_rows(keep)
        indexed = self._by_index(space, "full", how.depth, kept)
        sql, values = fused_search.composite(self._ns, space, vector, how, indexed, kept)
        rows = self._search(sql, values, self._settings(indexed, how.depth))
        routes = fused_search.routes_of(how)
        return [FusedHit(routes[arm], *rest) for arm, *rest in rows]

    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
        """The vector of the full text, or of the session for a session memory."""
        records = self._search(
            "SELECT memory, embedding FROM vectors WHERE namespace = :ns AND space = :space "
            f"AND field IN ({FIELDS.index('full')}, {FIELDS.index('session')}) AND memory = ANY(:rows)",
            {"space": space.key, "rows": list(rows)},
            binary=True,
        )
        return {row: vectors.vector_of(data) for row, data in records}

    def token_vectors(self, space: VectorSpace, passages: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        if not space.tokens or not passages:
            return {}
        rows, parts = zip(*passages, strict=True)
        records = self._search(
            "SELECT t.memory, t.part, t.tokens FROM unnest(:rows::bigint[], :parts::bigint[]) AS wanted(memory, part) "
            "JOIN tokens t ON t.namespace = :ns AND t.space = :space AND t.memory = wanted.memory "
            "AND t.part = wanted.part",
            {"space": space.key, "rows": list(rows), "parts": list(parts)},
            binary=True,
        )
        return {(row, part): tokens for row, part, tokens in records}

    def passage_vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Matrix]:
        if not rows:
            return {}
        records = self._search(
            "SELECT memory, embedding FROM vectors WHERE namespace = :ns AND space = :space "
            f"AND field = {FIELDS.index('passage')} AND memory = ANY(:rows) ORDER BY memory, part",
            {"space": space.key, "rows": list(rows)},
            binary=True,
        )
        parts: dict[int, list[Vector]] = {}
        for row, data in records:
            parts.setdefault(row, []).append(vectors.vector_of(data))
        return {row: np.stack(of_row) for row, of_row in parts.items()}

    def count_vectors(self, space: VectorSpace) -> int:
        if self._counts is None:
            self.vector_space()
        return sum(sum(types.values()) for types in (self._counts or {}).values())

    def _has_vectors(self, where: VectorField) -> bool:
        """Whether any memory has a vector of that field."""
        if self._counts is None:
            self.vector_space()
        return any((self._counts or {}).get(FIELDS.index(where), {}).values())

    def _settings(self, indexed: bool, depth: int) -> tuple[str, ...]:
        if not indexed:
            return ()
        return vectors.settings(depth, self._ef_search or self._server.options.hnsw_ef_search, self._server.iterative)

    def _texts_by_index(self, space: VectorSpace, depth: int) -> bool:
        """Whether the index serves the search of whole texts by which sides of exchanges are found."""
        return self._by_index(space, "full", texts_for(depth), ALL)

    def _by_index(self, space: VectorSpace, where: VectorField, depth: int, keep: Kept) -> bool:
        """Whether a search goes through the HNSW index rather than over all vectors."""
        if self._counts is None:
            self.vector_space()
        own = (self._counts or {}).get(FIELDS.index(where), {})
        index = self._server.indexes.get((where, space.dimension))
        return vectors.by_index(VectorCounts(own, index or 0, index is not None), keep, depth, self._server.options)


class PostgresGraphReader(SqlGraphReader):
    def __init__(self, scope: PostgresScopedReader) -> None:
        super().__init__(scope)
        self._search = scope.search
        self._ns = scope.ns

    def walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, keep: Filter = EVERYTHING
    ) -> list[RouteHit]:
        """Memories that mention an entity in reach, by their best path; the path is the hit's note."""
        if not roots:
            return []
        kept = self._scope.kept_rows(keep)
        values = {**values_of(self._ns, roots, how, depth), **kept.values("kept")}
        return [
            RouteHit(memory, score, path if hop else f"mentions {path}", how.far if hop else 1.0)
            for memory, score, hop, path in self._search(WALK if kept.rows is None else KEPT_WALK, values)
        ]


def reader_of(server: PostgresServer, namespace: str) -> SqlReader:
    scope = PostgresScopedReader(server, namespace)
    return SqlReader(scope, PostgresSearchReader(scope), PostgresGraphReader(scope), server.size)
