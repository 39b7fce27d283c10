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
    """Rows in rising order, each once, and the same as parameters of a statement."""

    def __init__(self, rows: Rows, sql: Dialect) -> None:
        self.rows = rows
        self.sql = sql
        self.few = len(rows) <= FEW
        self._parameters: dict[str, dict[str, Any]] = {}

    @cached_property
    def listed(self) -> Any:
        """All of them as a list."""
        return self.sql.as_list(self.rows.tolist())

    def among(self, column: str, name: str) -> str:
        """The condition that a column is one of the rows, which `values` gives under that name."""
        return self.sql.among(column, f":{name}") if self.few else self.sql.among_many(column, name)

    def values(self, name: str) -> dict[str, Any]:
        if self.few:
            return {name: self.listed}
        if name not in self._parameters:
            self._parameters[name] = self.sql.many_rows(name, self.rows)
        return self._parameters[name]

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

    def among(self, column: str, name: str) -> str:
        """The condition that a column is one of the rows, after an AND; empty where all rows are kept."""
        return "" if self.rows is None else f" AND {self.rows.among(column, name)}"

    def values(self, name: str) -> dict[str, Any]:
        """The parameters of `among`."""
        return {} if self.rows is None else self.rows.values(name)


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
        found = f"SELECT {self._sql.json_list}(row) FROM ({conditions.statement()}) AS found"
        ((listed,),) = self._ask(found, **conditions.values) or [(None,)]  # as one value, which is read fastest
        if isinstance(listed, str):
            return np.unique(np.fromstring(listed[1:-1], dtype=np.int64, sep=","))
        return np.unique(np.array(listed or (), dtype=np.int64))
