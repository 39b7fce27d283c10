"""A namespace as a recall sees it, in SQLite.

Searching and fusing is one statement: reciprocal ranks (M3) and the composite score (D1, D2, D9). It calls the dense
search as a table, `nearest`, so that it uses the cached vectors as any other search does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import apsw
import apsw.ext
import numpy as np

from fivefold.stores.interface import Reader
from fivefold.stores.records import CONSIDERED_PER_HIT, Arm, Composite, DensePreparation, FusedHit, VectorSpace, Walk
from fivefold.stores.sql.feedback import RecallLog
from fivefold.stores.sql.graph import GraphReader
from fivefold.stores.sql.scope import ALL, Gate, KeptRows, ReadScope
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
from fivefold.stores.sqlite import lexical
from fivefold.stores.sqlite.connection import Connections
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.lexical import PostingCache
from fivefold.stores.sqlite.vector_cache import VectorCache
from fivefold.stores.sqlite.vectors import TokenCache
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField


def offer_nearest(connection: apsw.Connection, cache: VectorCache) -> None:
    """Give the connection the table `nearest(space, dimension, field, vector, depth, kept)` of row, score and rank.

    `kept` is the bytes of the rows that a filter leaves, or NULL for all.
    """

    def nearest(
        space: int, dimension: int, field: int, vector: bytes, depth: int, kept: bytes | None
    ) -> Iterator[tuple[int, float, int]]:
        query = np.frombuffer(vector, dtype=np.float32)
        keep = ALL if kept is None else Gate(rows=KeptRows(np.frombuffer(kept, dtype=np.int64), SQLITE))
        hits = cache.search(connection, VectorSpace(space, "", dimension), FIELDS[field], query, depth, keep)
        best = {hit.row: hit.score for hit in reversed(hits)}  # the nearest passage of a memory counts
        memories = dict.fromkeys(hit.row for hit in hits)
        return ((row, best[row], rank) for rank, row in enumerate(memories, 1))

    nearest.columns = ("row", "score", "rank")  # type: ignore[attr-defined]
    nearest.column_access = apsw.ext.VTColumnAccess.By_Index  # type: ignore[attr-defined]
    apsw.ext.make_virtual_module(connection, "nearest", cast(Any, nearest))


def _nearest(space: VectorSpace, where: VectorField, depth: int, kept: str = ":kept") -> str:
    """The vectors of a field as a table of row, score and rank."""
    return f"nearest({space.key}, {space.dimension}, {FIELDS.index(where)}, :vector, {depth}, {kept})"


def _source(space: VectorSpace, arm: Arm, where: VectorField, keep: Gate) -> str:
    """The hits of an arm, as a table of row, score and rank; sessions are found by turns that no filter narrows."""
    depth, among, kept = (texts_for(arm.depth), ALL, "NULL") if arm.sessions else (arm.depth, keep, ":kept")
    best = _nearest(space, where, depth, kept)
    if where in SIDES:
        best = best_of_side(SQLITE, where, "turns", best, depth, among)
    elif not arm.sessions:
        return best
    if arm.sessions:
        best = sessions_of(SQLITE, f"({best})" if where in SIDES else best, arm.depth, keep)
    return f"(SELECT row, score, row_number() OVER (ORDER BY score DESC, row) AS rank FROM ({best}) AS best)"


def _turns(space: VectorSpace, depth: int, keep: Gate) -> str:
    """The table `turns`. A turn may stand for one next to it, so that a filter does not narrow it; it adds its own."""
    near = f"SELECT row, score FROM {_nearest(space, 'full', texts_for(depth), 'NULL')}"
    if keep.rows is not None:
        near += f" UNION SELECT row, score FROM {_nearest(space, 'full', texts_for(depth))}"
    return f"turns AS MATERIALIZED ({turns_near(SQLITE, near)})"


_ROOTS = """
WITH level0 AS MATERIALIZED (
  SELECT root.value ->> 0 AS entity, 0 AS hop, root.value ->> 1 AS factor, e.name AS path,
         ',' || e.key || ',' AS seen, min(e.links, :each) AS given
  FROM json_each(:roots) root CROSS JOIN entities e ON e.key = root.value ->> 0 AND e.namespace = :ns
),
"""

_LEVEL = """
least{n} AS MATERIALIZED (
  SELECT iif(sum(given) >= :bound, min(score) FILTER (WHERE before < :bound), 0.0) AS score FROM (
    SELECT *, sum(given) OVER (ORDER BY score DESC, entity) - given AS before FROM (
      SELECT entity, given, max(score) AS score FROM ({scored}) GROUP BY entity))
),
level{next} AS MATERIALIZED (
  SELECT entity, {next} AS hop, factor, path, seen, given FROM (
    SELECT *, row_number() OVER (PARTITION BY entity ORDER BY factor DESC, path) AS nth FROM (
      SELECT o.key AS entity, min(o.links, :each) AS given, walk.seen || o.key || ',' AS seen,
             walk.factor * d.confidence * iif(d.valid_to < :now, :expired, 1.0)
               * CASE d.kind WHEN 'structural' THEN :structural WHEN 'semantic' THEN :semantic ELSE :lifecycle END
               AS factor,
             walk.path || iif(d.source = walk.entity, ' —' || d.relation || '→ ', ' ←' || d.relation || '— ') || o.name
               AS path
      FROM level{n} walk
      CROSS JOIN edges d ON d.key IN (
        SELECT key FROM (SELECT key, confidence FROM edges WHERE source = walk.entity
                         ORDER BY confidence DESC, key DESC LIMIT :fan)
        UNION ALL
        SELECT key FROM (SELECT key, confidence FROM edges WHERE target = walk.entity
                         ORDER BY confidence DESC, key DESC LIMIT :fan))
      CROSS JOIN entities o ON o.key = iif(d.source = walk.entity, d.target, d.source)
      WHERE walk.factor * :further{n} >= (SELECT score FROM least{n})
        AND instr(walk.seen, ',' || o.key || ',') = 0))
  WHERE nth = 1
),
"""
"""The entities one hop further, each by its best way: one that begins worse and goes on the same ends worse.

`least` is the score of the last entity whose memories are still wanted, by what was reached so far. An entity from
which every way on ends below it is not followed further; no edge is worth more than 1.
"""

_BEST = """
reached AS MATERIALIZED (
  SELECT entity, hop, path, score, row_number() OVER (ORDER BY score DESC, hop, path, entity) AS place FROM (
    SELECT *, row_number() OVER (PARTITION BY entity ORDER BY score DESC, hop, path) AS nth FROM ({scored}))
  WHERE nth = 1
),
"""

_MENTIONED = """
SELECT l.memory, r.score, r.hop, r.path, min(r.place) AS place, round(sum(r.score), 9) AS support,
       sum(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.key = s.edge WHERE s.memory = l.memory
                   AND (d.source = r.entity OR d.target = r.entity))) > 0 AS states"""
_BEST_FIRST = "GROUP BY l.memory ORDER BY r.score DESC, states DESC, support DESC, l.memory DESC LIMIT :depth"

_WALK = f"""
taken AS MATERIALIZED (
  SELECT r.*, sum(min(e.links, :each)) OVER (ORDER BY r.place) - min(e.links, :each) AS before
  FROM reached r CROSS JOIN entities e ON e.key = r.entity
)
{_MENTIONED}
FROM taken r CROSS JOIN links l ON l.entity = r.entity AND l.memory IN (
  SELECT memory FROM links WHERE entity = r.entity ORDER BY memory DESC LIMIT :each)
WHERE r.before < :enough {_BEST_FIRST}
"""

_KEPT_WALK = f"""
linked AS MATERIALIZED (
  SELECT r.place, r.entity, l.memory, row_number() OVER (PARTITION BY r.place ORDER BY l.memory DESC) AS nth
  FROM reached r CROSS JOIN links l ON l.entity = r.entity
  WHERE {{kept}}
),
shown AS MATERIALIZED (
  SELECT place, entity, memory, count(*) OVER (ORDER BY place) - count(*) OVER (PARTITION BY place) AS before
  FROM linked WHERE nth <= :each
)
{_MENTIONED}
FROM shown l CROSS JOIN reached r ON r.place = l.place
WHERE l.before < :enough {_BEST_FIRST}
"""
"""The walk among the memories that a filter leaves, by the condition `kept`: each entity gives its latest ones."""


@cache
def _reached(hops: int) -> str:
    """Common table expressions of which the last, `reached`, has every entity in reach with its best way."""
    scored = [f"SELECT entity, hop, path, given, factor * :hop{n} AS score FROM level{n}" for n in range(hops + 1)]
    levels = [_LEVEL.format(n=n, next=n + 1, scored=" UNION ALL ".join(scored[: n + 1])) for n in range(hops)]
    return "".join([_ROOTS, *levels, _BEST.format(scored=" UNION ALL ".join(scored))])


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SqliteFile:
    connections: Connections
    vector_cache: VectorCache
    token_cache: TokenCache
    posting_cache: PostingCache
    recalls: RecallLog
    key_of: Callable[[str], int | None]
    size: Callable[[], int]


class SqliteScope(ReadScope):
    """Takes a connection to the file for each statement."""

    def __init__(self, file: SqliteFile, namespace: str) -> None:
        super().__init__(namespace, SQLITE)
        self.file = file
        self._key: int | None = None

    def key(self) -> int | None:
        """Looked up once for each reader, which lives as long as one operation."""
        if self._key is None:
            self._key = self.file.key_of(self.namespace)
        return self._key

    def exists(self) -> bool:
        return self.key() is not None

    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        key = self.key()
        if key is None:
            return []
        values["ns"] = key
        with self.file.connections.reader() as connection:
            return connection.execute(sql, values).fetchall()

    def find(self, search: Callable[[apsw.Connection, int], list[Answer]]) -> list[Answer]:
        """The answers of a search, given a connection and the namespace's key; empty if the namespace is new."""
        key = self.key()
        if key is None:
            return []
        with self.file.connections.reader() as connection:
            return search(connection, key)


class SqliteSearchReader(SearchReader):
    """Searches by postings, by vectors cached in memory, and by statements that join both."""

    _scope: SqliteScope

    def __init__(self, scope: SqliteScope) -> None:
        super().__init__(scope)
        self._find = scope.find
        self._file = scope.file

    def prepare_dense(self, space: VectorSpace, where: VectorField) -> DensePreparation:
        with self._file.connections.reader() as connection:
            return self._file.vector_cache.prepare(connection, space, where)

    def dense(self, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        if where in SIDES:
            rows = self._scope.kept_rows(keep)
            best = best_of_side(SQLITE, where, "turns", _nearest(space, where, depth), depth, rows)
            values = {**_kept_values(rows), "vector": vector.tobytes()}
            found = self._scope.rows(f"WITH {_turns(space, depth, rows)} {best}", **values)
            return [RouteHit(row, score) for row, score in found]
        kept = self._scope.kept(keep)
        with self._file.connections.reader() as connection:
            return self._file.vector_cache.search(connection, space, where, vector, depth, kept)

    def lexical(
        self, lexemes: Sequence[str], depth: int, keep: Filter, *, sessions: bool = False, multiplied: bool = False
    ) -> list[RouteHit]:
        return self._by_words(lexemes, depth, self._scope.kept(keep), sessions, multiplied) if lexemes else []

    def _by_words(
        self, lexemes: Sequence[str], depth: int, kept: Gate, sessions: bool, multiplied: bool = False
    ) -> list[RouteHit]:
        cache = self._file.posting_cache
        return self._find(
            lambda connection, key: lexical.search(connection, cache, key, lexemes, depth, kept, sessions, multiplied)
        )

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        if not lexemes:
            return []
        cache = self._file.posting_cache
        return self._find(lambda connection, key: lexical.latest_with(connection, cache, key, lexemes, limit))

    def vocabulary(self, most: int, prefix: str = "") -> list[str]:
        return self._find(lambda connection, key: lexical.vocabulary(connection, key, most, prefix))

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
        hits: dict[int, dict[int, float]] = {}
        """By the place of an arm of words, the rows with their scores, best first."""
        parts: list[str] = []
        values: dict[str, Any] = {"k": k, **_kept_values(kept)}
        for i, arm in enumerate(arms):
            values |= {f"weight{i}": arm.weight}
            if arm.field is not None and space is not None and vector is not None:
                values["vector"] = vector.tobytes()
                source = _source(space, arm, arm.field, kept)
            elif arm.field is None and lexemes:
                hits[i] = {hit.row: hit.score for hit in self._by_words(lexemes, arm.depth, kept, arm.sessions)}
                values[f"hits{i}"] = json.dumps(list(hits[i]))
                source = f"(SELECT value AS row, NULL AS score, key + 1 AS rank FROM json_each(:hits{i}))"
            else:
                continue
            parts.append(f"SELECT {i} AS arm, row, rank, score, :weight{i} / (:k + rank) AS share FROM {source}")
        if not parts:
            return []
        deepest = max((arm.depth for arm in arms if arm.field in SIDES), default=0)
        turns = f"{_turns(space, deepest, kept)}, " if space is not None and vector is not None and deepest else ""
        rows = self._scope.rows(f"WITH {turns}shares AS MATERIALIZED ({' UNION ALL '.join(parts)}) {TOTAL}", **values)
        return [
            FusedHit(arms[arm].route, row, rank, hits[arm][row] if arm in hits else score, share, total)
            for arm, row, rank, score, share, total in rows
        ]

    def composite(
        self, space: VectorSpace, vector: Vector, how: Composite, keep: Filter = EVERYTHING
    ) -> list[FusedHit]:
        sql, values, routes = composite_of(SQLITE, _nearest(space, "full", how.depth), how)
        values |= {**_kept_values(self._scope.kept_rows(keep)), "vector": vector.tobytes()}
        return [FusedHit(routes[arm], *rest) for arm, *rest in self._scope.rows(f"WITH {sql}", **values)]

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
            return self._file.vector_cache.passages(connection, space, rows)

    def count_vectors(self, space: VectorSpace) -> int:
        return self._scope.count("vectors WHERE space = :space", space=space.key)


def _kept_values(keep: Gate) -> dict[str, Any]:
    return {"kept": None if keep.rows is None else keep.rows.rows.tobytes(), **keep.values("paired")}


class SqliteGraphReader(GraphReader):
    """The graph search is one bounded statement from the question's entities to memories, hop by hop (R6)."""

    def _walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, kept: Gate
    ) -> tuple[str, dict[str, object]]:
        shown = _WALK if kept.rows is None else _KEPT_WALK.format(kept=kept.rows.among("+l.memory", "kept"))
        return _reached(how.hops) + shown, {
            "roots": json.dumps([list(root) for root in roots]),
            "bound": CONSIDERED_PER_HIT * depth if kept.rows is None else math.inf,
            **{f"hop{n}": score for n, score in enumerate(how.hop_scores)},
            **{f"further{n}": max(how.hop_scores[n + 1 : how.hops + 1]) for n in range(how.hops)},
        }


def reader_of(file: SqliteFile, namespace: str) -> Reader:
    scope = SqliteScope(file, namespace)
    return Reader(scope, SqliteSearchReader(scope), SqliteGraphReader(scope), file.recalls, file.size)
