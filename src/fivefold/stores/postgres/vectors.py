"""Dense search: all vectors of a small field are read, a large field has an HNSW index; either way scores are exact.

An HNSW index gives the nearest of the whole field and drops those a filter does not want, so a narrow filter would
leave too few. If few vectors are wanted, all of them are read instead. If the index is used, it goes on until enough
were found; should it still find too few, all are read after all.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg.adapt import Dumper
from psycopg.pq import Format

from fivefold.stores.postgres.dialect import PostgresTransaction
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.records import SpaceState, VectorSpace
from fivefold.stores.sql.scope import ALL, Gate
from fivefold.stores.sql.vectors import VectorWriter, unsound_passages
from fivefold.stores.tables import Row
from fivefold.values.vectors import FIELDS, Vector, VectorField

INDEX_LIMIT = 4_000
"""Numbers of a vector that an HNSW index over half-precision vectors takes."""

READ_US, ENTER_US, VISIT_US = 1.0, 2_000.0, 7.5
"""Cost of reading a vector in a row, of entering the index, and of each vector met there; measured at 100,000 of
384."""


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Counts for one field of a space: its vectors of each type, and those of all namespaces in its partition."""

    own: Mapping[int, int]
    all: int
    indexed: bool

    def matching(self, keep: Gate) -> int:
        """Maximum number that pass a filter; about as many vectors as rows are kept."""
        of_types = sum(self.own.get(code, 0) for code in keep.type_codes) if keep.types else sum(self.own.values())
        return of_types if keep.rows is None else min(of_types, len(keep.rows))


def by_index(known: VectorCounts, keep: Gate, depth: int, options: Options) -> bool:
    """True if the index pays: it is there, many vectors match, and few others stand between them."""
    matching = known.matching(keep)
    if not known.indexed or matching <= options.exact_up_to:
        return False
    met = deeper(depth) * max(known.all, matching) / matching
    return ENTER_US + VISIT_US * met < READ_US * matching


def deeper(depth: int) -> int:
    """Number of vectors taken from the index, which compares at half precision, to be scored exactly."""
    return depth + max(20, depth // 4)


def index_name(where: VectorField, dimension: int) -> str:
    return f"vectors_{where}_hnsw_{dimension}"


def search(
    name: str, space: VectorSpace, where: VectorField, depth: int, keep: Gate, indexed: bool
) -> tuple[str, dict[str, Any]]:
    """Common table expressions, of which `name` has the vectors nearest to `:vector`, and their parameters."""
    of, values = _condition(name, space, where, keep)
    score = "-(embedding <#> :vector::vector)"
    best = f"ORDER BY score DESC, memory, part LIMIT {depth}"
    everything = f"SELECT memory, part, {score} AS score FROM vectors WHERE {of} {best}"
    if not indexed:
        return f"\n{name} AS MATERIALIZED ({everything})", values
    near = (
        f"SELECT memory, part, embedding FROM vectors WHERE {of} AND dimension = {space.dimension} "
        f"ORDER BY {_by_half(space)} LIMIT {deeper(depth)}"
    )
    sql = f"""
{name}_near AS MATERIALIZED (
  SELECT memory, part, {score} AS score FROM ({near}) nearby {best}),
{name} AS MATERIALIZED (
  SELECT memory, part, score FROM {name}_near WHERE (SELECT count(*) FROM {name}_near) >= {depth} UNION ALL
  (SELECT memory, part, score FROM ({everything}) counted WHERE (SELECT count(*) FROM {name}_near) < {depth}))"""
    return sql, values


def search_each(space: VectorSpace, where: VectorField, depth: int, indexed: bool) -> tuple[str, dict[str, Any]]:
    """A statement that searches for each vector of the parameter `asked`, and its other parameters."""
    sql, values = search("nearest", space, where, depth, ALL, indexed)
    return (
        "SELECT place, memory, score, part "
        "FROM unnest(:asked::text[]::vector[]) WITH ORDINALITY AS given(vector, place) "
        f"CROSS JOIN LATERAL (WITH {sql.replace(':vector::vector', 'given.vector')} "
        "SELECT memory, score, part FROM nearest) AS found ORDER BY place, score DESC, memory, part",
        values,
    )


def nearby(space: VectorSpace, where: VectorField, size: int, keep: Gate, indexed: bool) -> tuple[str, dict[str, Any]]:
    """A statement that gives the vectors nearest to the parameter `vector`, and its other parameters."""
    of, values = _condition("nearby", space, where, keep)
    if indexed:
        of, order = f"{of} AND dimension = {space.dimension}", _by_half(space)
    else:
        order = "embedding <#> :vector::vector, memory, part"
    return f"SELECT embedding FROM vectors WHERE {of} ORDER BY {order} LIMIT {size}", values


def _condition(name: str, space: VectorSpace, where: VectorField, keep: Gate) -> tuple[str, dict[str, Any]]:
    """The condition for vectors of one field, and its parameters; the field is written out, as it names a partition."""
    of = f"namespace = :ns AND space = :space AND field = {FIELDS.index(where)}"
    values: dict[str, Any] = {"space": space.key}
    if keep.types:
        of, values = f"{of} AND type = ANY(:{name}_types::smallint[])", {**values, f"{name}_types": keep.type_codes}
    if keep.rows is not None:
        of, values = f"{of} AND memory = ANY(:{name}_kept::bigint[])", {**values, f"{name}_kept": keep.rows.listed}
    return of, values


def _by_half(space: VectorSpace) -> str:
    return f"embedding::halfvec({space.dimension}) <#> :vector::vector::halfvec({space.dimension})"


def settings(depth: int, ef_search: int, iterative: bool) -> tuple[str, ...]:
    """The settings of a statement that uses an HNSW index; pgvector can go on searching since 0.8."""
    return (
        f"SET LOCAL hnsw.ef_search = {max(ef_search, min(deeper(depth), 1_000))}",
        *(("SET LOCAL hnsw.iterative_scan = relaxed_order",) if iterative else ()),
        "SET LOCAL enable_sort = off",
        "SET LOCAL enable_seqscan = off",
    )


class VectorDumper(Dumper):
    """A vector as pgvector sends it: how many numbers, then each in four bytes."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        return struct.pack(">HH", len(obj), 0) + obj.astype(">f4").tobytes()


def text_of(vector: Vector) -> str:
    """The vector as pgvector reads it from text, to the last bit."""
    return f"[{','.join(format(number, '.9g') for number in vector.tolist())}]"


def vector_of(data: bytes) -> Vector:
    return np.frombuffer(data, dtype=">f4", offset=4).astype(np.float32)


_PUT = (
    "INSERT INTO vectors (namespace, space, field, memory, part, type, dimension, embedding) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?::vector)"
)
_PUT_TOKENS = "INSERT INTO tokens (namespace, space, field, memory, part, tokens) VALUES (?, ?, ?, ?, ?, ?)"

WITHOUT_VECTOR = (
    "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.namespace = t.namespace AND v.space = t.space AND v.field = t.field "
    "AND v.memory = t.memory AND v.part = t.part)"
)
"""The condition that token vectors `t` belong to no vector."""


class PostgresVectorWriter(VectorWriter):
    """Counts are gathered and written at the end of the transaction."""

    def __init__(self, txn: PostgresTransaction) -> None:
        super().__init__(txn)
        self._connection = txn.connection
        self._vector_counts: Counter[tuple[int, int, int]] = Counter()

    def flush(self) -> None:
        self.write_waiting()
        self._txn.many(
            "INSERT INTO held (namespace, space, field, type, count) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (namespace, space, field, type) DO UPDATE SET count = held.count + excluded.count",
            [(self._txn.key, *group, count) for group, count in sorted(self._vector_counts.items()) if count],
        )
        self._vector_counts.clear()

    def make_room(self, dimension: int) -> None:
        """Vectors of any dimension are in the same tables."""

    def clear_space(self, space: VectorSpace) -> None:
        self.write_waiting()
        for table in ("vectors", "held", "tokens"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = :ns AND space = :space", space=space.key)
        for group in [group for group in self._vector_counts if group[0] == space.key]:
            del self._vector_counts[group]

    def stored(self, space: VectorSpace, rows: Sequence[int], where: VectorField) -> dict[int, Vector]:
        cursor = self._connection.execute(
            "SELECT memory, embedding FROM vectors WHERE namespace = $1 AND space = $2 AND field = $3 "
            "AND memory = ANY($4) ORDER BY memory",
            [self._txn.key, space.key, FIELDS.index(where), list(rows)],
            binary=True,
        )
        return {row: vector_of(data) for row, data in cursor.fetchall()}

    def drop_vectors(self, row: int) -> None:
        self._drop(row, self._space_keys(), FIELDS)

    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        space = self.space(state)
        if space is not None:
            self._drop(row, [space.key], fields)

    def drop_next(self, row: int) -> None:
        self._drop(row, self._space_keys(), ["next_user"])
        self.drop_fields(row, FIELDS, "building")

    def drop_stray_vectors(self) -> None:
        """Vectors whose memory or space was deleted, or whose passages do not agree; all others are counted again."""
        self.write_waiting()
        self._txn.run(
            "DELETE FROM vectors WHERE namespace = :ns AND (NOT EXISTS (SELECT 1 FROM memories m "
            "WHERE m.namespace = :ns AND m.row = vectors.memory) OR NOT space = ANY(:spaces))",
            spaces=self._space_keys(),
        )
        for space in self._space_keys():
            for row in unsound_passages(self._txn, space):
                self._drop(row, [space], FIELDS)
        self._txn.run(f"DELETE FROM tokens AS t WHERE namespace = :ns AND {WITHOUT_VECTOR}")
        self._txn.run("DELETE FROM held WHERE namespace = :ns")
        self._txn.run(
            "INSERT INTO held (namespace, space, field, type, count) SELECT namespace, space, field, type, count(*) "
            "FROM vectors WHERE namespace = :ns GROUP BY namespace, space, field, type"
        )
        self._vector_counts.clear()

    def clear(self) -> None:
        self.write_waiting()
        for table in ("vectors", "held", "tokens"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = :ns")
        self._vector_counts.clear()

    def put_rows(self, rows: Sequence[Row]) -> None:
        self._txn.many(
            _PUT, [(self._txn.key, *row[:5], len(row[5]) // 4, np.frombuffer(row[5], dtype="<f4")) for row in rows]
        )
        self._txn.many(_PUT_TOKENS, [(self._txn.key, *row[:4], row[6]) for row in rows if row[6] is not None])
        self._vector_counts.update((space, field, type) for space, field, _, _, type, *_ in rows)

    def _drop(self, row: int, spaces: list[int], fields: Sequence[VectorField]) -> None:
        self.write_waiting()
        where = "namespace = :ns AND memory = :row AND space = ANY(:spaces) AND field = ANY(:fields)"
        values = {"row": row, "spaces": spaces, "fields": [FIELDS.index(name) for name in fields]}
        self._txn.run(f"DELETE FROM tokens WHERE {where}", **values)
        for group in self._txn.rows(f"DELETE FROM vectors WHERE {where} RETURNING space, field, type", **values):
            self._vector_counts[group] -= 1

    def _space_keys(self) -> list[int]:
        spaces = (self.space("active"), self.space("building"))
        return [space.key for space in spaces if space is not None]
