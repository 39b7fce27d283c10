"""Where SQLite and PostgreSQL say the same thing in other words; all other statements are written once for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Values = Sequence[Any] | Mapping[str, Any]


class Dialect(Protocol):
    """Parameters are `?`, `?1` or `:name` in every statement; a list is one parameter, made by `as_list`."""

    @property
    def greatest(self) -> str:
        """The function that gives the greater of two values."""

    @property
    def least(self) -> str:
        """The function that gives the lesser of two values."""

    @property
    def position(self) -> str:
        """The function that finds a text in another: 0 when it is not there."""

    @property
    def json_list(self) -> str:
        """The aggregate that gathers values into a JSON list."""

    @property
    def events(self) -> str:
        """The memories as a search by time reads them."""

    @property
    def extracted_times(self) -> str:
        """A table of the stretches of time that turns and notes of the namespace `?1` name, as they were extracted."""

    @property
    def own_vector(self) -> str:
        """The condition that a vector `v` is one of the memory `m` of the namespace `?1`."""

    @property
    def in_space(self) -> str:
        """The condition that a vector is of the space `?2` of the namespace `?1`."""

    @property
    def token_rows(self) -> str:
        """A table with a row for each passage that has token vectors: space, field, memory, part."""

    @property
    def own_tokens(self) -> str:
        """The condition that a row `t` of `token_rows` is of the memory `m`, the namespace `?1` and the space `?2`."""

    def as_list(self, values: Iterable[Any]) -> Any:
        """A list as a parameter."""

    def among(self, column: str, parameter: str) -> str:
        """The condition that a column is in a listed parameter."""

    def many_rows(self, name: str, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Many rows, in rising order, as parameters that begin with a name."""

    def among_many(self, column: str, name: str) -> str:
        """The condition that a column is one of many rows."""

    def each(self, parameter: str, kind: Literal["bigint", "text"]) -> str:
        """A listed parameter as the table `wanted` with one column, `value`."""

    def lowercase(self, column: str) -> str:
        """A text with its ASCII letters small and all others as they are."""

    def unindexed(self, column: str) -> str:
        """A column in a condition that the planner should not begin with."""


class Database(Protocol):
    """One connection inside a transaction."""

    @property
    def dialect(self) -> Dialect: ...
    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]: ...
    def run(self, sql: str, values: Values = ()) -> None: ...
    def many(self, sql: str, values: Iterable[Values]) -> None: ...
    def put(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
        """Insert rows of whole numbers, the first of which is the namespace."""

    def new_key(self) -> int | None:
        """The key of a new row, or None where the database finds one while inserting."""

    def insert(self, sql: str, *values: Any) -> int:
        """Insert a row whose first parameter is its key; gives that key."""
