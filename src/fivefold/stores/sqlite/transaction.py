"""What every part of a write shares: one connection inside one transaction, bound to one namespace."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from fivefold.memory import Memory
from fivefold.stores.sqlite.connection import number, rows
from fivefold.stores.sqlite.rows import COLUMNS, memory_of
from fivefold.times import to_micros


class Transaction:
    """Lives inside `BEGIN IMMEDIATE … COMMIT`; the store opens and ends the transaction."""

    def __init__(self, connection: apsw.Connection, key: int, namespace: str, now: datetime) -> None:
        self._db = connection
        self._key = key
        self._now = to_micros(now)
        self.namespace = namespace

    def get(self, id: str) -> Memory | None:
        return self._memory("id = ?", id)

    def at(self, row: int) -> Memory | None:
        return self._memory("row = ?", row)

    def _memory(self, condition: str, *values: Any) -> Memory | None:
        found = self._rows(f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND {condition}", self._key, *values)
        return memory_of(self.namespace, found[0]) if found else None

    def _number(self, sql: str, *values: Any) -> int | None:
        return number(self._db, sql, *values)

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return rows(self._db, sql, *values)
