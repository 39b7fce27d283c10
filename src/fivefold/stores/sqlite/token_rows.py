"""Token vectors in a SQLite file: those of a passage belong to its vector, and lie in pieces under the vector's id."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence

import apsw

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sqlite.connection import rows
from fivefold.values.vectors import FIELDS, VectorField

PIECE = 660
"""Bytes of a piece at most: six fill a page of 4 KiB, of which whole passages of 1.3 KB would leave a fifth empty."""

PIECE_BITS = 10
"""The lowest bits of a key, which number the pieces of a passage."""

PART_BITS = 24
"""The lowest bits of what a statement is given for a passage: its number; the others are the row."""

CARRIERS = (FIELDS.index("full"), FIELDS.index("passage"))
"""The fields whose vectors have token vectors: that of a short text, and those of the passages of a long one."""

STRAY = f"SELECT DISTINCT key >> {PIECE_BITS} FROM tokens EXCEPT SELECT id FROM vectors"
"""Gives the ids of vectors that are gone while their token vectors are not."""

Part = tuple[int, int]
"""The row of a memory and the number of a passage."""


def keys_of(id: int) -> tuple[int, int]:
    """The first and the last key that the pieces of a vector may have."""
    return id << PIECE_BITS, ((id + 1) << PIECE_BITS) - 1


def put(txn: Transaction, passages: Iterable[tuple[int, bytes]]) -> None:
    """Store token vectors, each with the id of the vector it belongs to."""
    txn.db.many("INSERT INTO tokens (key, tokens) VALUES (?, ?)", (row for item in passages for row in _pieces(*item)))


def drop(txn: Transaction, ids: Iterable[int]) -> None:
    """Delete the token vectors that belong to these vectors."""
    txn.db.many("DELETE FROM tokens WHERE key BETWEEN ? AND ?", map(keys_of, ids))


def _pieces(id: int, tokens: bytes) -> list[tuple[int, bytes]]:
    """Pieces of about the same size; a passage without tokens is one empty piece."""
    count = min(max(1, math.ceil(len(tokens) / PIECE)), 1 << PIECE_BITS)
    size = max(1, math.ceil(len(tokens) / count))
    first, _ = keys_of(id)
    return [(first + i, tokens[i * size : (i + 1) * size]) for i in range(count)]


def by_id(connection: apsw.Connection, ids: Sequence[int]) -> dict[int, bytes]:
    """The token vectors of these vectors."""
    records = rows(
        connection,
        "SELECT t.key, t.tokens FROM json_each(?) wanted CROSS JOIN tokens t "
        f"ON t.key BETWEEN wanted.value << {PIECE_BITS} AND ((wanted.value + 1) << {PIECE_BITS}) - 1",
        json.dumps(list(ids)),
    )
    records.sort()
    found: dict[int, bytes] = {}
    for key, piece in records:
        found[key >> PIECE_BITS] = found.get(key >> PIECE_BITS, b"") + piece
    return found


def stored(connection: apsw.Connection, space: VectorSpace, passages: Sequence[Part]) -> dict[Part, bytes]:
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
    records.sort()
    found: dict[Part, bytes] = {}
    for _, row, part, piece in records:
        found[row, part] = found.get((row, part), b"") + piece
    return found
