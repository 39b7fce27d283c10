"""Lexical search over few memories: their lexemes lie in one table for all namespaces and are read as a whole.

These are all memories of a small namespace, and of a large one those that were written last and wait for its index. The
scores are those of the index, to the last bit: the same BM25, summed in the same order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import apsw

from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sql.lexeme_writer import COUNT_BITS, PREDICATE_WEIGHT
from fivefold.stores.sqlite.connection import rows
from fivefold.stores.sqlite.documents import LAST_CHARACTER, Corpus, Document

MOST_MEMORIES = 1_000
MOST_CHARACTERS = 300_000
"""A namespace with more memories, or with more characters of lexemes, gets an index."""

MOST_RECENT = 400
MOST_RECENT_CHARACTERS = 120_000
"""In a namespace with an index, more memories or characters than that are moved into it."""

_OF = "FROM lexemes WHERE namespace = ? AND sessions = ?"


def documents(connection: apsw.Connection, namespace: int, sessions: bool) -> list[Document]:
    """All documents of a namespace that are not in an index."""
    found = rows(connection, f"SELECT memory, length, predicate, content {_OF}", namespace, int(sessions))
    return [Document(*row) for row in found]


def add(connection: apsw.Connection, namespace: int, sessions: int, found: Iterable[Document]) -> None:
    values = ((namespace, sessions, *document) for document in found)
    connection.executemany("INSERT INTO lexemes VALUES (?, ?, ?, ?, ?, ?)", values)


def remove(connection: apsw.Connection, namespace: int, kind: str, row: int) -> bool:
    """Delete a document; false where it is not here."""
    connection.execute(f"DELETE {_OF} AND memory = ?", (namespace, int(kind == "session"), row))
    return connection.changes() > 0


def clear(connection: apsw.Connection, namespace: int) -> None:
    connection.execute("DELETE FROM lexemes WHERE namespace = ?", (namespace,))


def is_large(
    connection: apsw.Connection, namespace: int, has_index: bool = False, more: Sequence[Document] = ()
) -> bool:
    """Whether the documents of the namespace, and some more, have outgrown the table."""
    sql = "SELECT count(*), coalesce(sum(length(predicate) + length(content)), 0) FROM lexemes WHERE namespace = ?"
    ((memories, characters),) = rows(connection, sql, namespace)
    memories += len(more)
    characters += sum(len(item.predicate) + len(item.content) for item in more)
    if has_index:
        return bool(memories > MOST_RECENT or characters > MOST_RECENT_CHARACTERS)
    return bool(memories > MOST_MEMORIES or characters > MOST_CHARACTERS)


def counts_of(found: Sequence[Document], lexemes: Sequence[str]) -> list[tuple[Document, list[int]]]:
    """The documents with any of the lexemes, and how often each of these occurs, packed.

    All documents are searched as one text.
    """
    counts: dict[int, list[int]] = {}
    for weight, texts in (
        (PREDICATE_WEIGHT + (1 << COUNT_BITS), [item.predicate for item in found]),
        (1, [item.content for item in found]),
    ):
        for place, document in _occurrences(texts, lexemes):
            counts.setdefault(document, [0] * len(lexemes))[place] += weight
    return [(found[document], counts[document]) for document in sorted(counts)]


def _occurrences(texts: Sequence[str], lexemes: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Each place of a lexeme in the texts, in which spaces separate lexemes: which lexeme it is, and in which text."""
    joined = "".join([f" {text} \n" for text in texts])
    starts = list(accumulate((len(text) + 3 for text in texts), initial=0))
    for place, lexeme in enumerate(lexemes):
        wanted = f" {lexeme} "
        at = joined.find(wanted)
        while at >= 0:
            yield place, bisect_right(starts, at) - 1
            at = joined.find(wanted, at + len(wanted) - 1)


def scores(
    matching: Sequence[tuple[Document, list[int]]], idf: Sequence[float], corpus: Corpus, multiplied: bool = False
) -> dict[int, float]:
    """BM25 of each document that matches."""
    return {
        item.memory: sum(
            corpus.share(weight, count, item.length, multiplied)
            for weight, count in zip(idf, counts, strict=True)
            if count
        )
        for item, counts in matching
    }


def latest(found: Sequence[Document], lexemes: Sequence[str]) -> list[int]:
    """The rows with any of the lexemes."""
    return [item.memory for item, _ in counts_of(found, lexemes)]


def vocabulary(found: Sequence[Document], prefix: str = "") -> Counter[str]:
    """In how many documents each lexeme is."""
    return Counter(lexeme for item in found for lexeme in item.lexemes() if prefix <= lexeme < prefix + LAST_CHARACTER)


def of_types(connection: apsw.Connection, found: Sequence[int], keep: Kept) -> set[int]:
    """Those of the rows whose memories have the types of a filter."""
    types = ", ".join("?" * len(keep.types))
    typed = "SELECT m.row FROM json_each(?) f CROSS JOIN memories m ON m.row = f.value"
    return {row for (row,) in rows(connection, f"{typed} WHERE m.type IN ({types})", str(list(found)), *keep.types)}
