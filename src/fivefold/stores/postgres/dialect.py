"""PostgreSQL's words, and one of its connections inside a transaction."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import psycopg

from fivefold.stores.sql.scope import Dialect, Transaction
from fivefold.text.lexemes import empty_on_forget

Connection = psycopg.Connection[tuple[Any, ...]]
Values = Sequence[Any] | Mapping[str, Any]
"""The parameters of a statement, by place or by name."""

_PARAMETER = re.compile(r"\?(\d*)|(?<!:):([a-z_]\w*)|'(?:[^']|'')*'")


def _micros(place: str) -> str:
    """A moment of an extraction in µs."""
    return f"(extract(epoch FROM (d.value ->> '{place}')::timestamptz) * 1000000)::bigint"


class PostgresDialect(Dialect):
    """Lists go in as arrays."""

    greatest = "greatest"
    least = "least"
    position = "strpos"
    json_list = "json_agg"
    events = "memories"
    extracted_times: str = (
        f"(SELECT m.row AS memory, {_micros('start')} AS starts_at, {_micros('end')} AS ends_at FROM memories m "
        "CROSS JOIN json_array_elements(m.extracted::json -> 'dates') AS d(value) "
        "WHERE m.namespace = :ns AND m.kind <> 'session' AND strpos(m.extracted, '\"dates\":') > 0)"
    )
    own_vector = "v.namespace = :ns AND v.memory = m.row"
    in_space = "namespace = :ns AND space = :space"
    token_rows: str = "tokens"
    own_tokens = "t.namespace = :ns AND t.space = :space AND t.memory = m.row"

    def as_list(self, values: Iterable[Any]) -> list[Any]:
        return list(values)

    def among(self, column: str, parameter: str) -> str:
        return f"{column} = ANY({parameter})"

    def many_rows(self, name: str, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        return {name: rows.tolist()}

    def among_many(self, column: str, name: str) -> str:
        return f"{column} = ANY(:{name}::bigint[])"

    def each(self, parameter: str, kind: Literal["bigint", "text"]) -> str:
        return f"unnest({parameter}::{kind}[]) AS wanted(value)"

    def lowercase(self, column: str) -> str:
        return f'lower({column} COLLATE "C")'

    def unindexed(self, column: str) -> str:
        return column


POSTGRES = PostgresDialect()


@lru_cache(maxsize=2_000)
def translated(sql: str) -> tuple[str, tuple[str, ...]]:
    """The statement with PostgreSQL's own `$1`, and the names of its parameters in that order, if they have names."""
    names: dict[str, int] = {}
    last = 0

    def place(match: re.Match[str]) -> str:
        nonlocal last
        if match[2] is not None:
            return f"${names.setdefault(match[2], len(names) + 1)}"
        if match[1] is None:
            return match[0]
        number = int(match[1]) if match[1] else last + 1
        last = max(last, number)
        return f"${number}"

    return _PARAMETER.sub(place, sql), tuple(names)


def bound(sql: str, values: Values) -> tuple[str, list[Any]]:
    """A statement and its values as the connection takes them."""
    text, names = translated(sql)
    return text, [values[name] for name in names] if isinstance(values, Mapping) else list(values)


def ask(connection: Connection, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
    return connection.execute(*bound(sql, values)).fetchall()


class PostgresTransaction(Transaction):
    """One connection, with the store's transaction around it. Keys come from the namespace's own counter."""

    def __init__(self, connection: Connection, key: int, namespace: str = "", next_key: int = 0) -> None:
        super().__init__(POSTGRES, key, namespace)
        self.connection = connection
        self.next_key = next_key

    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return ask(self.connection, sql, {"ns": self.key, **values})

    def run(self, sql: str, /, **values: Any) -> None:
        self.connection.execute(*bound(sql, {"ns": self.key, **values}))

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """All in one go: the connection is in pipeline mode, so that no statement waits for the one before."""
        for row in rows:
            self.connection.execute(*bound(sql, row))

    def put(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
        """One statement; it reads the namespace's key from its table, so that Citus can send it to the shard whole."""
        if not rows:
            return
        names = ", ".join(columns[1:])
        arrays = ", ".join(f"${place}::bigint[]" for place in range(2, len(columns) + 1))
        sql = (
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT n.key, {names} FROM namespaces n "
            f"CROSS JOIN unnest({arrays}) AS u({names}) WHERE n.key = $1"
        )
        self.connection.execute(sql, [rows[0][0], *map(list, zip(*(row[1:] for row in rows), strict=True))])

    def new_key(self) -> int:
        key, self.next_key = self.next_key, self.next_key + 1
        return key

    def insert(self, sql: str, *values: Any) -> int:
        key = self.new_key()
        self.connection.execute(*bound(sql, (key, *values)))
        return key


# Numbers made of names: the key of a namespace, and the key of a lexeme inside one.


@lru_cache(maxsize=10_000)
def namespace_key(name: str) -> int:
    """64 bits of the name, so that a server need not be asked; creating a namespace checks that no other has them."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"5f-namespace").digest(), signed=True)


@lru_cache(maxsize=200_000)
def lexeme_key(namespace: int, sessions: bool, lexeme: str) -> int:
    """64 bits of a lexeme under its namespace: two namespaces never meet in one entry of the index."""
    salt = namespace.to_bytes(8, signed=True) + bytes([sessions])
    return int.from_bytes(hashlib.blake2b(lexeme.encode(), digest_size=8, salt=salt).digest(), signed=True)


empty_on_forget(lexeme_key.cache_clear)
