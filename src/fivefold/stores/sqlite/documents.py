"""A memory as lexical search sees it: its lexemes, and what one of them adds to its score by BM25 (R4)."""

from __future__ import annotations

import math
from typing import NamedTuple

from fivefold.stores.sql.lexeme_writer import COUNT_BITS, MAX_COUNT, PREDICATE_WEIGHT, packed_counts

K1, B = 1.2, 0.75
"""The constants of BM25, those of SQLite's FTS5."""

LEAST_IDF = 1e-6
"""What a lexeme counts that more than half of all documents have."""

LAST_CHARACTER = "\U0010ffff"
"""Comes after every character of a lexeme."""


class Document(NamedTuple):
    """The lexemes of one memory, each list joined by spaces."""

    memory: int
    length: int
    predicate: str
    content: str

    def counts(self) -> dict[str, int]:
        """How often each of its lexemes occurs, in both fields."""
        return packed_counts(self.predicate.split(), self.content.split())

    def lexemes(self) -> set[str]:
        return {*self.predicate.split(" "), *self.content.split(" ")} - {""}


class Corpus(NamedTuple):
    """What BM25 knows of all documents together."""

    documents: int
    lexemes: int

    @property
    def average(self) -> float:
        """The average length of a document."""
        return self.lexemes / max(1, self.documents)

    def idf(self, matching: int) -> float:
        """The weight of a lexeme, by the number of documents that have it."""
        return max(math.log((self.documents - matching + 0.5) / (matching + 0.5)), 0.0) or LEAST_IDF

    def share(self, idf: float, packed: int, length: float, multiplied: bool = False) -> float:
        """What one lexeme adds to the score of a document; `multiplied` if its predicate multiplies that (R4)."""
        count, named = packed & MAX_COUNT, packed >> COUNT_BITS
        if multiplied and named:
            return PREDICATE_WEIGHT * self.share(idf, count - (PREDICATE_WEIGHT - 1) * named, length)
        return idf * ((count * (K1 + 1.0)) / (count + K1 * (1 - B + B * length / self.average)))
