"""A namespace as a copy reads it: plain rows of the tables in `fivefold.stores.tables`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from fivefold.stores.tables import Family, Row, Table


class Snapshot(Protocol):
    """A namespace as it was at one moment, table by table."""

    @property
    def store(self) -> str:
        """Identifies the store, however it was addressed."""

    def rows(self, table: Table, after: Sequence[Any] = ()) -> Iterator[Row]:
        """All rows in the table's order, or those behind a position in it; a vector is its float32 as bytes."""

    def counts(self) -> dict[str, int]:
        """The number of rows of every table."""

    def bounds(self) -> dict[Family, tuple[int, int]]:
        """The smallest and the largest key of each family; zeros where there is no key."""
