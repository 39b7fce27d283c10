"""The vectors of a file and their token vectors: searching, reading and writing them.

vec0 has the numbers and searches them by one statement of its own; a plain table says whose they are.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from typing import Any

import apsw
import numpy as np

from fivefold.stores.records import SpaceState, VectorSpace
from fivefold.stores.sql.scope import Gate, Transaction
from fivefold.stores.sql.vectors import VectorWriter, unsound_passages
from fivefold.stores.sqlite import checksums
from fivefold.stores.sqlite.codes import CodeWriter
from fivefold.stores.sqlite.connection import number, one_snapshot, rows
from fivefold.stores.sqlite.dialect import PIECE_BITS, SqliteTransaction, reserve, table_of
from fivefold.stores.tables import SPACE_COLUMNS, Row, space_of
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

CHUNK = 8
"""Vectors in one vec0 chunk: the fewest there may be, so that a namespace of a few memories takes little room."""


def create_table(connection: apsw.Connection, dimension: int) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table_of(dimension)} USING vec0("
        "space INTEGER PARTITION KEY, field INTEGER, type INTEGER, event_at INTEGER, "
        f"embedding FLOAT[{dimension}] DISTANCE_METRIC=cosine, chunk_size={CHUNK})"
    )


def knn(
    connection: apsw.Connection, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Gate
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


# Token vectors in a SQLite file: those of a passage belong to its vector, and lie in pieces under the vector's id.

PIECE_BYTES = 660
"""Bytes of a piece at most: six fill a page of 4 KiB, of which whole passages of 1.3 KB would leave a fifth empty."""

PART_BITS = 24
"""The lowest bits of what a statement is given for a passage: its number; the others are the row."""

CARRIERS = (FIELDS.index("full"), FIELDS.index("passage"))
"""The fields whose vectors have token vectors: a short text, and the passages of a long one."""

STRAY = f"SELECT DISTINCT key >> {PIECE_BITS} FROM tokens EXCEPT SELECT id FROM vectors"
"""Gives the ids of vectors that are gone while their token vectors are not."""

Part = tuple[int, int]
"""The row of a memory and the number of a passage."""


def keys_of(id: int) -> tuple[int, int]:
    """The first and the last key that the pieces of a vector may have."""
    return id << PIECE_BITS, ((id + 1) << PIECE_BITS) - 1


def put_tokens(txn: Transaction, passages: Iterable[tuple[int, bytes]]) -> None:
    txn.many("INSERT INTO tokens (key, tokens) VALUES (?, ?)", (row for item in passages for row in _pieces(*item)))


def drop_tokens(txn: Transaction, ids: Iterable[int]) -> None:
    txn.many("DELETE FROM tokens WHERE key BETWEEN ? AND ?", map(keys_of, ids))


def _pieces(id: int, tokens: bytes) -> list[tuple[int, bytes]]:
    """Pieces of about the same size; a passage without tokens is one empty piece."""
    count = min(max(1, math.ceil(len(tokens) / PIECE_BYTES)), 1 << PIECE_BITS)
    size = max(1, math.ceil(len(tokens) / count))
    first, _ = keys_of(id)
    return [(first + i, tokens[i * size : (i + 1) * size]) for i in range(count)]


def tokens_by_id(connection: apsw.Connection, ids: Sequence[int]) -> dict[int, bytes]:
    sql = (
        "SELECT t.key, wanted.value, t.tokens FROM json_each(?) wanted CROSS JOIN tokens t "
        f"ON t.key BETWEEN wanted.value << {PIECE_BITS} AND ((wanted.value + 1) << {PIECE_BITS}) - 1"
    )
    return _joined(rows(connection, sql, json.dumps(list(ids))))


def _joined(pieces: list[tuple[Any, ...]]) -> dict[Any, bytes]:
    """Token vectors by their owner, of rows with the key of a piece, the owner and the piece."""
    found: dict[Any, bytes] = {}
    for _, owner, piece in sorted(pieces):
        found[owner] = found.get(owner, b"") + piece
    return found


def stored_tokens(connection: apsw.Connection, space: VectorSpace, passages: Sequence[Part]) -> dict[Part, bytes]:
    """The token vectors of these passages, straight from the file; most are those of short texts."""
    found = _of_field(connection, space, "full", [passage for passage in passages if passage[1] == 0])
    rest = [passage for passage in passages if passage not in found]
    return found | _of_field(connection, space, "passage", rest) if rest else found


def _of_field(
    connection: apsw.Connection, space: VectorSpace, where: VectorField, passages: Sequence[Part]
) -> dict[Part, bytes]:
    records = rows(
        connection,
        "SELECT t.key, v.memory, v.part, t.tokens FROM json_each(?) wanted CROSS JOIN vectors v "
        f"ON v.memory = wanted.value >> {PART_BITS} AND v.space = ? AND v.field = ? "
        f"AND v.part = wanted.value & {(1 << PART_BITS) - 1} CROSS JOIN tokens t "
        f"ON t.key BETWEEN v.id << {PIECE_BITS} AND ((v.id + 1) << {PIECE_BITS}) - 1",
        json.dumps([row << PART_BITS | part for row, part in passages]),
        space.key,
        FIELDS.index(where),
    )
    return _joined([(key, (row, part), piece) for key, row, part, piece in records])


# Token vectors that recalls have read stay in memory. The cache agrees with the file, also when other processes write:
# ids of vectors are never used again, and each removal of a vector is counted in the file.

CACHE_BYTES = 128 << 20
"""Maximum bytes of token vectors that all namespaces together may cache; the least recently used namespace goes
first."""

ENTRY_BYTES = 200
"""Approximate size of an entry in addition to its token vectors."""

_REMOVALS = (
    "SELECT coalesce(sum(r.count), 0) FROM spaces s LEFT JOIN removals r ON r.space = s.key "
    f"AND r.field IN ({CARRIERS[0]}, {CARRIERS[1]}) WHERE s.key = ? GROUP BY s.key"
)
"""Number of times a vector with token vectors was removed from a space; nothing if the space is gone."""


@dataclass(slots=True)
class _Cache:
    """Token vectors of one space, as they were after that many removals from it."""

    removals: int
    passages: dict[Part, bytes] = made(default_factory=dict)


class TokenCache:
    """The token vectors that recalls have read, within one budget for all namespaces."""

    def __init__(self) -> None:
        self.size = 0
        self._spaces: OrderedDict[int, _Cache] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, connection: apsw.Connection, space: VectorSpace, passages: Sequence[Part]) -> dict[Part, bytes]:
        """The token vectors of these passages; those that have none are left out."""
        removals, found = self._known(connection, space.key, passages)
        if removals is None or len(found) == len(passages):
            return found
        with one_snapshot(connection):
            removals, found = self._known(connection, space.key, passages)
            if removals is None:
                return {}
            read = stored_tokens(connection, space, [passage for passage in passages if passage not in found])
        self._add(space.key, removals, read)
        return found | read

    def _known(
        self, connection: apsw.Connection, space: int, passages: Sequence[Part]
    ) -> tuple[int | None, dict[Part, bytes]]:
        """Number of removals from the space, None if it is gone, and the cached token vectors that are current."""
        removals = number(connection, _REMOVALS, space)
        with self._lock:
            cached = self._spaces.get(space)
            if removals is None or cached is None or cached.removals != removals:
                return removals, {}
            self._spaces.move_to_end(space)
            known = cached.passages
            return removals, {passage: known[passage] for passage in passages if passage in known}

    def _add(self, space: int, removals: int, read: dict[Part, bytes]) -> None:
        with self._lock:
            cached = self._spaces.get(space)
            if cached is None or cached.removals < removals:
                self._drop(space)
                cached = self._spaces[space] = _Cache(removals)
            if cached.removals > removals:  # another thread has seen a later state of the file
                return
            for passage, tokens in read.items():
                if passage not in cached.passages:
                    cached.passages[passage] = tokens
                    self.size += _size(tokens)
            self._keep_in_budget()

    def _keep_in_budget(self) -> None:
        """Drop the namespaces that were not used for longest, and of the last one what was read first."""
        while self.size > CACHE_BYTES and len(self._spaces) > 1:
            self._drop(next(iter(self._spaces)))
        for cached in self._spaces.values():
            while self.size > CACHE_BYTES:
                self.size -= _size(cached.passages.pop(next(iter(cached.passages))))

    def drop(self, spaces: Sequence[int]) -> None:
        """Forget these spaces, which were deleted."""
        with self._lock:
            for space in spaces:
                self._drop(space)

    def _drop(self, space: int) -> None:
        cached = self._spaces.pop(space, None)
        self.size -= sum(map(_size, cached.passages.values())) if cached else 0


def _size(tokens: bytes) -> int:
    return len(tokens) + ENTRY_BYTES


class SqliteVectorWriter(VectorWriter):
    """Each removal is counted, so that copies in memory notice it."""

    def __init__(self, txn: SqliteTransaction) -> None:
        super().__init__(txn)
        self._connection = txn.connection
        self._codes = CodeWriter(txn.connection)

    def make_room(self, dimension: int) -> None:
        create_table(self._connection, dimension)

    def clear_space(self, space: VectorSpace) -> None:
        self.write_waiting()
        ids = self._txn.rows("SELECT id FROM vectors WHERE space = :space", space=space.key)
        drop_tokens(self._txn, [id for (id,) in ids])
        self._codes.clear(space.key)
        self._txn.many(f"DELETE FROM {table_of(space.dimension)} WHERE rowid = ?", ids)
        self._txn.run("DELETE FROM vectors WHERE space = :space", space=space.key)

    def stored(self, space: VectorSpace, rows: Sequence[int], where: VectorField) -> dict[int, Vector]:
        return stored(self._connection, space, rows, [where])

    def drop_vectors(self, row: int) -> None:
        self._drop_where(row, "1")

    def drop_next(self, row: int) -> None:
        self._drop_where(row, f"s.state = 'building' OR v.field = {FIELDS.index('next_user')}")

    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        codes = ", ".join(str(FIELDS.index(name)) for name in fields)
        self._drop_where(row, f"s.state = :state AND v.field IN ({codes})", state=state)

    def drop_stray_vectors(self) -> None:
        """Removes vectors of no memory, all vectors of a memory whose passages do not agree, and all of them if one is
        damaged."""
        self.write_waiting()
        checksums.begin_again(self._connection, self._txn.key)
        names = [name for name in checksums.tables(self._connection) if name.startswith(("vec_", "vectors", "tokens"))]
        wrong = {name: keys for name in names if (keys := checksums.wrong_keys(self._connection, name))}
        if wrong:
            self.clear()
        for name, keys in wrong.items():
            checksums.forget_lost(self._connection, name, keys)
        for (dimension,) in self._txn.rows("SELECT DISTINCT dimension FROM spaces WHERE namespace = :ns"):
            table = table_of(dimension)
            mine = "SELECT key FROM spaces WHERE namespace = :ns AND dimension = :dimension"
            strays = self._txn.rows(
                f"SELECT id, space, field, memory FROM vectors WHERE space IN ({mine}) "
                f"AND id NOT IN (SELECT rowid FROM {table})",
                dimension=dimension,
            )
            for id, space, field, memory in strays:
                self._drop_vector(id, space, field, dimension)
                if field == FIELDS.index("passage"):
                    self._drop_where(memory, "v.space = :space", space=space)
            stray = self._txn.rows(f"SELECT rowid FROM {table} WHERE rowid NOT IN (SELECT id FROM vectors)")
            self._txn.many(f"DELETE FROM {table} WHERE rowid = ?", stray)
        drop_tokens(self._txn, [id for (id,) in self._txn.rows(STRAY)])
        spaces = [space_of(row) for row in self._txn.rows(f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = :ns")]
        for space in spaces:
            for row in unsound_passages(self._txn, space.key):
                self._drop_where(row, "v.space = :space", space=space.key)
        for space in spaces:
            self._codes.rebuild(space)

    def clear(self) -> None:
        self.write_waiting()
        for row in self._txn.rows(f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = :ns"):
            self.clear_space(space_of(row))

    def put_rows(self, rows: Sequence[Row]) -> None:
        first = reserve(self._txn, "vectors", len(rows)) + 1
        self._txn.many(
            "INSERT INTO vectors (id, space, field, memory, part, type) VALUES (?, ?, ?, ?, ?, ?)",
            [(id, *row[:5]) for id, row in enumerate(rows, first)],
        )
        by_length: dict[int, list[Row]] = {}
        for id, (space, field, memory, _, type, embedding, _) in enumerate(rows, first):
            by_length.setdefault(len(embedding) // 4, []).append((id, space, field, type, memory, embedding))
        for dimension, of_length in by_length.items():
            self._txn.many(
                f"INSERT INTO {table_of(dimension)} (rowid, space, field, type, event_at, embedding) "
                "VALUES (?, ?, ?, ?, (SELECT event_at FROM memories WHERE row = ?), ?)",
                of_length,
            )
        for id, (space, field, _, _, _, embedding, _) in enumerate(rows, first):
            self._codes.added(VectorSpace(space, "", len(embedding) // 4), field, id)
        put_tokens(self._txn, [(id, row[6]) for id, row in enumerate(rows, first) if row[6] is not None])

    def flush(self) -> None:
        """A field that has grown large gets codes, and one that has them gets more."""
        self.write_waiting()
        self._codes.pack()

    def _drop_where(self, row: int, condition: str, **values: Any) -> None:
        self.write_waiting()
        rows = self._txn.rows(
            "SELECT v.id, v.space, v.field, s.dimension FROM vectors v JOIN spaces s ON s.key = v.space "
            f"WHERE v.memory = :row AND ({condition})",
            row=row,
            **values,
        )
        for id, space, field, dimension in rows:
            self._drop_vector(id, space, field, dimension)

    def _drop_vector(self, id: int, space: int, field: int, dimension: int) -> None:
        self._txn.run(f"DELETE FROM {table_of(dimension)} WHERE rowid = :id", id=id)
        drop_tokens(self._txn, [id])
        self._txn.run("DELETE FROM vectors WHERE id = :id", id=id)
        counted = "ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
        count = self._txn.value(f"INSERT INTO removals VALUES (:space, :field, 1) {counted}", space=space, field=field)
        self._codes.removed(space, field, id, count)
