"""The vectors of a file: vec0 stores them, and one statement of its own searches them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw
import numpy as np

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite.connection import rows
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

CHUNK = 8
"""Vectors in one vec0 chunk: the fewest there may be, so that a namespace of a few memories takes little room."""

REMOVALS = "SELECT count FROM removals WHERE space = ? AND field = ?"
"""How often a vector of a field was removed."""


def table_of(dimension: int) -> str:
    return f"vec_{dimension}"


def create_table(connection: apsw.Connection, dimension: int) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table_of(dimension)} USING vec0("
        "space INTEGER PARTITION KEY, field INTEGER, type INTEGER, event_at INTEGER, "
        f"embedding FLOAT[{dimension}] DISTANCE_METRIC=cosine, chunk_size={CHUNK})"
    )


def knn(
    connection: apsw.Connection, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Kept
) -> list[RouteHit]:
    """The nearest by one vec0 statement; the filter is applied inside the index."""
    types = keep.type_codes
    narrowed = f" AND type IN ({', '.join('?' * len(types))})" if types else ""
    listed = () if keep.rows is None else (keep.rows.listed, space.key, FIELDS.index(where))
    if listed:
        narrowed += (
            " AND rowid IN (SELECT v.id FROM json_each(?) kept CROSS JOIN vectors v ON v.memory = kept.value "
            "AND v.space = ? AND v.field = ?)"
        )
    cursor = connection.execute(
        f"SELECT v.memory, nearest.distance, v.part FROM (SELECT rowid, distance FROM {table_of(space.dimension)} "
        f"WHERE embedding MATCH ? AND k = ? AND space = ? AND field = ?{narrowed}) AS nearest "
        "JOIN vectors v ON v.id = nearest.rowid",
        (vector.tobytes(), depth, space.key, FIELDS.index(where), *types, *listed),
    )
    hits = [RouteHit(row, 1.0 - distance, part=part) for row, distance, part in cursor]
    return sorted(hits, key=lambda hit: (-hit.score, hit.row, hit.part))


def stored(
    connection: apsw.Connection, space: VectorSpace, memories: Sequence[int], where: Sequence[VectorField]
) -> dict[int, Vector]:
    """The vectors of these memories, straight from the file."""
    records = rows(
        connection,
        "SELECT v.memory, e.embedding FROM json_each(?) wanted CROSS JOIN vectors v ON v.memory = wanted.value "
        f"AND v.space = ? AND v.field IN ({', '.join('?' * len(where))}) "
        f"CROSS JOIN {table_of(space.dimension)} e ON e.rowid = v.id",
        json.dumps(list(memories)),
        space.key,
        *(FIELDS.index(name) for name in where),
    )
    return {row: np.frombuffer(blob, dtype=np.float32) for row, blob in records}


def stored_passages(connection: apsw.Connection, space: VectorSpace, memories: Sequence[int]) -> dict[int, Matrix]:
    """The vectors of the passages of these memories in their order; memories of one passage are left out."""
    records = rows(
        connection,
        "SELECT v.memory, v.part, e.embedding FROM json_each(?) wanted CROSS JOIN vectors v "
        f"ON v.memory = wanted.value AND v.space = ? AND v.field = ? CROSS JOIN {table_of(space.dimension)} e "
        "ON e.rowid = v.id",
        json.dumps(list(memories)),
        space.key,
        FIELDS.index("passage"),
    )
    blobs: dict[int, list[bytes]] = {}
    for memory, _, blob in sorted(records):
        blobs.setdefault(memory, []).append(blob)
    return {
        memory: np.frombuffer(b"".join(parts), dtype=np.float32).reshape(len(parts), -1)
        for memory, parts in blobs.items()
    }
