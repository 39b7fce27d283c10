"""Runs the statements of every part of a store: bound to one namespace, by names (R12)."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fivefold.stores.tables import MEMORY_COLUMNS, memory_of
from fivefold.values.entities import Extraction, extraction_of
from fivefold.values.filters import EVERYTHING, Filter, MetadataTest, word_forms
from fivefold.values.memory import TAG, TYPES, Memory, Type, labels_of, text_label
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
        """The rows of one statement; none if the namespace does not exist."""

    def one(self, sql: str, width: int = 1, /, **values: Any) -> tuple[Any, ...]:
        """The first row of a statement, or as many None as it has columns."""
        rows = self.rows(sql, **values)
        return rows[0] if rows else (None,) * width

    def value(self, sql: str, /, **values: Any) -> Any:
        """The first value of the first row of a statement; None if it gives no row."""
        return self.one(sql, **values)[0]

    def count(self, source: str, /, **values: Any) -> int:
        return int(self.value(f"SELECT count(*) FROM {source}", **values) or 0)

    def memories(self, condition: str, /, **values: Any) -> list[Memory]:
        """The memories that meet a condition, which may end with an order and a limit."""
        rows = self.rows(f"SELECT {COLUMNS} FROM memories WHERE {condition}", **values)
        return [memory_of(self.namespace, columns) for columns in rows]

    def memory(self, condition: str, /, **values: Any) -> Memory | None:
        memories = self.memories(f"namespace = :ns AND {condition}", **values)
        return memories[0] if memories else None

    def with_extractions(self, condition: str, /, **values: Any) -> list[tuple[Memory, Extraction]]:
        rows = self.rows(f"SELECT {COLUMNS}, extracted FROM memories WHERE {condition}", **values)
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in rows]
        return [(memory, extraction_of(memory, json.loads(extracted))) for memory, extracted in memories]


class Transaction(Scope):
    """One connection inside a transaction: all of it happens or nothing. The store opens and ends it."""

    def __init__(self, sql: Dialect, key: int | str, namespace: str = "", now: datetime | None = None) -> None:
        """`key` stands for the namespace in the tables that are read and written."""
        super().__init__(namespace, sql)
        self.key: Any = key
        self.now: int = to_micros(now or utc_now())
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
        """The key of a new row, or None if the database finds one while inserting."""

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
        return self.memory("row = :row", row=row)


# Filters: their conditions, the labels by which they find memories, and the rows they leave, found once a recall.

_COLUMNS = {"types": "type", "kinds": "kind", "speakers": "speaker", "origins": "origin", "session_ids": "session_id"}
_COARSE_COLUMNS = ("type", "kind", "origin")
"""Columns of few values: their indexes would find too many memories to begin with."""


INSERT_LABELS = "INSERT INTO memory_labels (namespace, name, value, memory) VALUES (?, ?, ?, ?)"
LABELLED = "(tags <> '[]' OR metadata <> '{}')"
"""The condition that a memory may have labels."""


def put_labels(txn: Transaction, row: int, memory: Memory) -> None:
    if memory.tags or memory.metadata:
        labels = labels_of(memory.tags, memory.metadata)
        txn.gather(_write_labels, ((txn.key, name, value, row) for name, value in labels))


def _write_labels(txn: Transaction, rows: list[tuple[Any, ...]]) -> None:
    txn.many(INSERT_LABELS, rows)


def label_rows(memories: Iterable[tuple[int, int, str, str]]) -> Iterable[tuple[int, str, str, int]]:
    """The rows of the table for memories given as namespace, row, tags and metadata."""
    for namespace, row, tags, metadata in memories:
        for name, value in stored_labels(tags, metadata):
            yield namespace, name, value, row


def stored_labels(tags: str, metadata: str) -> list[tuple[str, str]]:
    return labels_of(json.loads(tags), json.loads(metadata))


class FilterConditions:
    """The conditions of one filter on columns of memories and on labels, and the values of their parameters."""

    def __init__(self, keep: Filter, sql: Dialect, event_at: str = "event_at") -> None:
        self.values: dict[str, object] = {}
        self._sql = sql
        self.columns: list[str] = [
            *self._columns(keep),
            *self._times(keep, event_at),
            *self._state(keep),
            *(self._word(word) for word in keep.words),
        ]
        self.labels: list[str] = [*self._labels(keep)]

    def on_memories(self) -> list[str]:
        """All conditions for a statement over memories: the first label leads to rows, others are looked up there."""
        if not self.labels:
            return self.columns
        first = f"row IN (SELECT memory FROM memory_labels WHERE namespace = :ns AND {self.labels[0]})"
        return [*self.columns, first, *self._further("memories")]

    def statement(self) -> str:
        """A statement that gives the rows of the memories that pass; one may come more than once."""
        if not self.labels:
            return f"SELECT row FROM memories WHERE {' AND '.join(('namespace = :ns', *self.columns))}"
        labelled = f"FROM memory_labels AS l WHERE l.namespace = :ns AND {self.labels[0]}"
        if not self.columns:
            return f"SELECT l.memory AS row {' AND '.join((labelled, *self._further('l')))}"
        rows = f"SELECT l.memory {labelled}"
        found = ("row IN (" + rows + ")", f"{self._sql.unindexed('namespace')} = :ns", *self.columns)
        return f"SELECT row FROM memories WHERE {' AND '.join((*found, *self._further('memories')))}"

    def _further(self, table: str) -> list[str]:
        """The labels after the first, looked up by the memory."""
        owner, own = "memories.row" if table == "memories" else f"{table}.memory", self._sql.unindexed("o.namespace")
        return [
            f"EXISTS (SELECT 1 FROM memory_labels AS o WHERE {own} = :ns AND o.memory = {owner} AND {label})"
            for label in self.labels[1:]
        ]

    def _bind(self, value: object) -> str:
        name = f"kept{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _any_of(self, column: str, values: tuple[Any, ...]) -> str:
        if len(values) == 1:
            return f"{column} = {self._bind(values[0])}"
        return self._sql.among(column, self._bind(self._sql.as_list(values)))

    def _columns(self, keep: Filter) -> Iterator[str]:
        for name, column in _COLUMNS.items():
            if getattr(keep, name):
                place = self._sql.unindexed(column) if column in _COARSE_COLUMNS else column
                yield self._any_of(place, getattr(keep, name))

    def _labels(self, keep: Filter) -> Iterator[str]:
        """Single values first, which leave fewest."""
        for tags in (*((tag,) for tag in keep.all_tags), *((keep.tags,) if keep.tags else ())):
            yield self._labelled(TAG, self._any_of("value", tuple(map(text_label, tags))))
        for test in sorted(keep.metadata, key=lambda test: not test.any_of):
            yield self._labelled(test.name, self._any_of("value", test.allowed()) if test.any_of else self._range(test))

    def _labelled(self, name: str, condition: str) -> str:
        return f"name = {self._bind(name)} AND {condition}"

    def _range(self, test: MetadataTest) -> str:
        ends = test.range()
        low, high = self._bind(ends.low), self._bind(ends.high)
        return f"value {'>=' if ends.from_low else '>'} {low} AND value {'<=' if ends.to_high else '<'} {high}"

    def _times(self, keep: Filter, event_at: str) -> Iterator[str]:
        for column, sign, moment in (
            (event_at, ">=", keep.since),
            (event_at, "<", keep.until),
            ("created_at", ">=", keep.written_since),
            ("created_at", "<", keep.written_until),
        ):
            if moment is not None:
                yield f"{column} {sign} {self._bind(to_micros(moment))}"

    def _state(self, keep: Filter) -> Iterator[str]:
        if keep.superseded is not None:
            yield f"{self._sql.unindexed('superseded_by')} IS {'NOT ' if keep.superseded else ''}NULL"
        if keep.pinned is not None:
            yield f"pinned = {int(keep.pinned)}"
        if keep.used is not None:
            yield f"access_count {'>' if keep.used else '='} 0"
        if keep.expires_before is not None:
            yield f"pinned = 0 AND expires_at < {self._bind(to_micros(keep.expires_before))}"
        if keep.idle_since is not None:
            since = self._bind(to_micros(keep.idle_since))
            created_at = self._sql.unindexed("created_at")
            yield f"{created_at} < {since} AND (last_accessed_at IS NULL OR last_accessed_at < {since})"
        if keep.alive_at is not None:
            expires_at = self._sql.unindexed("expires_at")
            yield f"(pinned = 1 OR expires_at IS NULL OR {expires_at} > {self._bind(to_micros(keep.alive_at))})"

    def _word(self, word: str) -> str:
        """The condition that a memory has the word; SQLite and PostgreSQL fold only ASCII alike."""
        if word.isascii():
            return f"{self._sql.position}({self._sql.lowercase('content')}, {self._bind(word.lower())}) > 0"
        found = (f"{self._sql.position}(content, {self._bind(form)}) > 0" for form in word_forms(word))
        return f"({' OR '.join(found)})"


Rows = npt.NDArray[np.int64]

MAX_FEW_ROWS = 5_000
"""Up to this many rows, a statement begins with them rather than with an index of its own."""


class KeptRows:
    """Rows in rising order, each once, and the same as parameters of a statement."""

    def __init__(self, rows: Rows, sql: Dialect) -> None:
        self.rows = rows
        self.sql = sql
        self.few: bool = len(rows) <= MAX_FEW_ROWS
        self._parameters: dict[str, dict[str, Any]] = {}

    @cached_property
    def listed(self) -> Any:
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
class Gate:
    """A filter as a search applies it: types, which each index knows by itself, and the rows that pass the rest."""

    types: tuple[Type, ...] = ()
    rows: KeptRows | None = None

    @property
    def type_codes(self) -> list[int]:
        return [TYPES.index(name) for name in self.types]

    def among(self, column: str, name: str) -> str:
        """The condition that a column is one of the rows, after an AND; empty if all rows are kept."""
        return "" if self.rows is None else f" AND {self.rows.among(column, name)}"

    def values(self, name: str) -> dict[str, Any]:
        return {} if self.rows is None else self.rows.values(name)


ALL = Gate()
"""Every memory."""


class ReadScope(Scope):
    """A namespace as one recall reads it; what its filters leave is found once, as many routes ask the same."""

    def __init__(self, namespace: str, sql: Dialect) -> None:
        super().__init__(namespace, sql)
        self._known: dict[Filter, KeptRows] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def key(self) -> int | None:
        """The namespace's key, if it exists."""

    @abstractmethod
    def exists(self) -> bool:
        """True if anything was ever written to the namespace."""

    def kept(self, keep: Filter) -> Gate:
        """The memories that a filter leaves, for an index that knows the types of its memories."""
        rest = replace(keep, types=()) if keep.types else keep
        return Gate(keep.types, self.kept_rows(rest).rows) if keep else ALL

    def kept_rows(self, keep: Filter) -> Gate:
        """The memories that a filter leaves, types included, as rows."""
        if keep == EVERYTHING:
            return ALL
        with self._lock:
            if keep not in self._known:
                self._known[keep] = KeptRows(self._find(keep), self.sql)
            return Gate(rows=self._known[keep])

    def _find(self, keep: Filter) -> Rows:
        conditions = FilterConditions(keep, self.sql)
        found = f"SELECT {self.sql.json_list}(row) FROM ({conditions.statement()}) AS found"
        listed = self.value(found, **conditions.values)  # as one value, which is read fastest
        if isinstance(listed, str):
            return np.unique(np.fromstring(listed[1:-1], dtype=np.int64, sep=","))
        return np.unique(np.array(listed or (), dtype=np.int64))
