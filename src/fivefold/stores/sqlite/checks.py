"""The checks of a file: it is sound, and everything derived agrees with the memories."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from fivefold.stores.sql.checks import (
    check_entities,
    check_labels,
    check_sessions,
    check_times,
    check_vectors,
    count_rows,
)
from fivefold.stores.sqlite import lexical_search, token_rows, vectors
from fivefold.stores.sqlite.dialect import SQLITE, SqliteDatabase
from fivefold.stores.sqlite.schema import TIMES
from fivefold.values.reports import Finding


def check(connection: apsw.Connection, namespace: int | None) -> Iterator[Finding]:
    yield from check_file(connection)
    if namespace is None:
        yield Finding("namespace", True, "nothing stored yet")
    else:
        yield from check_namespace(connection, namespace)


def check_file(connection: apsw.Connection) -> Iterator[Finding]:
    """What concerns the file as a whole."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check") if row[0] != "ok"]
    yield Finding("file", not problems, problems[0] if problems else "every page is readable")
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    yield Finding("references", not broken, f"{len(broken)} rows point nowhere" if broken else "all resolve")


def check_namespace(connection: apsw.Connection, namespace: int) -> Iterator[Finding]:
    """What was derived from one namespace's memories."""
    ask = SqliteDatabase(connection).rows

    def stray(space: int, dimension: int) -> int:
        table = vectors.table_of(dimension)
        return count_rows(ask, f"(SELECT id FROM vectors WHERE space = ? EXCEPT SELECT rowid FROM {table})", space)

    yield _lexical(connection, namespace)
    yield from check_vectors(ask, SQLITE, namespace, stray, lambda: len(ask(token_rows.STRAY, ())))
    yield check_entities(ask, namespace)
    yield check_sessions(ask, namespace)
    if int(connection.pragma("user_version")) >= TIMES:  # an older file that can only be read has no such table
        yield check_times(ask, SQLITE, namespace)
    yield check_labels(ask, namespace)


def _lexical(connection: apsw.Connection, namespace: int) -> Finding:
    """Each memory is in the index of its kind, and nothing else is."""
    wrong, ask = 0, SqliteDatabase(connection).rows
    for kind, condition in (("turn", "<>"), ("session", "=")):
        indexed, values = lexical_search.rows_of(connection, namespace, kind)
        stored = f"SELECT row FROM memories WHERE namespace = ? AND kind {condition} 'session'"
        wrong += count_rows(ask, f"({stored} EXCEPT {indexed})", namespace, *values)
        wrong += count_rows(ask, f"({indexed} EXCEPT {stored})", *values, namespace)
    return Finding("lexical index", wrong == 0, f"{wrong} memories differ" if wrong else "agrees with the memories")
