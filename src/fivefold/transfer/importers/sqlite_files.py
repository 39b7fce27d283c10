"""SQLite files of other programs, opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fivefold.errors import InvalidFile
from fivefold.values.open_files import refuse_open_store

HEADER = b"SQLite format 3\x00"


def columns(path: Path) -> dict[str, list[str]]:
    """Every table with its columns; virtual ones aside, whose modules are not loaded here."""
    own = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    with _open(path) as connection:
        names = [name for (name,) in connection.execute(own)]
        return {
            name: [column for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))]
            for name in names
        }


def rows(path: Path, sql: str) -> Iterator[tuple[object, ...]]:
    """One row after the other, as far as the caller reads."""
    with _open(path) as connection:
        yield from connection.execute(sql)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """The interpreter's SQLite does not know the locks of the one that stores use."""
    refuse_open_store(path)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InvalidFile(path, f"could not be read as a SQLite file: {error}") from None
