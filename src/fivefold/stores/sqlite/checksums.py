"""Checksums of all rows of a file, by which the doctor finds every value that changed without a write.

SQLite reports each row that a transaction changes, and the sums change in that transaction. A write stores the
difference, so a damaged row stays known as damaged after a write, until it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from zlib import crc32

import apsw

Key = Any
"""The rowid of a row; in a table without one, the first column."""

TABLE = "checksums"
REMADE = ("postings", "terms", "code_blocks")
"""Tables that are written so often, or in so large rows, that the doctor makes them again and compares."""

_COUNTERS = "sqlite_sequence"
_WITHOUT = {TABLE, *REMADE, _COUNTERS}
_SCHEMA = "sqlite_schema"
_SCHEMA_ROWS = (
    f"SELECT type, name, tbl_name, sql FROM {_SCHEMA} WHERE name NOT LIKE 'sqlite!_stat%' ESCAPE '!' UNION ALL "
    "SELECT NULL, NULL, user_version, application_id FROM pragma_user_version, pragma_application_id"
)


class RowChanges:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._schema = connection.pragma("schema_version")
        self._sums: dict[tuple[str, Key], list[int]] = {}
        self._again: set[tuple[str, Key]] = set()
        """Rows that are read again at the end: parts of them were written in place, or their checksum was deleted."""
        self._counters = self._read_counters()

    def note(self, change: apsw.PreUpdate) -> None:
        """Called by SQLite before it changes a row."""
        table, op = change.table_name, change.op
        if table == TABLE and op == "DELETE" and change.old:
            place = str(change.old[1]), change.old[0]
            self._sums.pop(place, None)
            self._again.add(place)
        if table in _WITHOUT or (table, change.rowid) in self._again or change.database_name != "main":
            return
        if op != "INSERT":
            try:
                self._add(table, change.rowid, change.old or (), -1)
            except UnicodeDecodeError:  # a damaged row can be deleted all the same
                self._sums.setdefault((table, change.rowid), [0, 0])[0] -= 1
        if change.blob_write >= 0:
            self._again.add((table, change.rowid))
        elif op != "DELETE":
            self._add(table, change.rowid_new, change.new or (), 1)

    def save(self) -> None:
        """Write the sums, before the transaction ends."""
        if self._connection.pragma("schema_version") != self._schema:
            self._connection.execute(f"DELETE FROM {TABLE} WHERE name = ?", (_SCHEMA,))
            self._again.add((_SCHEMA, 1))
        again, self._again = self._again, set()
        for table, key in again:
            for found in _sums(self._connection, table, key).values():
                sums = self._sums.setdefault((table, key), [0, 0])
                sums[:] = (old + new for old, new in zip(sums, found, strict=True))
        counters = self._read_counters()
        for rows, sign in ((self._counters - counters, -1), (counters - self._counters, 1)):
            for row in rows:
                self._add(_COUNTERS, 0, row, sign)
        self._connection.preupdate_hook(None)
        _write(self._connection, self._sums)

    def _read_counters(self) -> set[tuple[Any, ...]]:
        """The last keys of the tables, of which SQLite reports no change."""
        return set(self._connection.execute(f"SELECT name, seq FROM {_COUNTERS}"))

    def _add(self, table: str, rowid: int, row: Sequence[Any], sign: int) -> None:
        place = table, rowid or row[0]
        if place in self._again:
            return
        sums = self._sums.setdefault(place, [0, 0])
        sums[0] += sign
        sums[1] += sign * checksum(row)


@contextmanager
def noted(connection: apsw.Connection) -> Iterator[None]:
    """Inside a transaction: what is written by the block is written to the checksums as well."""
    if not connection.table_exists("main", TABLE):  # the file is of an older schema
        yield
        return
    changes = RowChanges(connection)
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


def begin_again(connection: apsw.Connection, namespace: int) -> None:
    """Forget the damage of what is derived from the memories of a namespace, before it is made again."""
    connection.executemany(
        "DELETE FROM entities WHERE key = ? AND namespace = ? AND by_hand = 0",
        [(key, namespace) for key in wrong_keys(connection, "entities")],
    )
    connection.execute(
        f"DELETE FROM {TABLE} WHERE name IN ('lexemes', 'documents', 'corpora', 'slots', 'facts', 'memory_times', "
        "'sessions', 'memory_labels') AND key = ?1 "
        "OR name = 'links' AND key IN (SELECT row FROM memories WHERE namespace = ?1)",
        (namespace,),
    )


def forget_lost(connection: apsw.Connection, table: str, keys: Sequence[Key]) -> None:
    """Delete the checksums of those rows, of a table with rowids, that are no longer there."""
    connection.executemany(
        f"DELETE FROM {TABLE} WHERE name = ?1 AND key = ?2 AND NOT EXISTS (SELECT 1 FROM {table} WHERE rowid = ?2)",
        [(table, key) for key in keys],
    )


def wrong_rows(connection: apsw.Connection) -> dict[str, list[Key]]:
    """The keys of each table whose rows are not what was written."""
    wrong = {table: wrong_keys(connection, table) for table in tables(connection)}
    return {table: keys for table, keys in wrong.items() if keys}


def wrong_keys(connection: apsw.Connection, table: str) -> list[Key]:
    found = _sums(connection, table)
    stored = connection.execute(f"SELECT key, rows, sum FROM {TABLE} WHERE name = ?", (table,))
    return [*(key for key, *sums in stored if found.pop(key, None) != sums), *found]


def has_sound_schema(connection: apsw.Connection) -> bool:
    """True if the schema and the numbers in the header are as written; also if the file has no checksums."""
    return not connection.table_exists("main", TABLE) or not wrong_keys(connection, _SCHEMA)


def checksum(row: Sequence[Any]) -> int:
    """The checksum of the columns of a row, the same on every machine."""
    plain = list(row)
    if bytes in map(type, plain):
        plain = [crc32(value) if isinstance(value, bytes) else value for value in plain]
    return crc32(ascii(plain).encode())


def readable(cursor: apsw.Cursor) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement but for those with a text that cannot be decoded."""
    while True:
        with suppress(UnicodeDecodeError):
            row = next(cursor, None)
            if row is None:
                return
            yield row


def tables(connection: apsw.Connection) -> list[str]:
    sql = f"SELECT name FROM {_SCHEMA} WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    return [_SCHEMA, _COUNTERS, *(str(name) for (name,) in connection.execute(sql) if name not in _WITHOUT)]


def _sums(connection: apsw.Connection, table: str, key: Key = None) -> dict[Key, list[int]]:
    """The number and the sum of the rows of a table by key, as they can be read now; of one key, if it is given."""
    found: dict[Key, list[int]] = {}
    if table == _SCHEMA:
        sql, column = f"SELECT 1, * FROM ({_SCHEMA_ROWS})", "1"
    else:
        column = _key_column(connection, table)
        sql = f'SELECT {column}, * FROM "{table}"'
    if key is not None:
        sql += f" WHERE {column} = ?"
    for place, *row in readable(connection.execute(sql, () if key is None else (key,))):
        sums = found.setdefault(place, [0, 0])
        sums[0] += 1
        sums[1] += checksum(row)
    return found


def _key_column(connection: apsw.Connection, table: str) -> str:
    """The column of the keys; a table has the same one in every file."""
    if table not in _key_columns:
        keyed = connection.execute("SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'", (table,)).get
        first = connection.execute("SELECT name FROM pragma_table_info(?) WHERE cid = 0", (table,)).get
        _key_columns[table] = f'"{first}"' if keyed or table == _COUNTERS else "rowid"
    return _key_columns[table]


_key_columns: dict[str, str] = {}


def _write(connection: apsw.Connection, sums: dict[tuple[str, Key], list[int]]) -> None:
    connection.executemany(
        f"INSERT INTO {TABLE} (name, key, rows, sum) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "rows = rows + excluded.rows, sum = sum + excluded.sum",
        [(*place, *change) for place, change in sums.items() if change != [0, 0]],
    )
    gone = [place for place, (rows, _) in sums.items() if rows < 0]
    connection.executemany(f"DELETE FROM {TABLE} WHERE name = ? AND key = ? AND rows = 0", gone)
