"""The tables that a store keeps for all its namespaces: how API keys, audit log and requests reach them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from fivefold.stores.sql.dialect import Database, Values


class SharedTables(ABC):
    """Keys are read again each time, so that one revoked anywhere is refused everywhere at once."""

    read_only = False

    @abstractmethod
    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """The rows of one reading statement, as new as can be."""

    @abstractmethod
    def rows_of(self, namespace: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement over one namespace, whose first parameter is what stands for that namespace."""

    @abstractmethod
    def rows_of_all(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of one statement over a table of namespaces that a server may see as none of them."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Database]:
        """A transaction over keys and audit log: durable when it ends, or undone."""

    @abstractmethod
    def requests_of(self, namespace: str) -> AbstractContextManager[tuple[Database, int | str]]:
        """A transaction over the requests of one namespace, and what stands for that namespace among them."""
