"""How every part of a reader runs its statements: bound to the one namespace it was made for (R12)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from fivefold.stores.sql.dialect import Dialect
from fivefold.stores.sql.kept_rows import FilterCache, Kept
from fivefold.stores.sql.memory_rows import COLUMNS, memories_of
from fivefold.stores.sql.recall_log import RecallLog
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory


class ScopedReader(ABC):
    """`:ns` in a statement is the namespace; no statement can name another."""

    def __init__(self, namespace: str, dialect: Dialect, log: RecallLog) -> None:
        self.namespace = namespace
        self.sql = dialect
        self.log = log
        self._filters = FilterCache(self.rows, dialect)

    @abstractmethod
    def key(self) -> int | None:
        """The namespace's key, if it exists."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether anything was ever written to the namespace."""

    @abstractmethod
    def rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement; empty where the namespace does not exist."""

    def one(self, sql: str, width: int, **values: object) -> tuple[Any, ...]:
        """The one row of a statement, or as many None as it has columns."""
        rows = self.rows(sql, **values)
        return rows[0] if rows else (None,) * width

    def memories(self, condition: str, **values: object) -> list[Memory]:
        return memories_of(self.namespace, self.rows(f"SELECT {COLUMNS} FROM memories WHERE {condition}", **values))

    def count(self, source: str, **values: object) -> int:
        return int(self.one(f"SELECT count(*) FROM {source}", 1, **values)[0] or 0)

    def kept(self, keep: Filter) -> Kept:
        """What a filter leaves, for an index that knows types; it is looked up once."""
        return self._filters.kept(keep)

    def kept_rows(self, keep: Filter) -> Kept:
        """What a filter leaves, types included, as rows."""
        return Kept(rows=self._filters.rows(keep))

    def as_list(self, values: Sequence[object]) -> Any:
        """A list as a parameter."""
        return self.sql.as_list(values)
