"""Checksums of all rows of a file, by which the doctor finds every value that changed without a write.

SQLite reports each row that a transaction changes. What this makes of the sums is written in the same transaction. It is a
difference, so a row that is damaged and then written to stays known as damaged until it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import apsw

Key = Any
"""The rowid of a row; in a table without one, the first column."""

TABLE = "checksums"
REMADE = ("postings", "terms", "code_blocks")
"""Tables that are written so often, or in so large rows, that the doctor makes them again and compares."""

_WITHOUT = {TABLE, *REMADE, "sqlite_sequence"}
_SCHEMA = "sqlite_schema"
_SCHEMA_ROWS = f"SELECT type, name, tbl_name, sql FROM {_SCHEMA} WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"


class Changes:
    """The changes that a transaction makes to the checksums."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._schema = connection.pragma("schema_version")
        self._sums: dict[tuple[str, Key], list[int]] = {}
        self._rewritten: set[tuple[str, int]] = set()
        """Rows of which a part was written in place, so that they are read again at the end."""

    def note(self, change: apsw.PreUpdate) -> None:
        """Called by SQLite before it changes a row."""
        table, rowid = change.table_name, change.rowid
        if table in _WITHOUT or change.database_name != "main" or (table, rowid) in self._rewritten:
            return
        if change.op != "INSERT":
            try:
                self._add(table, rowid, change.old, -1)
            except UnicodeDecodeError:  # a damaged row can be deleted all the same
                self._sums.setdefault((table, rowid), [0, 0])[0] -= 1
        if change.blob_write >= 0:
            self._rewritten.add((table, rowid))
        elif change.op != "DELETE":
            self._add(table, change.rowid_new, change.new, 1)

    def save(self) -> None:
        """Write the sums, before the transaction ends."""
        for table, rowid in self._rewritten:
            for row in self._connection.execute(f'SELECT * FROM "{table}" WHERE rowid = ?', (rowid,)):
                self._add(table, rowid, row, 1)
        if self._connection.pragma("schema_version") != self._schema:
            self._connection.execute(f"DELETE FROM {TABLE} WHERE name = ?", (_SCHEMA,))
            for row in self._connection.execute(_SCHEMA_ROWS):
                self._add(_SCHEMA, 1, row, 1)
        _write(self._connection, self._sums)

    def _add(self, table: str, rowid: int, row: Sequence[Any], sign: int) -> None:
        sums = self._sums.setdefault((table, rowid or row[0]), [0, 0])
        sums[0] += sign
        sums[1] += sign * checksum(row)


@contextmanager
def noted(connection: apsw.Connection) -> Iterator[None]:
    """Inside a transaction: what is written by the block is written to the checksums as well."""
    if not connection.table_exists("main", TABLE):  # the file is of an older schema
        yield
        return
    changes = Changes(connection)
    connection.preupdate_hook(changes.note)
    try:
        yield
        changes.save()
    finally:
        connection.preupdate_hook(None)


def renew(connection: apsw.Connection) -> None:
    """Write the sums of all rows as they are, after the schema changed."""
    connection.execute(f"DELETE FROM {TABLE}")
    for table in tables(connection):
        _write(connection, {(table, key): [rows, sum] for key, (rows, sum) in _sums(connection, table).items()})


def wrong_rows(connection: apsw.Connection) -> Iterator[tuple[str, list[Key]]]:
    """The keys of each table whose rows are not what was written."""
    for table in tables(connection):
        found = _sums(connection, table)
        wrong = []
        for key, *stored in connection.execute(f"SELECT key, rows, sum FROM {TABLE} WHERE name = ?", (table,)):
            if found.pop(key, None) != stored:
                wrong.append(key)
        wrong += found
        if wrong:
            yield table, wrong


def checksum(row: Sequence[Any]) -> int:
    """The checksum of the columns of a row, the same on every machine."""
    return crc32(ascii([crc32(value) if isinstance(value, bytes) else value for value in row]).encode())


def tables(connection: apsw.Connection) -> list[str]:
    """The tables whose rows have checksums, and the schema itself."""
    sql = f"SELECT name FROM {_SCHEMA} WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    return [_SCHEMA, *(str(name) for (name,) in connection.execute(sql) if name not in _WITHOUT)]


def _sums(connection: apsw.Connection, table: str) -> dict[Key, list[int]]:
    """The number and the sum of the rows of a table by key, as they can be read now."""
    found: dict[Key, list[int]] = {}
    if table == _SCHEMA:
        keyed = ((1, row) for row in connection.execute(_SCHEMA_ROWS))
    elif connection.execute("SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'", (table,)).get:
        keyed = ((row[0], row) for row in connection.execute(f'SELECT * FROM "{table}"'))
    else:
        keyed = ((row[0], row[1:]) for row in connection.execute(f'SELECT rowid, * FROM "{table}"'))
    for key, row in keyed:
        sums = found.setdefault(key, [0, 0])
        sums[0] += 1
        sums[1] += checksum(row)
    return found


def _write(connection: apsw.Connection, sums: dict[tuple[str, Key], list[int]]) -> None:
    connection.executemany(
        f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "rows = rows + excluded.rows, sum = sum + excluded.sum",
        [(*place, *change) for place, change in sums.items() if change != [0, 0]],
    )
    gone = [place for place, (rows, _) in sums.items() if rows < 0]
    connection.executemany(f"DELETE FROM {TABLE} WHERE name = ? AND key = ? AND rows = 0", gone)
