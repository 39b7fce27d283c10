"""Writing the lexical index of a large namespace: documents, statistics and postings.

Documents come into it many at a time: those that were written last wait in the table `lexemes`, which every search
reads as a whole. So a single write costs one row, and a batch touches each of its lexemes once.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Sequence

import apsw

from fivefold.stores.sqlite import postings
from fivefold.stores.sqlite.documents import Document
from fivefold.stores.sqlite.statements import rows

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
    adding, changed = postings.Appending(connection, namespace), []
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


def remove(connection: apsw.Connection, namespace: int, sessions: int, documents: Sequence[Document]) -> None:
    """Delete the postings of documents whose own rows are deleted already."""
    gone: dict[str, list[int]] = {}
    for item in sorted(documents):
        for lexeme in item.lexemes():
            gone.setdefault(lexeme, []).append(item.memory)
    left = []
    for lexeme, term, count, _ in terms_of(connection, namespace, sessions, gone):
        tail = postings.remove(connection, namespace, term, gone[lexeme])
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
) -> list[tuple[str, int, int, postings.Tail]]:
    """The lexemes that the index knows, each with its number, in how many documents it is, and its last block."""
    found = connection.execute(
        "SELECT t.lexeme, t.term, t.documents, t.first, t.last, t.size FROM json_each(?) wanted CROSS JOIN terms t "
        "ON t.namespace = ? AND t.sessions = ? AND t.lexeme = wanted.value",
        (json.dumps(list(lexemes), ensure_ascii=False), namespace, sessions),
    )
    return [(lexeme, term, count, postings.Tail(*tail)) for lexeme, term, count, *tail in found]


def wrong_statistics(connection: apsw.Connection, namespace: int) -> int:
    """How many lexemes and corpora differ from those of the documents."""
    of_lexeme: dict[tuple[int, str], list[int]] = {}
    for sessions, *row in connection.execute(
        "SELECT sessions, memory, length, predicate, content FROM documents WHERE namespace = ?", (namespace,)
    ):
        document = Document(*row)
        for lexeme, count in document.counts().items():
            expected = of_lexeme.setdefault((sessions, lexeme), [0, 0])
            expected[0] += 1
            expected[1] += postings.checksum(document.memory, count, document.length)
    wrong, sums = 0, postings.checksums(connection, namespace)
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
