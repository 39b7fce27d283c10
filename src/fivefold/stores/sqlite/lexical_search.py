"""Lexical search in a namespace of any size: by its own FTS5 index, or over the table of all small namespaces."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite import lexical, shared_lexemes
from fivefold.stores.sqlite.connection import one_snapshot, rows
from fivefold.values.recall_trace import RouteHit


def has_index(connection: apsw.Connection, namespace: int) -> bool:
    """Whether the namespace has an index of its own.

    The statement comes first: it lets the connection see tables that another connection has made.
    """
    if rows(connection, "SELECT 1 FROM lexemes WHERE namespace = ? LIMIT 1", namespace):
        return False
    return connection.table_exists("main", lexical.table_of(namespace, "turn"))


def search(
    connection: apsw.Connection, namespace: int, lexemes: Sequence[str], depth: int, keep: Kept, sessions: bool = False
) -> list[RouteHit]:
    """The best by BM25, higher is better; any of the lexemes may match."""
    with one_snapshot(connection):
        if has_index(connection, namespace):
            return lexical.search(connection, namespace, lexemes, depth, keep, sessions)
        found = shared_lexemes.documents(connection, namespace, sessions)
        return shared_lexemes.search(connection, found, lexemes, depth, keep)


def latest(connection: apsw.Connection, namespace: int, lexemes: Sequence[str], limit: int) -> list[int]:
    """The latest rows with any of the lexemes."""
    with one_snapshot(connection):
        if has_index(connection, namespace):
            return lexical.latest(connection, namespace, lexemes, limit)
        return shared_lexemes.latest(shared_lexemes.documents(connection, namespace, False), lexemes, limit)


def vocabulary(connection: apsw.Connection, namespace: int, most: int, prefix: str = "") -> list[str]:
    """The lexemes of most documents; session memories are left out, which repeat their turns."""
    with one_snapshot(connection):
        if has_index(connection, namespace):
            return lexical.vocabulary(connection, namespace, most, prefix)
        return shared_lexemes.vocabulary(shared_lexemes.documents(connection, namespace, False), most, prefix)


def rows_of(connection: apsw.Connection, namespace: int, kind: str) -> tuple[str, tuple[int, ...]]:
    """A statement that gives the memories of a kind that are in the index, and its parameters."""
    if has_index(connection, namespace):
        return f"SELECT id FROM {lexical.table_of(namespace, kind)}_docsize", ()
    return "SELECT memory FROM lexemes WHERE namespace = ? AND sessions = ?", (namespace, int(kind == "session"))
