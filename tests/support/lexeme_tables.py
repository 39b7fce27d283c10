"""A store in memory for tests of lexical search, which many examples share."""

from __future__ import annotations

from functools import cache

import apsw

from fivefold.stores.sqlite import postings as lexeme_index
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import migrate, migrations


@cache
def _connection() -> apsw.Connection:
    connection = connect(":memory:")
    migrate(connection, ":memory:", migrations())
    connection.execute("PRAGMA foreign_keys = OFF")
    return connection


def empty_store() -> apsw.Connection:
    """The connection, without memories and lexemes."""
    connection = _connection()
    for table in ("lexemes", "memories", *lexeme_index.TABLES):
        connection.execute(f"DELETE FROM {table}")
    return connection
