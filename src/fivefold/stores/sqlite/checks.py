"""The checks of a file: it is sound, and everything derived agrees with the memories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

import apsw

from fivefold.stores.sql.checks import (
    check_entities,
    check_labels,
    check_sessions,
    check_texts,
    check_times,
    check_vectors,
    count_rows,
    listed,
)
from fivefold.stores.sql.spaces import SPACE_COLUMNS, space_of
from fivefold.stores.sqlite import checksums, code_blocks, lexeme_index, lexical_search, token_rows, vectors
from fivefold.stores.sqlite.dialect import SQLITE, SqliteDatabase
from fivefold.stores.sqlite.schema import TIMES, wrong_places
from fivefold.stores.sqlite.statements import rows
from fivefold.values.reports import Finding


def check(connection: apsw.Connection, namespace: int | None) -> Iterator[Finding]:
    """Whatever cannot be read is a finding, and the other checks go on."""
    yield from check_file(connection, namespace)
    if namespace is None:
        yield Finding("namespace", True, "nothing stored yet")
    else:
        yield from check_namespace(connection, namespace)


def check_file(connection: apsw.Connection, namespace: int | None = None) -> Iterator[Finding]:
    """What concerns the file as a whole; only memories of the namespace are named."""
    yield from _readable("file", lambda: [_pages(connection)])
    yield from _readable("references", lambda: [_references(connection)])
    yield from check_rows(connection, namespace)


def check_rows(connection: apsw.Connection, namespace: int | None = None) -> Iterator[Finding]:
    """Each row is what was written; nothing in a file that has no checksums yet."""
    if connection.table_exists("main", checksums.TABLE):
        yield from _readable("checksums", lambda: [_checksums(connection, namespace)])


def check_namespace(connection: apsw.Connection, namespace: int) -> Iterator[Finding]:
    """What was derived from one namespace's memories."""
    ask = SqliteDatabase(connection).rows

    def stray(space: int, dimension: int) -> int:
        table = vectors.table_of(dimension)
        return count_rows(ask, f"(SELECT id FROM vectors WHERE space = ? EXCEPT SELECT rowid FROM {table})", space)

    def stray_tokens() -> int:
        return len(ask(token_rows.STRAY, ()))

    yield from _readable("texts", lambda: [check_texts(ask, SQLITE, namespace)])
    yield from _readable("lexical index", lambda: [_lexical(connection, namespace)])
    yield from _readable("vectors", lambda: check_vectors(ask, SQLITE, namespace, stray, stray_tokens))
    yield from _readable("vector codes", lambda: _codes(connection, namespace))
    yield from _readable("entity links", lambda: [check_entities(ask, namespace)])
    yield from _readable("session log", lambda: [check_sessions(ask, namespace)])
    if int(connection.pragma("user_version")) >= TIMES:  # an older file that can only be read has no such table
        yield from _readable("named times", lambda: [check_times(ask, SQLITE, namespace)])
    yield from _readable("labels", lambda: [check_labels(ask, namespace)])


def _readable(check: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a look finds; where it cannot read the file, that is the finding."""
    try:
        yield from look()
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.SQLError, ValueError) as error:
        yield Finding(check, False, f"cannot be read: {error}")


def _pages(connection: apsw.Connection) -> Finding:
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    problems += [f"the header has a wrong value at byte {place}" for place in wrong_places(connection)]
    return Finding("file", not problems, problems[0] if problems else "every page and every index is sound")


def _references(connection: apsw.Connection) -> Finding:
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return Finding("references", not broken, f"{len(broken)} rows point nowhere" if broken else "all resolve")


def _checksums(connection: apsw.Connection, namespace: int | None) -> Finding:
    wrong = checksums.wrong_rows(connection)
    counts = ", ".join(f"{len(keys)} of {table}" for table, keys in wrong.items())
    sql = "SELECT m.id FROM json_each(?) w CROSS JOIN memories m ON m.row = w.value WHERE m.namespace = ?"
    ids = rows(connection, sql, json.dumps(wrong.get("memories", [])), namespace)
    named = f" ({listed([str(id) for (id,) in ids])})" if ids else ""
    return Finding("checksums", not wrong, f"rows are not what was written: {counts}{named}" if wrong else "all agree")


def _codes(connection: apsw.Connection, namespace: int) -> Iterator[Finding]:
    """Nothing where no field is large enough to have codes."""
    packed = "SELECT 1 FROM code_blocks b WHERE b.space = s.key"
    sql = f"SELECT {SPACE_COLUMNS} FROM spaces s WHERE namespace = ? AND EXISTS ({packed})"
    spaces = [space_of(row) for row in connection.execute(sql, (namespace,)).fetchall()]
    if spaces:
        wrong = sum(code_blocks.wrong_blocks(connection, space) for space in spaces)
        yield Finding("vector codes", wrong == 0, f"{wrong} blocks differ" if wrong else "agree with the vectors")


def _lexical(connection: apsw.Connection, namespace: int) -> Finding:
    """Each memory is in the index of its kind, nothing else is, and the statistics are right."""
    wrong, ask = 0, SqliteDatabase(connection).rows
    for kind, condition in (("turn", "<>"), ("session", "=")):
        indexed, values = lexical_search.rows_of(namespace, kind)
        stored = f"SELECT row FROM memories WHERE namespace = ? AND kind {condition} 'session'"
        wrong += count_rows(ask, f"({stored} EXCEPT {indexed})", namespace, *values)
        wrong += count_rows(ask, f"({indexed} EXCEPT {stored})", *values, namespace)
    if not wrong and (counts := lexeme_index.wrong_statistics(connection, namespace)):
        return Finding("lexical index", False, f"{counts} counts differ from what is indexed")
    return Finding("lexical index", wrong == 0, f"{wrong} memories differ" if wrong else "agrees with the memories")
