"""The memories that a filter leaves, found once by their indexes and shared by all routes of a recall."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fivefold.stores.sql.dialect import Dialect
from fivefold.stores.sql.filter_conditions import FilterConditions
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import TYPES, Type

Rows = npt.NDArray[np.int64]
Ask = Callable[..., list[tuple[Any, ...]]]

FEW = 5_000
"""Up to this many rows, a statement begins with them rather than with an index of its own."""


class KeptRows:
    """Rows in rising order, and the same as a parameter of a statement."""

    def __init__(self, rows: Rows, sql: Dialect) -> None:
        self.rows = rows
        self.few = len(rows) <= FEW
        self._sql = sql

    @cached_property
    def listed(self) -> Any:
        return self._sql.as_list(self.rows.tolist())

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Kept:
    """A filter as a search applies it: types, which each index knows by itself, and the rows that pass the rest."""

    types: tuple[Type, ...] = ()
    rows: KeptRows | None = None

    @property
    def type_codes(self) -> list[int]:
        return [TYPES.index(name) for name in self.types]

    def among(self, column: str, parameter: str, sql: Dialect) -> str:
        """The condition that a column is one of the rows, after an AND; empty where all rows are kept."""
        if self.rows is None:
            return ""
        return f" AND {sql.among(column if self.rows.few else sql.unindexed(column), parameter)}"

    def values(self, parameter: str) -> dict[str, Any]:
        return {} if self.rows is None else {parameter: self.rows.listed}


ALL = Kept()
"""Every memory."""


class FilterCache:
    """What the filters of one reader leave; a reader serves one recall, in which many routes ask the same."""

    def __init__(self, ask: Ask, sql: Dialect) -> None:
        self._ask = ask
        self._sql = sql
        self._known: dict[Filter, KeptRows] = {}
        self._lock = threading.Lock()

    def kept(self, keep: Filter) -> Kept:
        """For an index that knows the types of its memories."""
        rest = replace(keep, types=()) if keep.types else keep
        return Kept(keep.types, self.rows(rest)) if keep else ALL

    def rows(self, keep: Filter) -> KeptRows | None:
        """The rows of all that pass; None where everything does."""
        if keep == EVERYTHING:
            return None
        with self._lock:
            if keep not in self._known:
                self._known[keep] = KeptRows(self._find(keep), self._sql)
            return self._known[keep]

    def _find(self, keep: Filter) -> Rows:
        conditions = FilterConditions(keep, self._sql)
        found = self._ask(
            f"SELECT row FROM memories WHERE {' AND '.join(('namespace = :ns', *conditions.sql))}", **conditions.values
        )
        rows = np.fromiter((row for (row,) in found), dtype=np.int64, count=len(found))
        rows.sort()
        return rows
