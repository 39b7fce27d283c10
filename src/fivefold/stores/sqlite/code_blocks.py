"""The codes of a field with very many vectors, as the file stores them: in blocks, in the order of the vectors' ids.

They are derived from the vectors. Whatever has no code yet comes after the last block, so that adding a vector
costs nothing and packing goes on at any time, by any writer.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import numpy as np
import numpy.typing as npt

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sqlite.connection import number, rows
from fivefold.stores.sqlite.scan import Floats, coded
from fivefold.stores.sqlite.vectors import table_of

EXACT_BYTES = 192 << 20
"""A field whose vectors take more than this is searched by codes: 131,072 vectors of 384 dimensions (E8)."""

BLOCK = 2_048
"""Vectors in a block."""

LOGGED = 1_024
"""How many removals of a field are listed at least; a process that missed more reads all codes again."""

HEAD = np.dtype([("id", "<i8"), ("memory", "<i8"), ("part", "<i4"), ("type", "<i4"), ("scale", "<f4")])
Heads = npt.NDArray[np.void]
Codes = npt.NDArray[np.int8]

_OF_FIELD = "FROM vectors v WHERE v.space = ? AND v.field = ? AND v.id > ?"


def exact_limit(dimension: int) -> int:
    """How many vectors are searched exactly in memory."""
    return EXACT_BYTES // (4 * dimension)


def last_packed(connection: apsw.Connection, space: int, field: int) -> int:
    """The last id that is in a block; 0 where there is no block."""
    return number(connection, "SELECT max(last) FROM code_blocks WHERE space = ? AND field = ?", space, field) or 0


def count_after(connection: apsw.Connection, space: int, field: int, id: int = 0) -> int:
    """How many vectors of a field come after an id."""
    return number(connection, f"SELECT count(*) {_OF_FIELD}", space, field, id) or 0


def vectors_after(
    connection: apsw.Connection, space: VectorSpace, field: int, id: int, most: int = -1
) -> tuple[Heads, Floats] | None:
    """The vectors after an id in the order of ids, without scales; None at the end."""
    found = rows(
        connection,
        f"SELECT v.id, v.memory, v.part, v.type, e.embedding FROM (SELECT * {_OF_FIELD} ORDER BY v.id LIMIT ?) v "
        f"CROSS JOIN {table_of(space.dimension)} e ON e.rowid = v.id",
        space.key,
        field,
        id,
        most,
    )
    if not found:
        return None
    heads = np.array([(*head, 0.0) for *head, _ in found], dtype=HEAD)
    return heads, np.frombuffer(b"".join(row[4] for row in found), dtype=np.float32).reshape(len(found), -1)


def pack(connection: apsw.Connection, space: VectorSpace, field: int, most: int) -> int:
    """Write up to `most` further blocks; gives how many vectors went in. Fewer vectors than a block wait."""
    packed = 0
    last = last_packed(connection, space.key, field)
    for _ in range(most):
        found = vectors_after(connection, space, field, last, BLOCK)
        if found is None or len(found[0]) < BLOCK:
            break
        heads, matrix = found
        codes, heads["scale"], _ = coded(matrix)
        last = int(heads["id"][-1])
        connection.execute(
            "INSERT INTO code_blocks (space, field, last, heads, codes) VALUES (?, ?, ?, ?, ?)",
            (space.key, field, last, heads.tobytes(), codes.tobytes()),
        )
        packed += len(heads)
    return packed


def read(
    connection: apsw.Connection, space: VectorSpace, field: int, after: int = 0
) -> Iterator[tuple[int, Heads, Codes]]:
    """Each block with vectors after an id: its key, and heads and codes of those that were not removed."""
    blocks = connection.execute(
        "SELECT key, heads, codes FROM code_blocks WHERE space = ? AND field = ? AND last > ? ORDER BY last",
        (space.key, field, after),
    )
    for key, heads, codes in blocks:
        head = np.frombuffer(heads, dtype=HEAD)
        code = np.frombuffer(codes, dtype=np.int8).reshape(len(head), -1)
        wanted = head["id"] > after
        yield key, *((head, code) if wanted.all() else (head[wanted], code[wanted]))


def erase(connection: apsw.Connection, space: int, field: int, id: int) -> None:
    """Overwrite what a block has of a vector; a block that is mostly empty is written again without the gaps."""
    found = rows(
        connection,
        "SELECT key, heads FROM code_blocks WHERE space = ? AND field = ? AND last >= ? ORDER BY last LIMIT 1",
        space,
        field,
        id,
    )
    if not found:
        return
    key, head = found[0][0], np.frombuffer(found[0][1], dtype=HEAD)
    places = np.flatnonzero(head["id"] == id)
    if len(places):
        for name in ("heads", "codes"):
            with connection.blob_open("main", "code_blocks", name, key, True) as blob:
                size = blob.length() // len(head)
                blob.seek(int(places[0]) * size)
                blob.write(bytes(size))
        if np.count_nonzero(head["id"]) - 1 < len(head) // 2:
            _close_gaps(connection, key)


def _close_gaps(connection: apsw.Connection, key: int) -> None:
    ((heads, codes),) = rows(connection, "SELECT heads, codes FROM code_blocks WHERE key = ?", key)
    head = np.frombuffer(heads, dtype=HEAD)
    left = head["id"] > 0
    if not left.any():
        connection.execute("DELETE FROM code_blocks WHERE key = ?", (key,))
        return
    code = np.frombuffer(codes, dtype=np.int8).reshape(len(head), -1)
    values = (head[left].tobytes(), code[left].tobytes(), key)
    connection.execute("UPDATE code_blocks SET heads = ?, codes = ? WHERE key = ?", values)


def log_removal(connection: apsw.Connection, space: int, field: int, count: int, id: int) -> None:
    """List a removal under its number."""
    connection.execute("INSERT INTO removed_vectors VALUES (?, ?, ?, ?)", (space, field, count, id))
    if count % LOGGED == 0:
        sql = "DELETE FROM removed_vectors WHERE space = ? AND field = ? AND number <= ?"
        connection.execute(sql, (space, field, count - LOGGED))


def removed_since(connection: apsw.Connection, space: int, field: int, count: int) -> list[int]:
    sql = "SELECT id FROM removed_vectors WHERE space = ? AND field = ? AND number > ?"
    return [id for (id,) in rows(connection, sql, space, field, count)]


def drop(connection: apsw.Connection, space: int) -> None:
    """Delete all codes of a space."""
    for table in ("code_blocks", "removed_vectors"):
        connection.execute(f"DELETE FROM {table} WHERE space = ?", (space,))


def wrong_blocks(connection: apsw.Connection, space: VectorSpace) -> int:
    """How many blocks of a space differ from its vectors."""
    fields = rows(connection, "SELECT DISTINCT field FROM code_blocks WHERE space = ?", space.key)
    return sum(_wrong_of_field(connection, space, field) for (field,) in fields)


def _wrong_of_field(connection: apsw.Connection, space: VectorSpace, field: int) -> int:
    wrong = before = 0
    for _, heads, codes in read(connection, space, field):
        if len(heads):
            last = int(heads["id"][-1])
            wrong += not _agrees(connection, space, field, before, heads, codes)
            before = last
    return wrong


def _agrees(
    connection: apsw.Connection, space: VectorSpace, field: int, before: int, heads: Heads, codes: Codes
) -> bool:
    found = vectors_after(connection, space, field, before, len(heads))
    if found is None:
        return False
    expected, matrix = found
    expected_codes, expected["scale"], _ = coded(matrix)
    return bool(np.array_equal(heads, expected) and np.array_equal(codes, expected_codes))
