"""The best documents of the lexical index by BM25, exactly, without scoring all that match.

Lexemes are read from the rarest on. A lexeme adds less than its bound, idf · (k1 + 1),
or four times that if predicates multiply. As soon as all that follow
cannot lift a new document above the last of the best, only documents that were found so far are scored further, and of
these only those that can still be among the best. The best are scored once more in the order of the question's
lexemes, so that the sums are those of every other way to score, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.stores.sql.lexeme_writer import COUNT_BITS, MAX_COUNT, PREDICATE_WEIGHT
from fivefold.stores.sqlite.documents import K1, B, Corpus
from fivefold.stores.sqlite.postings import Packed

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

SPREAD = 16
"""How many rows of a file there may be for one posting, on average, for a sum at each row to be the quickest way."""

SLACK = 1e-9
"""What two ways to add up a score may differ by, as a share of it."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents of one lexeme in rising rows."""

    rows: Rows
    counts: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, packed: Packed) -> Postings:
        rows, counts, lengths = (np.ascontiguousarray(packed[:, column]) for column in range(3))
        return cls(rows.astype(np.int64), counts, lengths)

    def among(self, kept: Rows) -> Postings:
        """Those of the rows of a filter."""
        if len(kept) < len(self.rows):
            places = np.searchsorted(self.rows, kept)
            places = places[self._has(places, kept)]
        else:
            found = np.searchsorted(kept, self.rows).clip(max=len(kept) - 1)
            places = np.flatnonzero(kept[found] == self.rows)
        return Postings(self.rows[places], self.counts[places], self.lengths[places])

    def _has(self, places: npt.NDArray[np.int64], rows: Rows) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.rows[places.clip(max=len(self.rows) - 1)] == rows
        return found

    def shares(self, weight: Weight) -> Scores:
        """What the lexeme adds to the score of each document."""
        return weight.shares(self.counts, self.lengths.astype(np.float64))

    def shares_at(self, weight: Weight, rows: Rows) -> Scores:
        """What the lexeme adds to the score of each of these rows; 0 where it is not in it."""
        shares = np.zeros(len(rows))
        if len(self.rows):
            places = np.searchsorted(self.rows, rows)
            has = np.flatnonzero(self._has(places, rows))
            found = places[has]
            shares[has] = weight.shares(self.counts[found], self.lengths[found].astype(np.float64))
        return shares


@dataclass(frozen=True, slots=True)
class Weight:
    """How much a lexeme weighs among the documents of a namespace."""

    idf: float
    corpus: Corpus
    multiplied: bool = False
    """Whether a place in the predicate multiplies the share of the lexeme, and counts no more than others do (R4)."""

    @property
    def bound(self) -> float:
        return self.idf * (K1 + 1.0) * (PREDICATE_WEIGHT if self.multiplied else 1)

    def shares(self, packed: npt.NDArray[np.uint32], lengths: Scores) -> Scores:
        counts = (packed & MAX_COUNT).astype(np.float64)
        named = packed >> COUNT_BITS if self.multiplied else None
        if named is not None:
            counts -= (PREDICATE_WEIGHT - 1.0) * named
        shares = self.idf * ((counts * (K1 + 1.0)) / (counts + K1 * (1 - B + B * lengths / self.corpus.average)))
        return shares if named is None else np.where(named > 0, PREDICATE_WEIGHT * shares, shares)


@dataclass(frozen=True, slots=True)
class Term:
    """A lexeme of the question that the index knows: its weight, in how many documents it is, and how to read them."""

    weight: Weight
    documents: int
    read: Callable[[], Postings]


def best(terms: Sequence[Term], depth: int, kept: Rows | None = None) -> tuple[Rows, Scores]:
    """The rows with the highest scores, best first and the lower row first of equal ones."""
    read: dict[int, Postings] = {}

    def postings(place: int) -> Postings:
        if place not in read:
            found = terms[place].read()
            read[place] = found if kept is None else found.among(kept)
        return read[place]

    rows = _candidates(terms, postings, depth)
    scores = np.zeros(len(rows))
    for place, term in enumerate(terms):
        scores += postings(place).shares_at(term.weight, rows)
    order = np.lexsort((rows, -scores))[:depth]
    return rows[order], scores[order]


def _candidates(terms: Sequence[Term], postings: Callable[[int], Postings], depth: int) -> Rows:
    """Rows in rising order, all of the best among them."""
    order = sorted(range(len(terms)), key=lambda place: terms[place].documents)
    rest = np.cumsum([terms[place].weight.bound for place in reversed(order)])[::-1].tolist()
    found: list[tuple[Rows, Scores]] = []
    rows, scores = np.zeros(0, dtype=np.int64), np.zeros(0)
    looked, summed, bar = 0, 0, -1.0
    for nth, place in enumerate(order):
        if looked >= 4 * summed and looked >= depth:
            rows, scores = add_up(found)
            summed = looked
            bar = _bar(scores, depth, bar)
            if rest[nth] <= bar:
                return _narrow(terms, postings, depth, order[nth:], rest[nth:], rows, scores)
        part = postings(place)
        found.append((part.rows, part.shares(terms[place].weight)))
        looked += len(part.rows)
    rows, scores = add_up(found)
    return rows[scores >= _bar(scores, depth, bar)]


def _narrow(
    terms: Sequence[Term],
    postings: Callable[[int], Postings],
    depth: int,
    order: Sequence[int],
    rest: Sequence[float],
    rows: Rows,
    scores: Scores,
) -> Rows:
    """Those of the rows that are among the best once the other lexemes are added, and few more."""
    bar = -1.0
    for place, left in zip(order, rest, strict=True):
        bar = _bar(scores, depth, bar)
        able = scores >= (bar - left) * (1 - SLACK)
        rows, scores = rows[able], scores[able]
        scores = scores + postings(place).shares_at(terms[place].weight, rows)
    return rows[scores >= _bar(scores, depth, bar)]


def _bar(scores: Scores, depth: int, before: float) -> float:
    """The score of the last of the best, a little less for rounding; -1 where there are fewer. It only rises."""
    able = scores[scores >= before] if before > 0 else scores
    if len(able) < depth:
        return before
    return max(before, float(np.partition(able, len(able) - depth)[len(able) - depth]) * (1 - SLACK))


def add_up(found: Sequence[tuple[Rows, Scores]]) -> tuple[Rows, Scores]:
    """Each row once, in rising order, with the sum of its scores."""
    rows = np.concatenate([rows for rows, _ in found] or [np.zeros(0, dtype=np.int64)])
    if not len(rows):
        return rows, np.zeros(0)
    shares = np.concatenate([shares for _, shares in found])
    first, last = int(rows.min()), int(rows.max())
    if last - first > SPREAD * len(rows):
        each, places = np.unique(rows, return_inverse=True)
        return each, np.bincount(places, weights=shares).astype(np.float64, copy=False)
    sums = np.bincount(rows - first, weights=shares).astype(np.float64, copy=False)
    places = np.flatnonzero(sums > 0.0).astype(np.int64, copy=False)
    return places + first, sums[places]
