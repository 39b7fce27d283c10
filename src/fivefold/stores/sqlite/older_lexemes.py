"""The FTS5 indexes of older files: moved into postings by a migration, or read where nothing can be written."""

from __future__ import annotations

import re
from collections.abc import Iterator

import apsw

from fivefold.stores.sqlite import lexeme_index
from fivefold.stores.sqlite.statements import rows

_TABLE = re.compile(r"lex_(\d+)(_sessions)?")
_LENGTH = "length({0}) - length(replace({0}, ' ', '')) + ({0} <> '')"
"""How many lexemes a column has, which spaces separate."""


def move_all(connection: apsw.Connection) -> None:
    """Move the documents of every FTS5 index into postings, and delete the index."""
    for table, namespace, sessions in list(_tables(connection)):
        connection.execute(f"INSERT INTO lexemes {_documents(table, namespace, sessions)}")
        connection.execute(f"DROP TABLE {table}")
        lexeme_index.move_recent(connection, namespace, sessions)


def show_all(connection: apsw.Connection, has_table: bool) -> None:
    """Let an older file look as one whose memories all wait for their index, which is slower to search."""
    parts = [_documents(*table) for table in _tables(connection)]
    if has_table:
        parts.append("SELECT namespace, sessions, memory, length, predicate, content FROM main.lexemes")
    parts.append("SELECT 0, 0, 0, 0, '', '' WHERE 0")
    columns = "lexemes (namespace, sessions, memory, length, predicate, content)"
    connection.execute(f"CREATE TEMP VIEW {columns} AS {' UNION ALL '.join(parts)}")
    connection.execute(
        "CREATE TEMP TABLE documents (namespace, sessions, memory, length, predicate, content); "
        "CREATE TEMP TABLE corpora (namespace, sessions, documents, lexemes, version); "
        "CREATE TEMP TABLE terms (namespace, sessions, lexeme, term, documents, first, last, size); "
        "CREATE TEMP TABLE postings (namespace, term, first, last, documents)"
    )


def _tables(connection: apsw.Connection) -> Iterator[tuple[str, int, int]]:
    """Each index with its namespace, and whether it is that of sessions."""
    for (name,) in rows(connection, "SELECT name FROM main.sqlite_master WHERE type = 'table'"):
        if match := _TABLE.fullmatch(name):
            yield name, int(match[1]), int(match[2] is not None)


def _documents(table: str, namespace: int, sessions: int) -> str:
    length = f"{_LENGTH.format('c0')} + {_LENGTH.format('c1')}"
    return f"SELECT {namespace}, {sessions}, id, {length}, c0, c1 FROM main.{table}_content"
