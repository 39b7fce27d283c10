"""Writing the lexical index; how it is stored is each store's own. How often a lexeme occurs is one number in all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence

from fivefold.stores.protocol import Entry
from fivefold.stores.sql.transaction import Transaction

PREDICATE_WEIGHT = 4
"""A hit in the short predicate weighs four times one in the content (R4)."""

COUNT_BITS = 16
"""The low bits of a count: places in the content, and four times those in the predicate. Above are the latter alone."""

MAX_COUNT = (1 << COUNT_BITS) - 1
MAX_NAMED = (1 << 15) - 1


def packed_counts(predicate: Sequence[str], content: Sequence[str]) -> dict[str, int]:
    """How often each lexeme occurs in a document, in both of its fields."""
    named, counts = Counter(predicate), Counter(content)
    return {
        lexeme: min(counts[lexeme] + PREDICATE_WEIGHT * named[lexeme], MAX_COUNT)
        | min(named[lexeme], MAX_NAMED) << COUNT_BITS
        for lexeme in {**counts, **named}
    }


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
