"""A namespace as a recall sees it, in PostgreSQL. Every method is one statement in one round trip.

The graph search is one bounded recursive statement from the question's entities to memories (R6). Of all ways to an
entity in the same number of hops only the best is followed further: a way that begins worse and goes on the same ends
worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.stores.interface import Reader
from fivefold.stores.postgres import lexical, vectors
from fivefold.stores.postgres.dialect import POSTGRES, namespace_key
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.maintenance import Indexes
from fivefold.stores.postgres.vectors import VectorCounts, search_each, text_of
from fivefold.stores.records import Arm, Composite, FusedHit, VectorSpace, Walk
from fivefold.stores.sql.feedback import RecallLog
from fivefold.stores.sql.graph import GraphReader
from fivefold.stores.sql.scope import ALL, Gate, ReadScope
from fivefold.stores.sql.search import (
    SIDES,
    TOTAL,
    SearchReader,
    best_of_side,
    composite_of,
    sessions_of,
    texts_for,
    turns_near,
)
from fivefold.stores.tables import space_of
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

_REACHED = """
WITH RECURSIVE walk(entity, hop, factor, path, seen) AS (
  SELECT e.key, 0, root.factor, e.name::text, ARRAY[e.key]
  FROM unnest(:roots::bigint[], :factors::float8[]) AS root(entity, factor)
  JOIN entities e ON e.namespace = :ns AND e.key = root.entity
  UNION ALL
  SELECT entity, hop, factor, path, seen FROM (
    SELECT *, row_number() OVER (PARTITION BY entity ORDER BY factor DESC, path COLLATE "C") AS nth FROM (
      SELECT o.key AS entity, walk.hop + 1 AS hop,
             walk.factor * d.confidence * CASE WHEN d.valid_to < :now::bigint THEN :expired::float8 ELSE 1.0 END
               * CASE d.kind WHEN 'structural' THEN :structural::float8 WHEN 'semantic' THEN :semantic::float8
                 ELSE :lifecycle::float8 END AS factor,
             walk.path || CASE WHEN d.source = walk.entity THEN ' —' || d.relation || '→ '
                          ELSE ' ←' || d.relation || '— ' END || o.name AS path,
             walk.seen || o.key AS seen
      FROM walk
      CROSS JOIN LATERAL (
        (SELECT * FROM edges WHERE namespace = :ns AND source = walk.entity
         ORDER BY confidence DESC, key DESC LIMIT :fan)
        UNION ALL
        (SELECT * FROM edges WHERE namespace = :ns AND target = walk.entity
         ORDER BY confidence DESC, key DESC LIMIT :fan)) d
      JOIN entities o ON o.namespace = :ns AND o.key = CASE WHEN d.source = walk.entity THEN d.target ELSE d.source END
      WHERE walk.hop < :hops AND NOT o.key = ANY(walk.seen)) step) best
  WHERE nth = 1
),
scored AS (
  SELECT entity, hop, path, factor * (:hop_scores::float8[])[hop + 1] AS score FROM walk
),
reached AS MATERIALIZED (
  SELECT entity, hop, path, score, row_number() OVER (ORDER BY score DESC, hop, path COLLATE "C", entity) AS place
  FROM (SELECT DISTINCT ON (entity) * FROM scored ORDER BY entity, score DESC, hop, path COLLATE "C") best
),
"""

WALK = f"""{_REACHED}
taken AS MATERIALIZED (
  SELECT r.*, sum(least(e.links, :each)) OVER (ORDER BY r.place) - least(e.links, :each) AS before
  FROM reached r JOIN entities e ON e.namespace = :ns AND e.key = r.entity
),
mentioned AS (
  SELECT l.memory, min(r.place) AS place, round(sum(r.score)::numeric, 9) AS support,
         bool_or(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.namespace = :ns AND d.key = s.edge
                         WHERE s.namespace = :ns AND s.memory = l.memory
                         AND (d.source = r.entity OR d.target = r.entity))) AS states
  FROM taken r CROSS JOIN LATERAL (
    SELECT memory FROM links WHERE namespace = :ns AND entity = r.entity ORDER BY memory DESC LIMIT :each) l
  WHERE r.before < :enough GROUP BY l.memory
)
SELECT m.memory, r.score, r.hop, r.path FROM mentioned m JOIN reached r ON r.place = m.place
ORDER BY r.score DESC, m.states DESC, m.support DESC, m.memory DESC LIMIT :depth
"""

KEPT_WALK = f"""{_REACHED}
linked AS MATERIALIZED (
  SELECT r.place, r.entity, r.score, l.memory,
         row_number() OVER (PARTITION BY r.place ORDER BY l.memory DESC) AS nth
  FROM reached r JOIN links l ON l.namespace = :ns AND l.entity = r.entity
  WHERE l.memory = ANY(:kept::bigint[])
),
shown AS MATERIALIZED (
  SELECT place, entity, score, memory, count(*) OVER (ORDER BY place) - count(*) OVER (PARTITION BY place) AS before
  FROM linked WHERE nth <= :each
),
mentioned AS (
  SELECT l.memory, min(l.place) AS place, round(sum(l.score)::numeric, 9) AS support,
         bool_or(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.namespace = :ns AND d.key = s.edge
                         WHERE s.namespace = :ns AND s.memory = l.memory
                         AND (d.source = l.entity OR d.target = l.entity))) AS states
  FROM shown l WHERE l.before < :enough GROUP BY l.memory
)
SELECT m.memory, r.score, r.hop, r.path FROM mentioned m JOIN reached r ON r.place = m.place
ORDER BY r.score DESC, m.states DESC, m.support DESC, m.memory DESC LIMIT :depth
"""
"""The walk among the memories that a filter leaves: each entity gives its latest ones of these."""

STATEMENT_VECTORS = 100
"""Vectors that one statement searches for."""

Statement = tuple[str, dict[str, Any]]
"""A part of a statement, and its parameters."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    ask: Callable[..., list[tuple[Any, ...]]]
    """Runs one reading statement of a namespace, for which the statements given last set how it runs."""
    recalls: RecallLog
    options: Options
    indexes: Indexes
    iterative: bool
    """True if pgvector can go on searching an index."""
    size: Callable[[], int]


class PostgresScope(ReadScope):
    """Every statement names its namespace, and runs in a transaction that can see no other (R12)."""

    def __init__(self, server: PostgresServer, namespace: str) -> None:
        super().__init__(namespace, POSTGRES)
        self.server = server
        self._key = namespace_key(namespace)

    def key(self) -> int:
        return self._key

    def exists(self) -> bool:
        return bool(self.rows("SELECT 1 FROM namespaces WHERE key = :ns"))

    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.search(sql, values)

    def search(
        self, sql: str, values: Mapping[str, Any], first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of one statement, for which the statements in `first` set how it runs."""
        return self.server.ask(self._key, sql, {"ns": self._key, **values}, first, binary)


class PostgresSearchReader(SearchReader):
    """Searches by GIN, by HNSW or over all vectors, and by statements that join them."""

    _scope: PostgresScope

    def __init__(self, scope: PostgresScope) -> None:
        super().__init__(scope)
        self._search = scope.search
        self._server = scope.server
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
            rows = self._scope.kept_rows(keep)
            texts_indexed = self._texts_by_index(space, depth)
            turns, values = self._turns(space, depth, rows, texts_indexed)
            best, more = self._side("best", space, where, depth, rows)
            found = self._search(
                f"WITH {turns}, {best} SELECT memory, score FROM best ORDER BY score DESC, memory",
                {**values, **more, "vector": vector},
                self._settings(texts_indexed or self._by_index(space, where, depth, rows), texts_for(depth)),
            )
            return [RouteHit(row, score) for row, score in found]
        kept = self._scope.kept(keep)
        indexed = self._by_index(space, where, depth, kept)
        sql, values = vectors.search("nearest", space, where, depth, kept, indexed)
        found = self._search(
            f"WITH {sql} SELECT memory, score, part FROM nearest ORDER BY score DESC, memory, part",
            {**values, "vector": vector},
            self._settings(indexed, depth),
        )
        return [RouteHit(row, score, part=part) for row, score, part in found]

    def dense_each(
        self, space: VectorSpace, where: VectorField, vectors: Sequence[Vector], depth: int
    ) -> list[list[RouteHit]]:
        indexed = self._by_index(space, where, depth, ALL)
        sql, values = search_each(space, where, depth, indexed)
        found: list[list[RouteHit]] = [[] for _ in vectors]
        for start in range(0, len(vectors), STATEMENT_VECTORS):
            asked = [text_of(vector) for vector in vectors[start : start + STATEMENT_VECTORS]]
            rows = self._search(sql, {**values, "asked": asked}, self._settings(indexed, depth))
            for place, row, score, part in rows:
                found[start + place - 1].append(RouteHit(row, score, part=part))
        return found

    def lexical(
        self, lexemes: Sequence[str], depth: int, keep: Filter, *, sessions: bool = False, multiplied: bool = False
    ) -> list[RouteHit]:
        if not lexemes:
            return []
        sql, values = lexical.search(
            "best", lexemes, self._scope.key(), depth, self._scope.kept(keep), sessions, multiplied
        )
        rows = self._search(f"WITH {sql} SELECT memory, score FROM best ORDER BY score DESC, memory", values)
        return [RouteHit(row, score) for row, score in rows]

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        if not lexemes:
            return []
        rows = self._scope.rows(
            "SELECT memory FROM lexicon WHERE namespace = :ns AND keys && :keys::bigint[] "
            "ORDER BY memory DESC LIMIT :most",
            keys=lexical.keys_of(self._scope.key(), False, lexemes),
            most=limit,
        )
        return [row for (row,) in rows]

    def vocabulary(self, most: int, prefix: str = "") -> list[str]:
        rows = self._scope.rows(
            "SELECT term FROM terms WHERE namespace = :ns AND NOT sessions AND starts_with(term, :prefix) "
            "ORDER BY documents DESC, term LIMIT :most",
            prefix=prefix,
            most=most,
        )
        return [term for (term,) in rows]

    def patterns(self, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Filter) -> Matrix:
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
        tables, parts = [], []
        values: dict[str, Any] = {"k": float(k), "vector": vector}
        deepest, depth_of_sides = max(arm.depth for arm in arms), [arm.depth for arm in arms if arm.field in SIDES]
        sided = space is not None and bool(depth_of_sides)
        by_index = texts_indexed = space is not None and sided and self._texts_by_index(space, deepest)
        if space is not None and depth_of_sides and vector is not None:
            sql, more = self._turns(space, max(depth_of_sides), kept, texts_indexed)
            tables.append(sql)
            values |= more
        for i, arm in enumerate(arms):
            name = memories = f"arm{i}"
            if arm.field is None and lexemes:
                sql, more = lexical.search(name, lexemes, self._scope.key(), arm.depth, kept, arm.sessions)
            elif arm.field is None or space is None or vector is None:
                continue
            elif arm.sessions:
                statement = self._sessions(name, space, arm.field, arm.depth, kept)
                if statement is None:
                    continue
                sql, more = statement
            elif arm.field in SIDES:
                sql, more = self._side(name, space, arm.field, arm.depth, kept)
            elif self._has_vectors(arm.field):
                indexed = self._by_index(space, arm.field, arm.depth, kept)
                sql, more = vectors.search(name, space, arm.field, arm.depth, kept, indexed)
            else:
                continue
            if arm.field == "passage":  # of a long text the nearest passage counts
                memories = f"(SELECT memory, max(score) AS score FROM {name} GROUP BY memory) best{i}"
            tables.append(sql)
            values |= {**more, f"weight{i}": float(arm.weight)}
            parts.append(
                f"SELECT {i} AS arm, memory AS row, rank, score, :weight{i}::float8 / (:k::float8 + rank) AS share "
                f"FROM (SELECT *, row_number() OVER (ORDER BY score DESC, memory) AS rank FROM {memories}) ranked"
            )
        if not parts:
            return []
        for arm in arms:
            depth, among = (texts_for(arm.depth), ALL) if arm.sessions else (arm.depth, kept)
            by_index |= space is not None and arm.field is not None and self._by_index(space, arm.field, depth, among)
        wide = sided or any(arm.sessions for arm in arms)
        rows = self._search(
            f"WITH {','.join(tables)}, shares AS MATERIALIZED ({' UNION ALL '.join(parts)}) {TOTAL}",
            values,
            self._settings(by_index, texts_for(deepest) if wide else deepest),
        )
        return [FusedHit(arms[arm].route, *rest) for arm, *rest in rows]

    def composite(
        self, space: VectorSpace, vector: Vector, how: Composite, keep: Filter = EVERYTHING
    ) -> list[FusedHit]:
        kept = self._scope.kept_rows(keep)
        indexed = self._by_index(space, "full", how.depth, kept)
        near, more = vectors.search("nearest", space, "full", how.depth, kept, indexed)
        sql, values, routes = composite_of(POSTGRES, "(SELECT memory AS row, score FROM nearest)", how)
        values |= {**more, "vector": vector}
        rows = self._search(f"WITH {near}, {sql}", values, self._settings(indexed, how.depth))
        return [FusedHit(routes[arm], *rest) for arm, *rest in rows]

    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
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
        return sum(sum(types.values()) for types in self._known_counts().values())

    def _turns(self, space: VectorSpace, depth: int, keep: Gate, indexed: bool) -> Statement:
        """The table `turns`. A turn may stand for one next to it, so a filter does not narrow it; it adds its own."""
        sql, values = vectors.search("texts", space, "full", texts_for(depth), ALL, indexed)
        near = "SELECT memory AS row, score FROM texts"
        if keep.rows is not None:
            kept, more = vectors.search("kept_texts", space, "full", texts_for(depth), keep, False)
            sql, near = f"{sql}, {kept}", f"{near} UNION SELECT memory, score FROM kept_texts"
            values = {**values, **more, **keep.values("paired")}
        return f"{sql}, turns AS MATERIALIZED ({turns_near(POSTGRES, near)})", values

    def _side(self, name: str, space: VectorSpace, side: VectorField, depth: int, keep: Gate) -> Statement:
        """A common table expression with the best of a side as memory and score."""
        own, sql = "(SELECT row, score FROM turns WHERE FALSE) AS own", ""
        values: dict[str, Any] = {}
        if self._has_vectors(side):
            indexed = self._by_index(space, side, depth, keep)
            sql, values = vectors.search(f"{name}_own", space, side, depth, keep, indexed)
            own, sql = f"(SELECT memory AS row, score FROM {name}_own) AS own", f"{sql}, "
        best = best_of_side(POSTGRES, side, "turns", own, depth, keep)
        return f"{sql}{name} AS MATERIALIZED (SELECT row AS memory, score FROM ({best}) AS found)", values

    def _sessions(self, name: str, space: VectorSpace, where: VectorField, depth: int, keep: Gate) -> Statement | None:
        """Sessions by the best of their turns, which no filter narrows; None if no memory has such a vector."""
        turns, size = f"{name}_turns", texts_for(depth)
        if where in SIDES:
            sql, values = self._side(turns, space, where, size, ALL)
        elif self._has_vectors(where):
            sql, values = vectors.search(turns, space, where, size, ALL, self._by_index(space, where, size, ALL))
        else:
            return None
        best = sessions_of(POSTGRES, f"(SELECT memory AS row, score FROM {turns})", depth, keep)
        sql = f"{sql}, {name} AS MATERIALIZED (SELECT row AS memory, score FROM ({best}) AS sessions)"
        return sql, {**values, **keep.values("paired")}

    def _known_counts(self) -> dict[int, dict[int, int]]:
        if self._counts is None:
            self.vector_space()
        return self._counts or {}

    def _has_vectors(self, where: VectorField) -> bool:
        return any(self._known_counts().get(FIELDS.index(where), {}).values())

    def _settings(self, indexed: bool, depth: int) -> tuple[str, ...]:
        if not indexed:
            return ()
        return vectors.settings(depth, self._ef_search or self._server.options.hnsw_ef_search, self._server.iterative)

    def _texts_by_index(self, space: VectorSpace, depth: int) -> bool:
        """True if the index serves the search of whole texts by which sides of exchanges are found."""
        return self._by_index(space, "full", texts_for(depth), ALL)

    def _by_index(self, space: VectorSpace, where: VectorField, depth: int, keep: Gate) -> bool:
        """True if a search goes through the HNSW index rather than over all vectors."""
        own = self._known_counts().get(FIELDS.index(where), {})
        index = self._server.indexes.get((where, space.dimension))
        return vectors.by_index(VectorCounts(own, index or 0, index is not None), keep, depth, self._server.options)


class PostgresGraphReader(GraphReader):
    def _walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, kept: Gate
    ) -> tuple[str, dict[str, object]]:
        return WALK if kept.rows is None else KEPT_WALK, {
            "roots": [entity for entity, _ in roots],
            "factors": [float(factor) for _, factor in roots],
            "hops": how.hops,
            "hop_scores": [float(score) for score in how.hop_scores],
        }


def reader_of(server: PostgresServer, namespace: str) -> Reader:
    scope = PostgresScope(server, namespace)
    return Reader(scope, PostgresSearchReader(scope), PostgresGraphReader(scope), server.recalls, server.size)
