"""How every part of a reader asks: statements bound to the one namespace it was made for (R12)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.sql.dialect import Dialect
from fivefold.values.times import from_micros


class Asking:
    """`:ns` in a statement is the namespace; nothing else can be asked for."""

    def __init__(self, namespace: str, dialect: Dialect) -> None:
        self.namespace = namespace
        self._sql = dialect

    @abstractmethod
    def _rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement; none where the namespace does not exist."""

    def _one(self, sql: str, width: int, **values: object) -> tuple[Any, ...]:
        rows = self._rows(sql, **values)
        return rows[0] if rows else (None,) * width

    def _count(self, source: str, **values: object) -> int:
        return int(self._one(f"SELECT count(*) FROM {source}", 1, **values)[0] or 0)

    def _listed(self, values: Sequence[object]) -> Any:
        return self._sql.listed(values)


def moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
