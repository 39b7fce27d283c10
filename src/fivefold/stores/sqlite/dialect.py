"""SQLite's words, statements that give rows, and one of its connections inside a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

import apsw
import numpy as np
import numpy.typing as npt

from fivefold.stores.sql.scope import Dialect, Transaction

PIECE_BITS = 10
"""The lowest bits of a key, which number the pieces of a passage."""


def _micros(place: str) -> str:
    """A moment of an extraction in µs; SQLite's own functions know no more than milliseconds."""
    text = f"d.value ->> '{place}'"
    return f"CAST(strftime('%s', substr({text}, 1, 19)) AS INTEGER) * 1000000 + CAST(substr({text}, 21, 6) AS INTEGER)"


class SqliteDialect(Dialect):
    """Lists go in as JSON."""

    greatest = "max"
    least = "min"
    position = "instr"
    json_list = "json_group_array"
    events = "main.memories INDEXED BY memories_events"
    extracted_times: str = (
        f"(SELECT m.row AS memory, {_micros('start')} AS starts_at, {_micros('end')} AS ends_at FROM memories m "
        "CROSS JOIN json_each(m.extracted, '$.dates') d "
        "WHERE m.namespace = :ns AND m.kind <> 'session' AND instr(m.extracted, '\"dates\":') > 0)"
    )
    own_vector = "v.memory = m.row"
    in_space = "space = :space"
    token_rows: str = (
        "(SELECT v.space, v.field, v.memory, v.part FROM vectors v "
        f"CROSS JOIN tokens p ON p.key = v.id << {PIECE_BITS})"
    )
    own_tokens = "t.memory = m.row AND t.space = :space"

    def as_list(self, values: Iterable[Any]) -> str:
        return _as_json(list(values))

    def among(self, column: str, parameter: str) -> str:
        value = "unhex(value)" if column == "content_hash" else "value"
        return f"{column} IN (SELECT {value} FROM json_each({parameter}))"

    def many_rows(self, name: str, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        """A byte for each row from the first to the last, or a list if these lie far apart."""
        first, last = int(rows[0]), int(rows[-1])
        marks = np.zeros(last - first + 1 if last - first < MAX_GAP * len(rows) else 0, dtype=np.uint8)
        if len(marks):
            marks[rows - first] = 1
        listed = "[]" if len(marks) else self.as_list(rows.tolist())
        return {name: marks.tobytes(), f"{name}_before": first - 1, f"{name}_listed": listed}

    def among_many(self, column: str, name: str) -> str:
        """A place before the first would count from the end."""
        marked = f"{column} > :{name}_before AND substr(:{name}, {column} - :{name}_before, 1) = x'01'"
        return f"({marked} OR +{column} IN (SELECT value FROM json_each(:{name}_listed)))"

    def each(self, parameter: str, kind: Literal["bigint", "text"]) -> str:
        return f"json_each({parameter}) AS wanted"

    def lowercase(self, column: str) -> str:
        return f"lower({column})"

    def unindexed(self, column: str) -> str:
        return f"+{column}"


_as_json = json.JSONEncoder(ensure_ascii=False, default=bytes.hex).encode

MAX_GAP = 64
"""Maximum average distance of a list's rows at which a byte for each row of the file is the shorter form."""

SQLITE = SqliteDialect()


class SqliteTransaction(Transaction):
    """One connection, with the store's transaction around it, or with none to only read."""

    def __init__(
        self, connection: apsw.Connection, key: int | str, namespace: str = "", now: datetime | None = None
    ) -> None:
        super().__init__(SQLITE, key, namespace, now)
        self.connection = connection

    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, {"ns": self.key, **values}).fetchall()

    def run(self, sql: str, /, **values: Any) -> None:
        self.connection.execute(sql, {"ns": self.key, **values})

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(sql, rows)

    def put(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
        places = ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)

    def new_key(self) -> None:
        return None

    def insert(self, sql: str, *values: Any) -> int:
        self.connection.execute(sql, (None, *values))
        return self.connection.last_insert_rowid()


def rows(connection: apsw.Connection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(sql, values).fetchall()


def number(connection: apsw.Connection, sql: str, *values: Any) -> int | None:
    """The one number a statement gives, if it gives one."""
    records = rows(connection, sql, *values)
    return None if not records or records[0][0] is None else int(records[0][0])


REMOVALS = "SELECT count FROM removals WHERE space = ? AND field = ?"
"""Number of times a vector of a field was removed."""


def table_of(dimension: int) -> str:
    return f"vec_{dimension}"


def reserve(txn: Transaction, table: str, more: int) -> int:
    """The last key a table has given out; that many more count as given out from now on."""
    last = txn.value("SELECT seq FROM sqlite_sequence WHERE name = :table", table=table)
    if last is None:
        txn.run("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :more)", table=table, more=more)
    else:
        txn.run("UPDATE sqlite_sequence SET seq = seq + :more WHERE name = :table", table=table, more=more)
    return last or 0
