"""Small tables that a server needs while it runs: in memory, or in a file that all its processes share."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

IN_MEMORY = Path("/dev/shm")
"""A folder that lies in memory, if there is one: a full disk then stops no request."""

TABLES = "tables.db"
BUSY_MS = 5_000
TRIM_AFTER = 100
"""Changes after which rows beyond the most are dropped."""


class Table(Protocol):
    """Texts under names. Beyond a number of rows, those that were changed longest ago are dropped."""

    def get(self, key: str) -> str | None: ...

    def change(self, key: str, to: Callable[[str | None], str | None]) -> None:
        """Replace a row by what `to` makes of it, in one step; None takes it away."""

    def append(self, row: Callable[[str | None], tuple[str, str]]) -> None:
        """Add a row under a new name; `row` gets the name of the last one."""

    def values(self) -> list[str]:
        """All rows, the one that was changed last at the end."""

    def remove(self, rows: Collection[str]) -> None:
        """Take rows with these values away, so that no byte of them is left."""


class MemoryTable:
    """A table of one process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> str | None:
        with self._lock:
            return self._rows.get(key)

    def change(self, key: str, to: Callable[[str | None], str | None]) -> None:
        with self._lock:
            value = to(self._rows.pop(key, None))
            if value is not None:
                self._rows[key] = value
                self._trim()

    def append(self, row: Callable[[str | None], tuple[str, str]]) -> None:
        with self._lock:
            key, value = row(next(reversed(self._rows), None))
            self._rows[key] = value
            self._trim()

    def values(self) -> list[str]:
        with self._lock:
            return list(self._rows.values())

    def remove(self, rows: Collection[str]) -> None:
        with self._lock:
            for key in [key for key, value in self._rows.items() if value in rows]:
                del self._rows[key]

    def _trim(self) -> None:
        if len(self._rows) > self._most:
            self._rows.popitem(last=False)


class FileTable:
    """A table of several processes. A process that is killed leaves it whole."""

    def __init__(self, path: Path, name: str, most: int) -> None:
        import apsw  # only a server of several processes needs it before its store is opened

        self._most = most
        self._name = f'"{name}"'
        self._lock = threading.Lock()
        self._changes = 0
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(BUSY_MS)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF", "PRAGMA secure_delete=ON"):
            self._connection.execute(statement)
        self._connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self._name} (place INTEGER PRIMARY KEY, key TEXT UNIQUE, value TEXT NOT NULL)"
        )

    def get(self, key: str) -> str | None:
        with self._lock:
            rows = self._connection.execute(f"SELECT value FROM {self._name} WHERE key = ?", (key,)).fetchall()
        return str(rows[0][0]) if rows else None

    def change(self, key: str, to: Callable[[str | None], str | None]) -> None:
        with self._writing():
            rows = self._connection.execute(f"SELECT value FROM {self._name} WHERE key = ?", (key,)).fetchall()
            value = to(str(rows[0][0]) if rows else None)
            self._connection.execute(f"DELETE FROM {self._name} WHERE key = ?", (key,))
            if value is not None:
                self._add(key, value)

    def append(self, row: Callable[[str | None], tuple[str, str]]) -> None:
        with self._writing():
            last = self._connection.execute(f"SELECT key FROM {self._name} ORDER BY place DESC LIMIT 1").fetchall()
            self._add(*row(str(last[0][0]) if last else None))

    def values(self) -> list[str]:
        newest = f"SELECT place, value FROM {self._name} ORDER BY place DESC LIMIT ?"
        with self._lock:
            rows = self._connection.execute(f"SELECT value FROM ({newest}) ORDER BY place", (self._most,)).fetchall()
        return [str(value) for (value,) in rows]

    def remove(self, rows: Collection[str]) -> None:
        with self._writing():
            self._connection.executemany(f"DELETE FROM {self._name} WHERE value = ?", [(row,) for row in rows])
        with self._lock:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _add(self, key: str, value: str) -> None:
        self._connection.execute(f"INSERT INTO {self._name} (key, value) VALUES (?, ?)", (key, value))
        self._changes += 1
        if self._changes % TRIM_AFTER == 0:
            beyond = f"SELECT place FROM {self._name} ORDER BY place DESC LIMIT 1 OFFSET ?"
            self._connection.execute(f"DELETE FROM {self._name} WHERE place <= ({beyond})", (self._most,))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


class SharedTables:
    """Makes tables: of this process, or with a folder, of all processes that have the same one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._open: list[FileTable] = []

    def table(self, name: str, most: int) -> Table:
        if self._folder is None:
            return MemoryTable(most)
        made = FileTable(self._folder / TABLES, name, most)
        self._open.append(made)
        return made

    def close(self) -> None:
        for table in self._open:
            table.close()


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder for the tables, which only this user can read and which goes with the server."""
    place = str(IN_MEMORY) if IN_MEMORY.is_dir() else None
    try:
        folder = tempfile.TemporaryDirectory(prefix="fivefold-serve-", dir=place, ignore_cleanup_errors=True)
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix="fivefold-serve-", ignore_cleanup_errors=True)
    with folder as path:
        # Workers that begin at once would fight for the change to a write-ahead log, for which no one waits.
        FileTable(Path(path) / TABLES, "rates", 1).close()
        yield Path(path)
