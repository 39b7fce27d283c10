"""Reading a damaged file: whatever SQLite still finds, row by row, and the ids of what it does not find."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import apsw

from fivefold.stores.rows import MEMORY_COLUMNS
from fivefold.stores.sqlite.page_scan import table_rows
from fivefold.stores.sqlite.schema import migrate, migrations

CHUNK = 500
"""Rows that are read together; where one of them is damaged, each is read alone."""

MOST_ROWS = 1_000_000_000
"""A counter beyond this is itself damaged."""

_DEFAULTS: dict[str, Any] = {"expires_at": None, "pinned": 0, "origin": None, "echo_count": 0}
"""Columns that older files lack, and what they mean there."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """The row of a memory as the file has it; nothing in it is checked yet."""

    namespace: int
    columns: tuple[Any, ...]
    content_hash: object
    extracted: object


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
        whole = f"SELECT {self._columns} FROM memories ORDER BY row"
        last = 0
        try:
            for row in self._connection.execute(whole):
                yield _found(row)
                last = int(row[1])
            return
        except (apsw.Error, ValueError):
            pass
        for start in range(last + 1, self._last + 1, CHUNK):
            yield from map(_found, self._between(start, start + CHUNK - 1))

    def scattered(self) -> Iterator[FoundRow]:
        """Rows of memories in pages to which SQLite may no longer find the way; some may come a second time."""
        with suppress(apsw.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        names = _table_columns()
        hash, first_version = names.index("content_hash"), names.index("extracted") + 1
        for key, values in self._all_rows():
            if first_version <= len(values) <= len(names) and isinstance(values[hash], bytes):
                row = {**_DEFAULTS, **dict(zip(names, values, strict=False)), "row": key}
                columns = tuple(row[name] for name in MEMORY_COLUMNS)
                if isinstance(row["namespace"], int):
                    yield FoundRow(row["namespace"], columns, values[hash], row["extracted"])

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

    @cached_property
    def _columns(self) -> str:
        there = self._names("memories") or set(MEMORY_COLUMNS)
        columns = [name if name in there else ("0" if _DEFAULTS.get(name) == 0 else "NULL") for name in MEMORY_COLUMNS]
        return ", ".join(("namespace", *columns, "content_hash", "extracted"))

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
        sql = f"SELECT {self._columns} FROM memories WHERE row BETWEEN ? AND ?"
        try:
            return self._connection.execute(sql, (first, last)).fetchall()
        except apsw.Error:
            return [row for number in range(first, last + 1) for row in self._rows(sql, (number, number))]

    def _names(self, table: str) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM pragma_table_info(?)", (table,))}

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement up to the first that cannot be read."""
        found: list[tuple[Any, ...]] = []
        with suppress(apsw.Error, ValueError):
            found.extend(self._connection.execute(sql, values))
        return found


@cache
def _table_columns() -> list[str]:
    """The columns of memories in the order in which a file has them; an older one lacks the last of them."""
    with closing(apsw.Connection(":memory:")) as connection:
        migrate(connection, ":memory:", migrations())
        return [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")]


def _found(row: tuple[Any, ...]) -> FoundRow:
    namespace, *columns, content_hash, extracted = row
    return FoundRow(namespace, tuple(columns), content_hash, extracted)
