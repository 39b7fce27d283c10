"""What the parts of a write share: one connection inside one transaction, bound to one namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.memory_rows import COLUMNS, memories_of
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros


class Transaction:
    """All of it happens or nothing; the store opens and ends the transaction."""

    def __init__(self, db: Database, key: int, namespace: str, now: datetime) -> None:
        self.db = db
        self.sql = db.dialect
        self.key = key
        self.namespace = namespace
        self.now = to_micros(now)
        self.notes: dict[bytes, int | None] = {}
        """Rows of notes by content hash that were looked up in advance, without those that may have changed."""
        self.removed: list[str] = []
        """Ids of the memories that were removed."""
        self.reworded: list[str] = []
        """Ids of the memories whose text was replaced."""
        self._gathered: dict[Callable[[Database, list[tuple[Any, ...]]], None], list[tuple[Any, ...]]] = {}

    def gather(self, write: Callable[[Database, list[tuple[Any, ...]]], None], rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows later, together with others of their kind."""
        self._gathered.setdefault(write, []).extend(rows)

    def write_gathered(self) -> None:
        """Called before rows that may have been gathered are deleted, and at the end."""
        for write, rows in self._gathered.items():
            write(self.db, rows)
        self._gathered.clear()

    def memory(self, row: int) -> Memory | None:
        return self.first_memory("row = ?", row)

    def first_memory(self, condition: str, *values: Any) -> Memory | None:
        memories = self.memories(condition, *values)
        return memories[0] if memories else None

    def memories(self, condition: str, *values: Any) -> list[Memory]:
        rows = self.rows(f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND {condition}", self.key, *values)
        return memories_of(self.namespace, rows)

    def number(self, sql: str, *values: Any) -> int | None:
        """The one number a statement gives, if it gives one."""
        rows = self.rows(sql, *values)
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.db.rows(sql, values)

    def run(self, sql: str, *values: Any) -> None:
        self.db.run(sql, values)
