"""What every part of a write shares: one connection inside one transaction, bound to one namespace."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.rows import COLUMNS, memory_of
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros


class Transaction:
    """All of it happens or nothing; the store opens and ends the transaction."""

    def __init__(self, db: Database, key: int, namespace: str, now: datetime) -> None:
        self._db = db
        self._sql = db.dialect
        self._key = key
        self._now = to_micros(now)
        self._notes: dict[bytes, int | None] = {}
        self.removed: list[str] = []
        self.namespace = namespace

    def get(self, id: str) -> Memory | None:
        return self._memory("id = ?", id)

    def at(self, row: int) -> Memory | None:
        return self._memory("row = ?", row)

    def _memory(self, condition: str, *values: Any) -> Memory | None:
        found = self._rows(f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND {condition}", self._key, *values)
        return memory_of(self.namespace, found[0]) if found else None

    def _number(self, sql: str, *values: Any) -> int | None:
        """The one number a statement gives, if it gives one."""
        found = self._rows(sql, *values)
        return None if not found or found[0][0] is None else int(found[0][0])

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._db.rows(sql, values)

    def _run(self, sql: str, *values: Any) -> None:
        self._db.run(sql, values)
