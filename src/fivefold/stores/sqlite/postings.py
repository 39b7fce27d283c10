"""The postings of a lexeme: which documents have it, how often, and how long these are.

They lie in blocks of rising rows. New ones go into the last block while it is small. Then they make a block of their
own, which is joined with those before it as long as these are not much larger. So each posting is rewritten a few times
only, a frequent lexeme lies in few large blocks, and none of the blocks overlaps another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from fivefold.stores.sqlite.statements import number, rows

BLOCK = 2_048
"""The most postings of one block."""

SMALL = 64
"""The postings up to which a block takes new ones in place: it fits into its page."""

WIDTH = 12
"""Bytes of one posting: row, count and length."""

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
"""Odd, so that no bit is lost in a product modulo 2⁶⁴."""

Packed = npt.NDArray[np.uint32]
"""Postings as rows of three numbers."""

_COLUMNS = "INSERT OR REPLACE INTO postings (namespace, term, first, last, documents) VALUES (?, ?, ?, ?, ?)"
_OF = "FROM postings WHERE namespace = ? AND term = ?"


class Tail(NamedTuple):
    """The last block of a term."""

    first: int
    last: int
    size: int


def unpack(data: bytes) -> Packed:
    return np.frombuffer(data, dtype="<u4").reshape(-1, 3)


def read(connection: apsw.Connection, namespace: int, term: int) -> bytes:
    """All postings of a term."""
    return b"".join(data for (data,) in connection.execute(f"SELECT documents {_OF} ORDER BY first", (namespace, term)))


def checksum(memory: int, count: int, length: int) -> int:
    """The sum of these over the postings of a term changes with each bit of one of them."""
    return memory * _FACTORS[0] + count * _FACTORS[1] + length * _FACTORS[2]


def checksums(connection: apsw.Connection, namespace: int) -> dict[int, tuple[int, ...]]:
    """The checksum of each term's postings and its last block; without it if a block is not as its row says."""
    found: dict[int, tuple[int, ...]] = {}
    factors = np.array(_FACTORS, np.uint64)
    sql = "SELECT term, first, last, documents FROM postings WHERE namespace = ? ORDER BY term, first"
    for term, first, last, data in connection.execute(sql, (namespace,)):
        packed = unpack(data)
        memories = packed[:, 0]
        total, *_, before, _ = found.get(term, (0, 0, -1, 0))
        whole = len(data) > 0 and (memories[0], memories[-1]) == (first, last) and first > before
        if whole and (memories[1:] > memories[:-1]).all():
            total += int((packed * factors).sum())
            found[term] = (total % (1 << 64), first, last, len(packed))
        else:
            found[term] = (-1, 0, 1 << 32, 0)
    return found


def read_latest(connection: apsw.Connection, namespace: int, term: int, most: int) -> list[int]:
    """The last rows of a term, as many as are asked for where there are, the last one first."""
    found: list[int] = []
    for (data,) in connection.execute(f"SELECT documents {_OF} ORDER BY first DESC", (namespace, term)):
        found += unpack(data)[len(found) - most :, 0][::-1].tolist()
        if len(found) >= most:
            break
    return found


class Appending:
    """Postings that are added to many terms, each in rising rows; written by few statements at the end."""

    def __init__(self, connection: apsw.Connection, namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace
        self._grown: list[tuple[int, bytes, int, int, int]] = []
        self._blocks: list[tuple[int, int, int, int, bytes]] = []

    def add(self, term: int, tail: Tail | None, data: bytes) -> Tail:
        """Add postings to a term; gives its last block as it will be."""
        last = _row(data, -WIDTH)
        if tail is not None:
            if _row(data, 0) <= tail.last:
                return _insert(self._connection, self._namespace, term, data)
            if (size := tail.size + len(data) // WIDTH) <= SMALL:
                self._grown.append((last, data, self._namespace, term, tail.first))
                return Tail(tail.first, last, size)
            data = _joined(self._connection, self._namespace, term, tail, data)
        blocks = list(_blocks(self._namespace, term, data))
        self._blocks += blocks
        return Tail(blocks[-1][2], last, len(blocks[-1][4]) // WIDTH)

    def write(self) -> None:
        self._connection.executemany(
            "UPDATE postings SET last = ?, documents = CAST(documents || ? AS BLOB) "
            "WHERE namespace = ? AND term = ? AND first = ?",
            self._grown,
        )
        self._connection.executemany(_COLUMNS, self._blocks)


def remove(connection: apsw.Connection, namespace: int, term: int, gone: Sequence[int]) -> Tail | None:
    """Delete the postings of some rows, which are given in rising order; gives the last block that is left."""
    for first, data, group in _by_block(connection, namespace, term, gone):
        known = unpack(data)
        kept = known[~np.isin(known[:, 0], group)]
        connection.execute(f"DELETE {_OF} AND first = ?", (namespace, term, first))
        connection.executemany(_COLUMNS, _blocks(namespace, term, kept.tobytes()))
    return _tail(connection, namespace, term)


def _tail(connection: apsw.Connection, namespace: int, term: int) -> Tail | None:
    sql = f"SELECT first, last, length(documents) / {WIDTH} {_OF} ORDER BY first DESC LIMIT 1"
    return next((Tail(*found) for found in rows(connection, sql, namespace, term)), None)


def _joined(connection: apsw.Connection, namespace: int, term: int, tail: Tail | None, data: bytes) -> bytes:
    """The postings with the blocks before them that are not much larger; these are deleted."""
    while tail is not None and tail.size <= 2 * len(data) // WIDTH and tail.size + len(data) // WIDTH <= BLOCK:
        of = (namespace, term, tail.first)
        ((before,),) = connection.execute(f"SELECT documents {_OF} AND first = ?", of)
        connection.execute(f"DELETE {_OF} AND first = ?", of)
        data = before + data
        tail = _tail(connection, namespace, term)
    return data


def _insert(connection: apsw.Connection, namespace: int, term: int, data: bytes) -> Tail:
    """Put postings of older rows where they belong; gives the last block."""
    new = unpack(data)
    for first, known, group in _by_block(connection, namespace, term, new[:, 0].tolist()):
        both = np.concatenate([unpack(known), new[np.isin(new[:, 0], group)]])
        connection.execute(f"DELETE {_OF} AND first = ?", (namespace, term, first))
        connection.executemany(_COLUMNS, _blocks(namespace, term, both[np.argsort(both[:, 0])].tobytes()))
    tail = _tail(connection, namespace, term)
    assert tail is not None
    return tail


def _by_block(
    connection: apsw.Connection, namespace: int, term: int, memories: Sequence[int]
) -> Iterator[tuple[int, bytes, list[int]]]:
    """Rows in rising order by the block they belong to: its first row, its postings, and those rows."""
    place = 0
    while place < len(memories):
        before = f"SELECT first, documents {_OF} AND first <= ? ORDER BY first DESC LIMIT 1"
        earliest = f"SELECT first, documents {_OF} ORDER BY first LIMIT 1"
        found = rows(connection, before, namespace, term, memories[place]) or rows(
            connection, earliest, namespace, term
        )
        if not found:
            return
        ((first, data),) = found
        after = number(connection, f"SELECT min(first) {_OF} AND first > ?", namespace, term, first)
        start, place = place, place + 1
        while place < len(memories) and (after is None or memories[place] < after):
            place += 1
        yield first, data, list(memories[start:place])


def _blocks(namespace: int, term: int, data: bytes) -> Iterator[tuple[int, int, int, int, bytes]]:
    """Postings as rows of the table."""
    for start in range(0, len(data), BLOCK * WIDTH):
        block = data[start : start + BLOCK * WIDTH]
        yield namespace, term, _row(block, 0), _row(block, -WIDTH), block


def _row(data: bytes, place: int) -> int:
    place %= len(data)
    return int.from_bytes(data[place : place + 4], "little")
