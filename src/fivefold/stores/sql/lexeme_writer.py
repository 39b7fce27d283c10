"""Writing the lexical index; how it is stored is each store's own."""

from __future__ import annotations

from abc import ABC, abstractmethod

from fivefold.stores.protocol import Entry
from fivefold.stores.sql.transaction import Transaction


class SqlLexemeWriter(ABC):
    """Session memories repeat their turns, so their lexemes are counted apart."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    @abstractmethod
    def add(self, row: int, entry: Entry) -> None:
        """Put a memory's lexemes into the index."""

    @abstractmethod
    def remove(self, row: int, kind: str) -> None:
        """Delete a memory's lexemes from the index."""

    @abstractmethod
    def clear(self) -> None:
        """Empty the index of the namespace."""

    @abstractmethod
    def drop(self) -> None:
        """Delete the index of the namespace for good."""

    @abstractmethod
    def optimize(self) -> None:
        """Put the index in order after much was written to it."""

    @abstractmethod
    def flush(self) -> None:
        """Write what the transaction gathered; called before it ends."""
