"""Reading a damaged file: whatever SQLite still finds, row by row, and the ids of what it does not find."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import apsw

from fivefold.stores.sqlite.checksums import checksum, readable, wrong_keys
from fivefold.stores.sqlite.page_scan import table_rows
from fivefold.stores.sqlite.schema import migrate, migrations

CHUNK = 500
"""Rows that are read together; where one of them is damaged, each is read alone."""

MOST_ROWS = 1_000_000_000
"""A counter beyond this is itself damaged."""

MAX_MENDED_BYTES = 8_000
"""A row up to that size is tried with each of its bits changed."""

DEFAULTS: dict[str, Any] = {"pinned": 0, "echo_count": 0, "tags": "[]", "metadata": "{}", "extracted": "{}"}
"""The values of columns that are missing; other columns are null."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """The row of a memory as the file has it, by the names of its columns; nothing in it is checked yet."""

    values: dict[str, Any]
    """A text that cannot be decoded is still bytes."""

    @property
    def namespace(self) -> int:
        return int(self.values["namespace"])

    @property
    def id(self) -> str | None:
        id = self.values["id"]
        return id if isinstance(id, str) else None

    def agrees(self, sum: int) -> bool:
        """Whether the columns are those of which this is the checksum."""
        return checksum([*self.values.values()]) == sum

    def mended(self, sum: int) -> tuple[FoundRow, str] | None:
        """The row with one bit changed so that its checksum is right, and the name of that column."""
        if len(ascii(self.values)) <= MAX_MENDED_BYTES:
            for name, value in self.values.items():
                for near in _one_bit_apart(value):
                    row = replace(self, values={**self.values, name: near})
                    if row.agrees(sum):
                        return row, name
        return None


class DamagedFile:
    """A private copy of a file of this or an older schema. What cannot be read is left out and no error."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        with suppress(apsw.Error):
            connection.execute("PRAGMA writable_schema = ON")  # reads on where an entry of the schema is damaged

    def namespaces(self) -> dict[int, tuple[str, str]]:
        """Name and settings by key; the name alone where only the index still has it."""
        found = {key: (name, "{}") for name, key in self._rows("SELECT name, key FROM namespaces ORDER BY name")}
        for key, (_, *values) in self._all_rows() if not found else ():
            match values:
                case [str(name), int(), str(settings)] if settings.startswith("{"):
                    found[key] = name, settings
        return found | {
            key: (name, settings) for key, name, settings in self._rows("SELECT key, name, settings FROM namespaces")
        }

    def embedders(self) -> dict[int, str]:
        """The embedder that each namespace is pinned to, by the namespace's key."""
        return dict(self._rows("SELECT namespace, embedder FROM spaces WHERE state = 'active'"))

    def memories(self) -> Iterator[FoundRow]:
        """Every row that can be read, in order."""
        last = 0
        try:
            for row in self._connection.execute("SELECT * FROM memories ORDER BY rowid"):
                yield from _found(row)
                last = int(row[0])
            return
        except (apsw.Error, ValueError, TypeError):
            pass
        for start in range(last + 1, self._last + 1, CHUNK):
            for row in self._between(start, start + CHUNK - 1):
                yield from _found(row)

    def sums(self) -> dict[int, int]:
        """The checksums of memories by their rows."""
        return dict(self._rows("SELECT key, sum FROM checksums WHERE name = 'memories' AND rows = 1"))

    def wrong_rows(self, table: str) -> set[Any] | None:
        """The keys of a table whose rows are not what was written; None if that cannot be said."""
        try:
            return set(wrong_keys(self._connection, table))
        except (apsw.Error, ValueError):
            return None

    def carry(self, target: apsw.Connection) -> list[str]:
        """Copy keys, the audit log and waiting writes that are proven sound; returns the tables with others."""
        damaged = []
        for tables in (("api_keys",), ("audit",), ("queue", "queue_lengths", "answers")):
            rows = {table: self._rows(f"SELECT * FROM {table}") for table in tables}
            wrong = {table: self.wrong_rows(table) for table in tables}
            if any(keys != set() for keys in wrong.values()):
                if any(rows.values()):
                    damaged.append(tables[0])
                known = wrong[tables[0]]
                rows = {tables[0]: [] if known is None or len(tables) > 1 else _without(rows[tables[0]], known)}
            for table, sound in rows.items():
                if sound:
                    target.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(sound[0]))})", sound)
        return damaged

    def scattered(self) -> Iterator[FoundRow]:
        """Rows of memories in pages to which SQLite may no longer find the way; some may come a second time."""
        with suppress(apsw.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for key, values in self._all_rows():
            yield from _found([key, *values[1:]])

    def known(self) -> dict[int, tuple[int, str]]:
        """Namespace and id of each row, also of those that only the index still has."""
        from_index = self._rows("SELECT row, namespace, id FROM memories INDEXED BY memories_id")
        from_table = self._rows("SELECT row, namespace, id FROM memories NOT INDEXED")
        return {row: (namespace, id) for row, namespace, id in (*from_index, *from_table) if isinstance(row, int)}

    def knows_all(self) -> bool:
        """Whether the table of memories and its indexes are sound, so that no memory can be lost unnoticed."""
        return self._rows("PRAGMA integrity_check('memories')") == [("ok",)]

    def links(self) -> dict[int, list[tuple[int, str, str, float]]]:
        """Links by the row of their source: target, relation, reason and chance."""
        chance = "chance" if "chance" in self._names("memory_links") else "1.0"
        found: dict[int, list[tuple[int, str, str, float]]] = {}
        for source, *link in self._rows(f"SELECT source, target, relation, why, {chance} FROM memory_links"):
            found.setdefault(source, []).append(tuple(link))
        return found

    @property
    def _last(self) -> int:
        """The largest key that may have been given out."""
        counted = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")
        numbers = [number for (number,) in counted if isinstance(number, int)]
        return min(max((*numbers, *self.known()), default=0), MOST_ROWS)

    def _all_rows(self) -> Iterator[tuple[int, list[Any]]]:
        """The rows of all tables, by the pages of the file."""
        with (
            open(self._connection.filename, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield from (row for row in table_rows(data) if row[1])

    def _between(self, first: int, last: int) -> list[tuple[Any, ...]]:
        sql = "SELECT * FROM memories WHERE rowid BETWEEN ? AND ?"
        try:
            return self._connection.execute(sql, (first, last)).fetchall()
        except (apsw.Error, ValueError):
            return [row for number in range(first, last + 1) for row in self._rows(sql, (number, number))]

    def _names(self, table: str) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM pragma_table_info(?)", (table,))}

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement up to where the file cannot be read, without those with a damaged text."""
        with suppress(apsw.Error):
            return list(readable(self._connection.execute(sql, values)))
        return []


@cache
def _table_columns() -> dict[str, str]:
    """The columns of memories and their types in the order in which a file has them; an older one lacks the last."""
    with closing(apsw.Connection(":memory:")) as connection:
        migrate(connection, ":memory:", migrations())
        return dict(connection.execute("SELECT name, type FROM pragma_table_info('memories')"))


def _found(row: Sequence[Any]) -> Iterator[FoundRow]:
    """The row of a memory, if its columns look like those of one."""
    types = _table_columns()
    names = list(types)
    hash, first_version = names.index("content_hash"), names.index("extracted") + 1
    if first_version <= len(row) <= len(names) and isinstance(row[hash], bytes) and isinstance(row[1], int):
        values = dict(zip(names, row, strict=False))
        whole = {name: value for name, value in values.items() if types[name] == "REAL" and isinstance(value, int)}
        missing = {name: DEFAULTS.get(name) for name in names[len(row) :]}
        yield FoundRow({**values, **{name: float(value) for name, value in whole.items()}, **missing})


def _without(rows: list[tuple[Any, ...]], keys: set[Any]) -> list[tuple[Any, ...]]:
    return [row for row in rows if row[0] not in keys]


def _one_bit_apart(value: object) -> Iterator[object]:
    """All values that one changed bit may have made into this one."""
    if isinstance(value, int):
        yield from (value ^ 1 << bit for bit in range(63))
    data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else b""
    data = struct.pack(">d", value) if isinstance(value, float) else data
    for place in range(8 * len(data)):
        near = bytearray(data)
        near[place // 8] ^= 1 << place % 8
        if isinstance(value, float):
            yield struct.unpack(">d", near)[0]
            continue
        if isinstance(value, bytes):
            yield bytes(near)
        with suppress(UnicodeDecodeError):
            yield near.decode()
