"""Lexical search over few memories: their lexemes lie in one table for all namespaces and are read as a whole.

The scores are those that FTS5 gives, to the last bit: the same BM25, summed in the same order. So nothing changes for
a namespace that grows and gets an index of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw

from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite.connection import rows
from fivefold.stores.sqlite.lexical import LAST_CHARACTER, PREDICATE_WEIGHT
from fivefold.values.recall_trace import RouteHit

MOST_MEMORIES = 1_000
MOST_CHARACTERS = 300_000
"""A namespace with more memories, or with more characters of lexemes, gets an index of its own."""

K1, B = 1.2, 0.75
"""The constants of BM25, which FTS5 fixes."""

LEAST_IDF = 1e-6
"""What FTS5 counts for a lexeme that more than half of all documents have."""

_OF = "FROM lexemes WHERE namespace = ? AND sessions = ?"


class Document(NamedTuple):
    """The lexemes of one memory, each list joined by spaces."""

    memory: int
    length: int
    predicate: str
    content: str

    def weight_of(self, lexeme: str) -> float:
        """How often a lexeme occurs; once in the predicate counts as several times in the content (R4)."""
        if lexeme not in self.content and lexeme not in self.predicate:  # a quick look, right for most
            return 0.0
        return PREDICATE_WEIGHT * self.predicate.split(" ").count(lexeme) + self.content.split(" ").count(lexeme)

    def lexemes(self) -> set[str]:
        return {*self.predicate.split(" "), *self.content.split(" ")} - {""}


def documents(connection: apsw.Connection, namespace: int, sessions: bool) -> list[Document]:
    """All documents of a namespace that has no index of its own."""
    found = rows(connection, f"SELECT memory, length, predicate, content {_OF}", namespace, int(sessions))
    return [Document(*row) for row in found]


def add(
    connection: apsw.Connection, namespace: int, kind: str, row: int, predicate: Sequence[str], content: Sequence[str]
) -> None:
    length = len(predicate) + len(content)
    values = (namespace, int(kind == "session"), row, length, " ".join(predicate), " ".join(content))
    connection.execute("INSERT INTO lexemes VALUES (?, ?, ?, ?, ?, ?)", values)


def remove(connection: apsw.Connection, namespace: int, kind: str, row: int) -> None:
    connection.execute(f"DELETE {_OF} AND memory = ?", (namespace, int(kind == "session"), row))


def clear(connection: apsw.Connection, namespace: int) -> None:
    connection.execute("DELETE FROM lexemes WHERE namespace = ?", (namespace,))


def is_large(connection: apsw.Connection, namespace: int) -> bool:
    """Whether the namespace has outgrown the table."""
    sql = "SELECT count(*), coalesce(sum(length(predicate) + length(content)), 0) FROM lexemes WHERE namespace = ?"
    ((memories, characters),) = rows(connection, sql, namespace)
    return bool(memories > MOST_MEMORIES or characters > MOST_CHARACTERS)


def move(connection: apsw.Connection, namespace: int, sessions: bool, table: str) -> None:
    """Move the documents into an index."""
    of = (namespace, int(sessions))
    connection.execute(f"INSERT INTO {table}(rowid, predicate, content) SELECT memory, predicate, content {_OF}", of)
    connection.execute(f"DELETE {_OF}", of)


def search(
    connection: apsw.Connection, found: Sequence[Document], lexemes: Sequence[str], depth: int, keep: Kept
) -> list[RouteHit]:
    """The best by BM25, higher is better; any of the lexemes may match."""
    scores = dict(_scores(found, list(dict.fromkeys(lexemes))))
    kept = _kept(connection, list(scores), keep)
    best = sorted(kept, key=lambda row: (-scores[row], row))
    return [RouteHit(row, scores[row]) for row in best[:depth]]


def latest(found: Sequence[Document], lexemes: Sequence[str], limit: int) -> list[int]:
    """The latest rows with any of the lexemes."""
    matching = (item.memory for item in found if any(map(item.weight_of, lexemes)))
    return sorted(matching, reverse=True)[:limit]


def vocabulary(found: Sequence[Document], most: int, prefix: str = "") -> list[str]:
    """The lexemes of most documents."""
    counts = Counter(
        lexeme for item in found for lexeme in item.lexemes() if prefix <= lexeme < prefix + LAST_CHARACTER
    )
    return sorted(counts, key=lambda lexeme: (-counts[lexeme], lexeme))[:most]


def _scores(found: Sequence[Document], lexemes: Sequence[str]) -> Iterator[tuple[int, float]]:
    """BM25 of each document that matches, as the function of FTS5 computes it."""
    matching = [(item, counts) for item in found if any(counts := [item.weight_of(lexeme) for lexeme in lexemes])]
    idf = [_idf(len(found), sum(counts[place] > 0 for _, counts in matching)) for place in range(len(lexemes))]
    average = sum(item.length for item in found) / max(1, len(found))
    for item, counts in matching:
        score = 0.0
        for weight, count in zip(idf, counts, strict=True):
            score += weight * ((count * (K1 + 1.0)) / (count + K1 * (1 - B + B * item.length / average)))
        yield item.memory, score


def _idf(documents: int, matching: int) -> float:
    return max(math.log((documents - matching + 0.5) / (matching + 0.5)), 0.0) or LEAST_IDF


def _kept(connection: apsw.Connection, found: list[int], keep: Kept) -> list[int]:
    """Those of the rows that a filter leaves."""
    if keep.rows is not None:
        allowed = set(keep.rows.rows.tolist())
        found = [row for row in found if row in allowed]
    if keep.types:
        types = ", ".join("?" * len(keep.types))
        typed = "SELECT m.row FROM json_each(?) f CROSS JOIN memories m ON m.row = f.value"
        of_type = rows(connection, f"{typed} WHERE m.type IN ({types})", str(found), *keep.types)
        found = [row for (row,) in of_type]
    return found
