"""The postings of a lexeme: which documents have it, how often, and how long these are.

They lie in blocks of rising rows. New ones go into the last block while it is small. Then they make a block of their
own, which is joined with those before it as long as these are not much larger. So each posting is rewritten a few times
only, a frequent lexeme lies in few large blocks, and none of the blocks overlaps another.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from fivefold.stores.sql.index import packed_counts
from fivefold.stores.sqlite.dialect import number, rows

# A memory as lexical search sees it: its lexemes, and what one of them adds to its score by BM25 (R4).

K1, B = 1.2, 0.75
"""The constants of BM25, as in SQLite's FTS5."""

MIN_IDF = 1e-6
"""Weight of a lexeme that more than half of all documents have."""

LAST_CHARACTER = "\U0010ffff"
"""Comes after every character of a lexeme."""


class Document(NamedTuple):
    """The lexemes of one memory, each list joined by spaces."""

    memory: int
    length: int
    predicate: str
    content: str

    def counts(self) -> dict[str, int]:
        """Number of times each of its lexemes occurs, in both fields."""
        return packed_counts(self.predicate.split(), self.content.split())

    def lexemes(self) -> set[str]:
        return {*self.predicate.split(" "), *self.content.split(" ")} - {""}


class Corpus(NamedTuple):
    """The numbers that BM25 needs of all documents together."""

    documents: int
    lexemes: int

    @property
    def average(self) -> float:
        return self.lexemes / max(1, self.documents)

    def idf(self, matching: int) -> float:
        """The weight of a lexeme, by the number of documents that have it."""
        return max(math.log((self.documents - matching + 0.5) / (matching + 0.5)), 0.0) or MIN_IDF


BLOCK = 2_048
"""The most postings of one block."""

SMALL_BLOCK = 64
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
    first: int
    last: int
    size: int


def unpack(data: bytes) -> Packed:
    return np.frombuffer(data, dtype="<u4").reshape(-1, 3)


def read(connection: apsw.Connection, namespace: int, terms: Sequence[int]) -> dict[int, bytes]:
    """All postings of these terms."""
    sql = "SELECT term, documents FROM postings WHERE namespace = ? AND term IN (SELECT value FROM json_each(?))"
    found: dict[int, list[bytes]] = {}
    for term, data in connection.execute(f"{sql} ORDER BY term, first", (namespace, json.dumps(terms))):
        found.setdefault(term, []).append(data)
    return {term: b"".join(blocks) for term, blocks in found.items()}


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
    """The last rows of a term, as many as asked for if there are so many, the last one first."""
    found: list[int] = []
    for (data,) in connection.execute(f"SELECT documents {_OF} ORDER BY first DESC", (namespace, term)):
        found += unpack(data)[len(found) - most :, 0][::-1].tolist()
        if len(found) >= most:
            break
    return found


class Appender:
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
            if (size := tail.size + len(data) // WIDTH) <= SMALL_BLOCK:
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


def _remove_postings(connection: apsw.Connection, namespace: int, term: int, gone: Sequence[int]) -> Tail | None:
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
    """Puts postings of older rows in their places; gives the last block."""
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
    for start in range(0, len(data), BLOCK * WIDTH):
        block = data[start : start + BLOCK * WIDTH]
        yield namespace, term, _row(block, 0), _row(block, -WIDTH), block


def _row(data: bytes, place: int) -> int:
    place %= len(data)
    return int.from_bytes(data[place : place + 4], "little")


# Writing the lexical index of a large namespace: documents, statistics and postings. Documents come into it many at a
# time: those that were written last wait in the table `lexemes`, which every search reads as a whole. So a single write
# costs one row, and a batch touches each of its lexemes once.

TABLES = ("documents", "corpora", "terms", "postings")

AT_ONCE = 5_000
"""Documents that are indexed together; more would take much memory."""


def move_recent(connection: apsw.Connection, namespace: int, sessions: int, more: Sequence[Document] = ()) -> None:
    """Index the documents that wait in the table `lexemes` and some more, and delete the former from it."""
    of = "FROM lexemes WHERE namespace = ? AND sessions = ?"
    first = f"SELECT memory, length, predicate, content {of} ORDER BY memory LIMIT ?"
    while found := rows(connection, first, namespace, sessions, AT_ONCE):
        documents = [Document(*row) for row in found]
        connection.execute(f"DELETE {of} AND memory <= ?", (namespace, sessions, documents[-1].memory))
        if len(documents) < AT_ONCE:
            documents, more = [*documents, *more], ()
        add(connection, namespace, sessions, sorted(documents))
    if more:
        add(connection, namespace, sessions, sorted(more))
    _count(connection, namespace, sessions, ())


def index_again(connection: apsw.Connection) -> None:
    """Index the documents of all namespaces again, in a file whose counts have an older form."""
    corpora = rows(connection, "SELECT DISTINCT namespace, sessions FROM documents")
    columns = "namespace, sessions, memory, length, predicate, content"
    connection.execute(f"INSERT INTO lexemes ({columns}) SELECT {columns} FROM documents")
    for table in TABLES:
        connection.execute(f"DELETE FROM {table}")
    for namespace, sessions in corpora:
        move_recent(connection, namespace, sessions)


def add(connection: apsw.Connection, namespace: int, sessions: int, documents: Sequence[Document]) -> None:
    """Index documents, given in rising rows."""
    connection.executemany(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", ((namespace, sessions, *item) for item in documents)
    )
    new: dict[str, array[int]] = {}
    for item in documents:
        for lexeme, count in item.counts().items():
            new.setdefault(lexeme, array("I")).extend((item.memory, count, item.length))
    _add_postings(connection, namespace, sessions, new)
    _count(connection, namespace, sessions, documents)


def _add_postings(connection: apsw.Connection, namespace: int, sessions: int, new: dict[str, array[int]]) -> None:
    """Add each lexeme's documents, packed, to those that it has."""
    ((number,),) = connection.execute("SELECT coalesce(max(term), 0) FROM postings WHERE namespace = ?", (namespace,))
    known = {lexeme: (term, tail) for lexeme, term, _, tail in terms_of(connection, namespace, sessions, new)}
    adding, changed = Appender(connection, namespace), []
    for lexeme, packed in sorted(new.items()):
        if lexeme in known:
            term, tail = known[lexeme]
            last = adding.add(term, tail, _bytes_of(packed))
        else:
            number += 1
            term, last = number, adding.add(number, None, _bytes_of(packed))
        changed.append((namespace, sessions, lexeme, term, len(packed) // 3, *last))
    adding.write()
    connection.executemany(
        "INSERT INTO terms VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, sessions, lexeme) DO UPDATE SET "
        "documents = documents + excluded.documents, "
        "first = excluded.first, last = excluded.last, size = excluded.size",
        changed,
    )


def remove_documents(connection: apsw.Connection, namespace: int, sessions: int, documents: Sequence[Document]) -> None:
    """Delete the postings of documents whose own rows are deleted already."""
    gone: dict[str, list[int]] = {}
    for item in sorted(documents):
        for lexeme in item.lexemes():
            gone.setdefault(lexeme, []).append(item.memory)
    left = []
    for lexeme, term, count, _ in terms_of(connection, namespace, sessions, gone):
        tail = _remove_postings(connection, namespace, term, gone[lexeme])
        left.append((count - len(gone[lexeme]), *(tail or (0, 0, 0)), namespace, sessions, lexeme))
    of = "WHERE namespace = ? AND sessions = ? AND lexeme = ?"
    connection.executemany(f"UPDATE terms SET documents = ?, first = ?, last = ?, size = ? {of}", left)
    connection.executemany(f"DELETE FROM terms {of} AND documents <= 0", (row[-3:] for row in left))
    _count(connection, namespace, sessions, documents, -1)


def take(connection: apsw.Connection, namespace: int, sessions: int, memory: int) -> Document | None:
    """Delete the row of a document and give it; its postings are left to `remove`."""
    of = "WHERE namespace = ? AND sessions = ? AND memory = ? RETURNING memory, length, predicate, content"
    found = rows(connection, f"DELETE FROM documents {of}", namespace, sessions, memory)
    return Document(*found[0]) if found else None


def clear(connection: apsw.Connection, namespace: int) -> None:
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE namespace = ?", (namespace,))


def terms_of(
    connection: apsw.Connection, namespace: int, sessions: int, lexemes: Iterable[str]
) -> list[tuple[str, int, int, Tail]]:
    """The lexemes that the index knows, each with its number, in how many documents it is, and its last block."""
    found = connection.execute(
        "SELECT t.lexeme, t.term, t.documents, t.first, t.last, t.size FROM json_each(?) wanted CROSS JOIN terms t "
        "ON t.namespace = ? AND t.sessions = ? AND t.lexeme = wanted.value",
        (json.dumps(list(lexemes), ensure_ascii=False), namespace, sessions),
    )
    return [(lexeme, term, count, Tail(*tail)) for lexeme, term, count, *tail in found]


def wrong_statistics(connection: apsw.Connection, namespace: int) -> int:
    """Number of lexemes and corpora whose numbers differ from the documents."""
    of_lexeme: dict[tuple[int, str], list[int]] = {}
    for sessions, *row in connection.execute(
        "SELECT sessions, memory, length, predicate, content FROM documents WHERE namespace = ?", (namespace,)
    ):
        document = Document(*row)
        for lexeme, count in document.counts().items():
            expected = of_lexeme.setdefault((sessions, lexeme), [0, 0])
            expected[0] += 1
            expected[1] += checksum(document.memory, count, document.length)
    wrong, sums = 0, checksums(connection, namespace)
    terms = "SELECT sessions, lexeme, documents, term, first, last, size FROM terms WHERE namespace = ?"
    for sessions, lexeme, documents, term, *tail in connection.execute(terms, (namespace,)):
        count, total = of_lexeme.pop((sessions, lexeme), (0, 0))
        wrong += (documents, sums.get(term)) != (count, (total % (1 << 64), *tail))
    ((corpora,),) = rows(
        connection,
        "SELECT count(*) FROM corpora c WHERE namespace = ? AND (documents, lexemes) <> (SELECT count(*), "
        "coalesce(sum(d.length), 0) FROM documents d WHERE d.namespace = c.namespace AND d.sessions = c.sessions)",
        namespace,
    )
    return wrong + len(of_lexeme) + int(corpora)


def _count(
    connection: apsw.Connection, namespace: int, sessions: int, documents: Sequence[Document], sign: int = 1
) -> None:
    """Count documents in, or out, and give the index another version."""
    lexemes = sum(item.length for item in documents)
    connection.execute(
        "INSERT INTO corpora VALUES (?, ?, ?, ?, random()) ON CONFLICT (namespace, sessions) DO UPDATE SET "
        "documents = documents + excluded.documents, lexemes = lexemes + excluded.lexemes, version = random()",
        (namespace, sessions, sign * len(documents), sign * lexemes),
    )


def _bytes_of(packed: array[int]) -> bytes:
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
