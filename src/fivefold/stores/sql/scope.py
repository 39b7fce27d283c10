"""How every part of a store runs its statements: bound to one namespace, by names (R12)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fivefold.stores.tables import MEMORY_COLUMNS, memory_of
from fivefold.values.entities import Extraction, extraction_of
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros, utc_now


class Dialect(ABC):
    """The words of one database. A list is one parameter, made by `as_list`."""

    greatest: str
    """The function that gives the greater of two values."""
    least: str
    """The function that gives the lesser of two values."""
    position: str
    """The function that finds a text in another: 0 when it is not there."""
    json_list: str
    """The aggregate that gathers values into a JSON list."""
    events: str
    """The memories as a search by time reads them."""
    extracted_times: str
    """A table of the stretches of time that turns and notes of the namespace name, as they were extracted."""
    own_vector: str
    """The condition that a vector `v` is one of the memory `m` of the namespace."""
    in_space: str
    """The condition that a vector is of the space `:space` of the namespace."""
    token_rows: str
    """A table with a row for each passage that has token vectors: space, field, memory, part."""
    own_tokens: str
    """The condition that a row `t` of `token_rows` is of the memory `m`, the namespace and the space `:space`."""

    @abstractmethod
    def as_list(self, values: Iterable[Any]) -> Any:
        """A list as a parameter."""

    @abstractmethod
    def among(self, column: str, parameter: str) -> str:
        """The condition that a column is in a listed parameter."""

    @abstractmethod
    def many_rows(self, name: str, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Many rows, in rising order, as parameters that begin with a name."""

    @abstractmethod
    def among_many(self, column: str, name: str) -> str:
        """The condition that a column is one of many rows."""

    @abstractmethod
    def each(self, parameter: str, kind: Literal["bigint", "text"]) -> str:
        """A listed parameter as the table `wanted` with one column, `value`."""

    @abstractmethod
    def lowercase(self, column: str) -> str:
        """A text with its ASCII letters small and all others as they are."""

    @abstractmethod
    def unindexed(self, column: str) -> str:
        """A column in a condition that the planner should not begin with."""


COLUMNS = ", ".join(MEMORY_COLUMNS)


class Scope(ABC):
    """One namespace of a database. `:ns` in a statement is its key; no statement can name another.

    A parameter of a statement stands in it by its name, as `:id`.
    """

    def __init__(self, namespace: str, sql: Dialect) -> None:
        self.namespace = namespace
        self.sql = sql

    @abstractmethod
    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement; none where the namespace does not exist."""

    def one(self, sql: str, width: int = 1, /, **values: Any) -> tuple[Any, ...]:
        """The first row of a statement, or as many None as it has columns."""
        rows = self.rows(sql, **values)
        return rows[0] if rows else (None,) * width

    def value(self, sql: str, /, **values: Any) -> Any:
        """The first value of the first row of a statement; None where it gives no row."""
        return self.one(sql, **values)[0]

    def count(self, source: str, /, **values: Any) -> int:
        return int(self.value(f"SELECT count(*) FROM {source}", **values) or 0)

    def memories(self, condition: str, /, **values: Any) -> list[Memory]:
        """The memories that meet a condition, which may end with an order and a limit."""
        rows = self.rows(f"SELECT {COLUMNS} FROM memories WHERE {condition}", **values)
        return [memory_of(self.namespace, columns) for columns in rows]

    def memory(self, condition: str, /, **values: Any) -> Memory | None:
        """The first memory of the namespace that meets a condition."""
        memories = self.memories(f"namespace = :ns AND {condition}", **values)
        return memories[0] if memories else None

    def with_extractions(self, condition: str, /, **values: Any) -> list[tuple[Memory, Extraction]]:
        """The memories that meet a condition, with what was extracted from each."""
        rows = self.rows(f"SELECT {COLUMNS}, extracted FROM memories WHERE {condition}", **values)
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in rows]
        return [(memory, extraction_of(memory, json.loads(extracted))) for memory, extracted in memories]


class Transaction(Scope):
    """One connection inside a transaction: all of it happens or nothing. The store opens and ends it."""

    def __init__(self, sql: Dialect, key: int | str, namespace: str = "", now: datetime | None = None) -> None:
        """`key` stands for the namespace in the tables that are read and written."""
        super().__init__(namespace, sql)
        self.key: Any = key
        self.now = to_micros(now or utc_now())
        self.notes: dict[bytes, int | None] = {}
        """Rows of notes by content hash that were looked up in advance, without those that may have changed."""
        self.removed: list[str] = []
        """Ids of the memories that were removed."""
        self.reworded: list[str] = []
        """Ids of the memories whose text was replaced."""
        self._gathered: dict[Callable[[Transaction, list[tuple[Any, ...]]], None], list[tuple[Any, ...]]] = {}

    @abstractmethod
    def run(self, sql: str, /, **values: Any) -> None:
        """Run one statement that gives nothing."""

    @abstractmethod
    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values, whose places in it are `?`, or `?1` and so on."""

    @abstractmethod
    def put(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
        """Insert rows of whole numbers, the first of which is the namespace."""

    @abstractmethod
    def new_key(self) -> int | None:
        """The key of a new row, or None where the database finds one while inserting."""

    @abstractmethod
    def insert(self, sql: str, *values: Any) -> int:
        """Insert a row of values whose first one is its key; gives that key."""

    def gather(
        self, write: Callable[[Transaction, list[tuple[Any, ...]]], None], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Write rows later, together with others of their kind."""
        self._gathered.setdefault(write, []).extend(rows)

    def write_gathered(self) -> None:
        """Called before rows that may have been gathered are deleted, and at the end."""
        for write, rows in self._gathered.items():
            write(self, rows)
        self._gathered.clear()

    def at(self, row: int) -> Memory | None:
        """The memory at a row."""
        return self.memory("row = :row", row=row)
