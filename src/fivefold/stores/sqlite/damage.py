"""Damage to a file: the checks that find it, and reading row by row whatever is still there."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import apsw

from fivefold.stores.records import VectorSpace
from fivefold.stores.sql.index import DERIVED, check_texts, check_vectors, listed
from fivefold.stores.sqlite import checksums
from fivefold.stores.sqlite.checksums import checksum, readable, wrong_keys
from fivefold.stores.sqlite.codes import wrong_blocks
from fivefold.stores.sqlite.dialect import SqliteTransaction, rows, table_of
from fivefold.stores.sqlite.lexical import rows_of
from fivefold.stores.sqlite.postings import wrong_statistics
from fivefold.stores.sqlite.schema import TIMES, migrate, migrations, wrong_places
from fivefold.stores.sqlite.vectors import STRAY
from fivefold.stores.tables import SPACE_COLUMNS, space_of
from fivefold.values.reports import Finding

# Rows of a file without its schema: every page that looks like a leaf of a table is read by SQLite's file format.

Buffer = bytes | mmap.mmap

Cell = tuple[int, list[Any]]
"""The key of a row and its columns."""

_LEAF = 0x0D
_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def table_rows(data: Buffer) -> Iterator[Cell]:
    """The rows of all tables in the file, page by page; what does not fit the format is left out."""
    size = struct.unpack_from(">H", data, 16)[0] if len(data) > 100 else 0
    size = 65_536 if size == 1 else size
    if size < 512 or size & (size - 1):
        size = 4_096
    usable = size - data[20] if len(data) > 20 and data[20] < size // 2 else size
    for number in range(len(data) // size):
        start = number * size
        page = data[start : start + size]
        head = 100 if number == 0 else 0
        if page[head] == _LEAF:
            count = struct.unpack_from(">H", page, head + 3)[0]
            for place in range(head + 8, min(head + 8 + 2 * count, size - 1), 2):
                with suppress(IndexError, ValueError, struct.error):
                    yield _cell(data, page, struct.unpack_from(">H", page, place)[0], size, usable)


def _cell(data: Buffer, page: bytes, place: int, size: int, usable: int) -> Cell:
    length, place = _varint(page, place)
    key, place = _varint(page, place)
    if length > len(data):
        raise ValueError("longer than the file")
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    local = length
    if length > most:
        local = least + (length - least) % (usable - 4)
        local = local if local <= most else least
    payload = page[place : place + local]
    if length > local:
        following = struct.unpack_from(">I", page, place + local)[0]
        payload += _overflow(data, following, length - local, size, usable)
    if len(payload) < length:
        raise ValueError("cut off")
    return key, _record(payload)


def _overflow(data: Buffer, number: int, length: int, size: int, usable: int) -> bytes:
    """The rest of a long row, which goes on from page to page."""
    parts: list[bytes] = []
    while number and length > 0:
        start = (number - 1) * size
        part = data[start + 4 : start + usable][:length]
        if not part:
            break
        parts.append(part)
        length -= len(part)
        number = struct.unpack_from(">I", data, start)[0]
    return b"".join(parts)


def _record(payload: bytes) -> list[Any]:
    end, place = _varint(payload, 0)
    values: list[Any] = []
    body = end
    while place < end:
        kind, place = _varint(payload, place)
        value, body = _value(payload, body, kind)
        values.append(value)
    return values


def _value(payload: bytes, place: int, kind: int) -> tuple[object, int]:
    if kind == 0:
        return None, place
    if kind in (8, 9):
        return kind - 8, place
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    size = _SIZES[kind] if kind in _SIZES else (kind - 12) // 2
    part = payload[place : place + size]
    if kind in (10, 11) or len(part) < size:
        raise ValueError("no value")
    if kind in _SIZES:
        return int.from_bytes(part, "big", signed=True), place + size
    if kind % 2:
        with suppress(UnicodeDecodeError):  # a damaged text stays as it is
            return part.decode(), place + size
    return part, place + size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for count in range(8):
        byte = data[place + count]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + count + 1
    number = number << 8 | data[place + 8]
    return (number - (1 << 64) if number >= 1 << 63 else number), place + 9


# Reading a damaged file: whatever SQLite still finds, row by row, and the ids of what it does not find.

CHUNK = 500
"""Rows that are read together; if one of them is damaged, each is read alone."""

MAX_ROWS = 1_000_000_000
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
        """True if this is the checksum of the columns."""
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
    """A private copy of a file of this or an older schema. Unreadable parts are left out without an error."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        with suppress(apsw.Error):
            connection.execute("PRAGMA writable_schema = ON")  # reads on where an entry of the schema is damaged

    def namespaces(self) -> dict[int, tuple[str, str]]:
        """Name and settings by key; the name alone if only the index still has it."""
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
                kept = [] if known is None or len(tables) > 1 else rows[tables[0]]
                rows = {tables[0]: [row for row in kept if row[0] not in (known or ())]}
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
        """True if the table of memories and its indexes are sound, so that no memory can be lost unnoticed."""
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
        return min(max((*numbers, *self.known()), default=0), MAX_ROWS)

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
        """The rows of a statement up to the first that cannot be read, without those with a damaged text."""
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
    """The row of a memory, if its columns look right."""
    types = _table_columns()
    names = list(types)
    hash, first_version = names.index("content_hash"), names.index("extracted") + 1
    if first_version <= len(row) <= len(names) and isinstance(row[hash], bytes) and isinstance(row[1], int):
        values = dict(zip(names, row, strict=False))
        whole = {name: value for name, value in values.items() if types[name] == "REAL" and isinstance(value, int)}
        missing = {name: DEFAULTS.get(name) for name in names[len(row) :]}
        yield FoundRow({**values, **{name: float(value) for name, value in whole.items()}, **missing})


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


def check(connection: apsw.Connection, namespace: int | None) -> Iterator[Finding]:
    """Every unreadable part is a finding, and the other checks go on."""
    yield from check_file(connection, namespace)
    if namespace is None:
        yield Finding("namespace", True, "nothing stored yet")
    else:
        yield from check_namespace(connection, namespace)


def check_file(connection: apsw.Connection, namespace: int | None = None) -> Iterator[Finding]:
    """Findings on the file as a whole; only memories of the namespace are named."""
    yield from _readable("file", lambda: [_pages(connection)])
    yield from _readable("references", lambda: [_references(connection)])
    yield from check_rows(connection, namespace)


def check_rows(connection: apsw.Connection, namespace: int | None = None) -> Iterator[Finding]:
    """Each row is what was written; nothing in a file that has no checksums yet."""
    if connection.table_exists("main", checksums.TABLE):
        yield from _readable("checksums", lambda: [_checksums(connection, namespace)])


def check_namespace(connection: apsw.Connection, namespace: int) -> Iterator[Finding]:
    """Findings on everything derived from one namespace's memories."""
    scope = SqliteTransaction(connection, namespace)

    def stray(space: VectorSpace) -> int:
        stored = f"SELECT rowid FROM {table_of(space.dimension)}"
        return scope.count(f"(SELECT id FROM vectors WHERE space = :space EXCEPT {stored})", space=space.key)

    yield from _readable("texts", lambda: check_texts(scope))
    yield from _readable("lexical index", lambda: [_lexical(scope)])
    yield from _readable("vectors", lambda: check_vectors(scope, stray, lambda: len(scope.rows(STRAY))))
    yield from _readable("vector codes", lambda: _codes(connection, namespace))
    has_times = int(connection.pragma("user_version")) >= TIMES  # an older file that can only be read has none
    for name, look in DERIVED.items():
        if has_times or name != "named times":
            yield from _readable(name, partial(look, scope))


def _readable(check: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a look; if it cannot read the file, that is the finding."""
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
    """Findings on the codes; none if no field is large enough to have codes."""
    packed = "SELECT 1 FROM code_blocks b WHERE b.space = s.key"
    sql = f"SELECT {SPACE_COLUMNS} FROM spaces s WHERE namespace = ? AND EXISTS ({packed})"
    spaces = [space_of(row) for row in connection.execute(sql, (namespace,)).fetchall()]
    if spaces:
        wrong = sum(wrong_blocks(connection, space) for space in spaces)
        yield Finding("vector codes", wrong == 0, f"{wrong} blocks differ" if wrong else "agree with the vectors")


def _lexical(scope: SqliteTransaction) -> Finding:
    """Each memory is in the index of its kind, nothing else is, and the statistics are right."""
    wrong = 0
    for sessions, sign in ((False, "<>"), (True, "=")):
        indexed = f"SELECT memory FROM ({rows_of(sessions)})"
        stored = f"SELECT row FROM memories WHERE namespace = :ns AND kind {sign} 'session'"
        wrong += scope.count(f"({stored} EXCEPT {indexed})") + scope.count(f"({indexed} EXCEPT {stored})")
    if not wrong and (counts := wrong_statistics(scope.connection, scope.key)):
        return Finding("lexical index", False, f"{counts} counts differ from what is indexed")
    return Finding("lexical index", wrong == 0, f"{wrong} memories differ" if wrong else "agrees with the memories")
