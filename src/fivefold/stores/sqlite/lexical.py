"""Lexical search in a namespace of any size: by BM25 over its index and over the memories that are not in it yet.

Frequencies and lengths are those of the namespace alone, so that what one namespace holds never moves another's
ranking. Session memories repeat their turns and are a corpus of their own.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple
from weakref import WeakSet

import apsw
import numpy as np
import numpy.typing as npt

from fivefold.stores.records import Entry
from fivefold.stores.sql.index import COUNT_BITS, MAX_COUNT, PREDICATE_WEIGHT, LexemeWriter
from fivefold.stores.sql.scope import Gate, KeptRows
from fivefold.stores.sqlite import postings
from fivefold.stores.sqlite.connection import one_snapshot, rows
from fivefold.stores.sqlite.dialect import SQLITE, SqliteTransaction
from fivefold.stores.sqlite.postings import K1, LAST_CHARACTER, B, Corpus, Document, Packed
from fivefold.text.lexemes import empty_on_forget
from fivefold.values.recall_trace import RouteHit, new_hit

# The best documents of the lexical index by BM25, exactly. Few postings are all added up. Of many, lexemes are read
# from the rarest on, and not all that match are scored. A lexeme adds less than its bound, idf · (k1 + 1), or four
# times that if predicates multiply. As soon as all that follow cannot lift a new document above the last of the best,
# only documents that were found so far are scored further, and of these only those that can still be among the best.
# The best are scored once more in the order of the question's lexemes, so that the sums are those of every other way
# to score, to the last bit.

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

MAX_SPREAD = 16
"""Maximum rows of a file per posting, on average, at which a sum at each row is the quickest way."""

MAX_SUMMED_POSTINGS = 20_000
"""Up to this many postings of a question are all added up at once, which takes fewer steps than leaving some out."""

SUM_SLACK = 1e-9
"""Maximum difference between two ways to add up a score, as a share of it."""


@dataclass(frozen=True, slots=True)
class Postings:
    rows: Rows
    counts: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, packed: Packed) -> Postings:
        rows, counts, lengths = (np.ascontiguousarray(packed[:, column]) for column in range(3))
        return cls(rows.astype(np.int64), counts, lengths)

    def among(self, kept: Rows) -> Postings:
        """The given rows that pass a filter."""
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
        """The part that the lexeme adds to the score of each document."""
        return weight.shares(self.counts, self.lengths.astype(np.float64))

    def shares_at(self, weight: Weight, rows: Rows) -> Scores:
        """The part that the lexeme adds to the score of each of these rows; 0 if it is not in it."""
        shares = np.zeros(len(rows))
        if len(self.rows):
            places = np.searchsorted(self.rows, rows)
            has = np.flatnonzero(self._has(places, rows))
            found = places[has]
            shares[has] = weight.shares(self.counts[found], self.lengths[found].astype(np.float64))
        return shares


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight of a lexeme among the documents of a namespace."""

    idf: float
    corpus: Corpus
    multiplied: bool = False
    """True if a place in the predicate multiplies the share of the lexeme, and counts no more than others do (R4)."""

    @property
    def bound(self) -> float:
        return self.idf * (K1 + 1.0) * (PREDICATE_WEIGHT if self.multiplied else 1)

    def shares(self, packed: npt.NDArray[np.uint32], lengths: Scores, idf: Scores | None = None) -> Scores:
        """By `idf`, of documents of several lexemes."""
        counts = (packed & MAX_COUNT).astype(np.float64)
        named = packed >> COUNT_BITS if self.multiplied else None
        if named is not None:
            counts -= (PREDICATE_WEIGHT - 1.0) * named
        shares = (self.idf if idf is None else idf) * (
            (counts * (K1 + 1.0)) / (counts + K1 * (1 - B + B * lengths / self.corpus.average))
        )
        return shares if named is None else np.where(named > 0, PREDICATE_WEIGHT * shares, shares)


@dataclass(frozen=True, slots=True)
class Term:
    """A lexeme of the question that the index knows: its weight, in how many documents it is, and how to read them."""

    weight: Weight
    documents: int
    read: Callable[[], Postings]


def best_documents(terms: Sequence[Term], depth: int, kept: Rows | None = None) -> tuple[Rows, Scores]:
    """The rows with the highest scores, best first and the lower row first of equal ones."""
    read: dict[int, Postings] = {}

    def postings(place: int) -> Postings:
        if place not in read:
            found = terms[place].read()
            read[place] = found if kept is None else found.among(kept)
        return read[place]

    if sum(term.documents for term in terms) <= MAX_SUMMED_POSTINGS:
        parts = [postings(place) for place in range(len(terms))]
        rows, counts, lengths = (
            np.concatenate([getattr(part, column) for part in parts]) for column in ("rows", "counts", "lengths")
        )
        idf = np.repeat([term.weight.idf for term in terms], [len(part.rows) for part in parts])
        shares = terms[0].weight.shares(counts, lengths.astype(np.float64), idf)
        rows, scores = add_up([(rows, shares)])  # lexeme by lexeme, as below
        able = np.flatnonzero(scores >= _bar(scores, depth, -1.0))
        order = able[np.lexsort((rows[able], -scores[able]))][:depth]
        return rows[order], scores[order]
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
        able = scores >= (bar - left) * (1 - SUM_SLACK)
        rows, scores = rows[able], scores[able]
        scores = scores + postings(place).shares_at(terms[place].weight, rows)
    return rows[scores >= _bar(scores, depth, bar)]


def _bar(scores: Scores, depth: int, before: float) -> float:
    """The score of the last of the best, a little less for rounding; -1 if there are fewer. It only rises."""
    able = scores[scores >= before] if before > 0 else scores
    if len(able) < depth:
        return before
    return max(before, float(np.partition(able, len(able) - depth)[len(able) - depth]) * (1 - SUM_SLACK))


def add_up(found: Sequence[tuple[Rows, Scores]]) -> tuple[Rows, Scores]:
    """Each row once, in rising order, with the sum of its scores."""
    rows = np.concatenate([rows for rows, _ in found] or [np.zeros(0, dtype=np.int64)])
    if not len(rows):
        return rows, np.zeros(0)
    shares = np.concatenate([shares for _, shares in found])
    first, last = int(rows.min()), int(rows.max())
    if last - first > MAX_SPREAD * len(rows):
        each, places = np.unique(rows, return_inverse=True)
        return each, np.bincount(places, weights=shares).astype(np.float64, copy=False)
    sums = np.bincount(rows - first, weights=shares).astype(np.float64, copy=False)
    places = np.flatnonzero(sums > 0.0).astype(np.int64, copy=False)
    return places + first, sums[places]


# Lexical search over few memories: their lexemes lie in one table for all namespaces and are read as a whole. These are
# all memories of a small namespace, and of a large one those that were written last and wait for its index.

MAX_MEMORIES = 1_000
MAX_CHARACTERS = 300_000
"""A namespace with more memories, or with more characters of lexemes, gets an index."""

MAX_RECENT = 400
MAX_RECENT_CHARACTERS = 120_000
"""In a namespace with an index, more memories or characters than that are moved into it."""

_OF = "FROM lexemes WHERE namespace = ? AND sessions = ?"


def documents(connection: apsw.Connection, namespace: int, sessions: bool) -> list[Document]:
    """All documents of a namespace that are not in an index."""
    found = rows(connection, f"SELECT memory, length, predicate, content {_OF}", namespace, int(sessions))
    return [Document(*row) for row in found]


def add(connection: apsw.Connection, namespace: int, sessions: int, found: Iterable[Document]) -> None:
    values = ((namespace, sessions, *document) for document in found)
    connection.executemany("INSERT INTO lexemes VALUES (?, ?, ?, ?, ?, ?)", values)


def is_large(
    connection: apsw.Connection, namespace: int, has_index: bool = False, more: Sequence[Document] = ()
) -> bool:
    """True if the documents of the namespace, and some more, have outgrown the table."""
    sql = "SELECT count(*), coalesce(sum(length(predicate) + length(content)), 0) FROM lexemes WHERE namespace = ?"
    ((memories, characters),) = rows(connection, sql, namespace)
    memories += len(more)
    characters += sum(len(item.predicate) + len(item.content) for item in more)
    if has_index:
        return bool(memories > MAX_RECENT or characters > MAX_RECENT_CHARACTERS)
    return bool(memories > MAX_MEMORIES or characters > MAX_CHARACTERS)


class Recent:
    """The documents of a namespace that are not in an index, joined, so that a lexeme is looked for in all at once."""

    def __init__(self, found: Sequence[Document]) -> None:
        self.memories = np.array([item.memory for item in found], dtype=np.int64)
        self.lengths = np.array([item.length for item in found], dtype=np.float64)
        self.corpus: Corpus = Corpus(len(found), sum(item.length for item in found))
        self._fields = [
            (weight, "".join([f" {text} \n" for text in texts]), np.cumsum([len(text) + 3 for text in texts]))
            for weight, texts in (
                (PREDICATE_WEIGHT + (1 << COUNT_BITS), [item.predicate for item in found]),
                (1, [item.content for item in found]),
            )
        ]

    def counts(self, lexemes: Sequence[str]) -> npt.NDArray[np.uint32]:
        """Number of times each of the lexemes, a row each, occurs in each of the documents, packed."""
        counts = np.zeros((len(lexemes), len(self.memories)), dtype=np.uint32)
        for weight, joined, ends in self._fields:
            for place, lexeme in enumerate(lexemes):
                wanted, found = f" {lexeme} ", []
                at = joined.find(wanted)
                while at >= 0:
                    found.append(at)
                    at = joined.find(wanted, at + len(wanted) - 1)
                if found:
                    np.add.at(counts[place], np.searchsorted(ends, found, side="right"), np.uint32(weight))
        return counts


RARE_COUNT = 32_768
"""Up to this many memories of a type are listed; of more, enough are among the best hits of all types."""

Hits = list[tuple[int, float]]


MAX_RECENT_NAMESPACES = 32
"""Of how many namespaces the documents that are not in an index stay in memory, half a megabyte each at most."""


_STATE = (
    "SELECT k.rows, k.sum, c.documents, c.lexemes, c.version FROM (SELECT 1) LEFT JOIN checksums k "
    "ON k.key = ?1 AND k.name = 'lexemes' LEFT JOIN corpora c ON c.namespace = ?1 AND c.sessions = ?2"
)
"""The checksum of the documents outside of an index, and the statistics of the index."""


class PostingCache:
    """The postings of frequent lexemes that were read last, and the documents outside of an index.

    A change of the index makes the former stale, a change of the documents, which their checksums show, the latter.
    """

    def __init__(self, least: int = 256, most: int = 3_000_000) -> None:
        """`least` postings are worth to be cached, and `most` are, of all lexemes together."""
        self._least, self._most = least, most
        self._known: OrderedDict[tuple[int, int], tuple[int, Postings]] = OrderedDict()
        self._size = 0
        self._recent: OrderedDict[tuple[int, bool], tuple[tuple[int, ...], Recent]] = OrderedDict()
        self._lock = threading.Lock()
        _caches.add(self)

    def forget_texts(self) -> None:
        with self._lock:
            self._recent.clear()

    def known(
        self, connection: apsw.Connection, namespace: int, sessions: bool
    ) -> tuple[Recent, IndexStatistics | None]:
        """The documents outside of an index, and the index; None if the namespace is small and has none."""
        if not connection.table_exists("main", "checksums"):  # a file of an older schema, which is only read
            return Recent(documents(connection, namespace, sessions)), index_of(connection, namespace, sessions)
        ((*sums, count, lexemes, version),) = rows(connection, _STATE, namespace, sessions)
        index = None if count is None else IndexStatistics(Corpus(count, lexemes), version)
        key, state = (namespace, sessions), (connection.total_changes(), *sums)
        with self._lock:
            if key in self._recent and self._recent[key][0] == state:
                self._recent.move_to_end(key)
                return self._recent[key][1], index
        found = Recent(documents(connection, namespace, sessions))
        if None not in sums:
            with self._lock:
                self._recent[key] = (state, found)
                while len(self._recent) > MAX_RECENT_NAMESPACES:
                    self._recent.popitem(last=False)
        return found, index

    def read(
        self, connection: apsw.Connection, namespace: int, terms: Sequence[int], version: int
    ) -> dict[int, Postings]:
        """The postings of several lexemes, those that are not cached by one statement."""
        known: dict[int, Postings] = {}
        with self._lock:
            for term in terms:
                cached = self._known.get((namespace, term))
                if cached is not None and cached[0] == version:
                    self._known.move_to_end((namespace, term))
                    known[term] = cached[1]
        rest = [term for term in terms if term not in known]
        data = postings.read(connection, namespace, rest) if rest else {}
        for term in rest:
            known[term] = found = Postings.of(postings.unpack(data.get(term, b"")))
            if len(found.rows) >= self._least:
                self._put((namespace, term), version, found)
        return known

    def _put(self, key: tuple[int, int], version: int, found: Postings) -> None:
        with self._lock:
            if key in self._known:
                self._size -= len(self._known.pop(key)[1].rows)
            self._known[key] = (version, found)
            self._size += len(found.rows)
            while self._size > self._most:
                self._size -= len(self._known.popitem(last=False)[1][1].rows)


_caches: WeakSet[PostingCache] = WeakSet()


@empty_on_forget
def _forget_texts() -> None:
    for cache in list(_caches):
        cache.forget_texts()


class IndexStatistics(NamedTuple):
    """The statistics of an index and its version."""

    corpus: Corpus
    version: int


def index_of(connection: apsw.Connection, namespace: int, sessions: bool) -> IndexStatistics | None:
    """The index of a namespace; None if it is small and has none."""
    sql = "SELECT documents, lexemes, version FROM corpora WHERE namespace = ? AND sessions = ?"
    for documents, lexemes, version in rows(connection, sql, namespace, int(sessions)):
        return IndexStatistics(Corpus(documents, lexemes), version)
    return None


def search(
    connection: apsw.Connection,
    cache: PostingCache,
    namespace: int,
    lexemes: Sequence[str],
    depth: int,
    keep: Gate,
    sessions: bool = False,
    multiplied: bool = False,
) -> list[RouteHit]:
    """The best by BM25, higher is better; any of the lexemes may match."""
    lexemes = list(dict.fromkeys(lexemes))
    with one_snapshot(connection):
        if keep.types:
            keep = _without_rare_types(connection, namespace, keep)
        most = 4 * depth if keep.types else depth
        while True:
            found = _scored(connection, cache, namespace, lexemes, most, keep, sessions, multiplied)
            best = found[:most]
            if keep.types:
                sql = (
                    "SELECT m.row FROM json_each(?) f CROSS JOIN memories m ON m.row = f.value "
                    f"WHERE m.type IN ({', '.join('?' * len(keep.types))})"
                )
                allowed = {row for (row,) in rows(connection, sql, str([row for row, _ in best]), *keep.types)}
                best = [hit for hit in best if hit[0] in allowed]
            if len(best) >= depth or len(found) < most or not keep.types:
                return [new_hit(row, score) for row, score in best[:depth]]
            most *= 8


def _scored(
    connection: apsw.Connection,
    cache: PostingCache,
    namespace: int,
    lexemes: Sequence[str],
    depth: int,
    keep: Gate,
    sessions: bool,
    multiplied: bool,
) -> Hits:
    """The best of the index and all others that match, each with its score, the best first."""
    recent, index = cache.known(connection, namespace, sessions)
    terms_known = [] if index is None else postings.terms_of(connection, namespace, int(sessions), lexemes)
    known = {lexeme: (term, size) for lexeme, term, size, _ in terms_known}
    counts, corpus = recent.counts(lexemes), recent.corpus
    if index is not None:
        corpus = Corpus(corpus.documents + index.corpus.documents, corpus.lexemes + index.corpus.lexemes)
    here = np.count_nonzero(counts, axis=1).tolist()
    idf = [corpus.idf(known.get(lexeme, (0, 0))[1] + count) for lexeme, count in zip(lexemes, here, strict=True)]
    matching = np.flatnonzero(counts.any(axis=0))
    scores, lengths = np.zeros(len(matching)), recent.lengths[matching]
    for place in np.flatnonzero(here).tolist():
        scores += Weight(idf[place], corpus, multiplied).shares(counts[place, matching], lengths)
    found = list(zip(recent.memories[matching].tolist(), scores.tolist(), strict=True))
    kept = None if keep.rows is None else keep.rows.rows
    if kept is not None:
        allowed = set(kept.tolist())
        found = [hit for hit in found if hit[0] in allowed]
    if index is not None and known:
        numbers = [known[lexeme][0] for lexeme in lexemes if lexeme in known]
        few = sum(size for _, size in known.values()) <= MAX_SUMMED_POSTINGS
        version, read = index.version, cache.read(connection, namespace, numbers, index.version) if few else {}

        def postings_of(term: int) -> Postings:
            return (read or cache.read(connection, namespace, [term], version))[term]

        terms = [
            Term(Weight(weight, corpus, multiplied), known[lexeme][1], partial(postings_of, known[lexeme][0]))
            for lexeme, weight in zip(lexemes, idf, strict=True)
            if lexeme in known
        ]
        top, sums = best_documents(terms, depth, kept)
        indexed = zip(top.tolist(), sums.tolist(), strict=True)
        if not found:
            return list(indexed)
        found += indexed
    found.sort(key=lambda hit: (-hit[1], hit[0]))
    return found


def _without_rare_types(connection: apsw.Connection, namespace: int, keep: Gate) -> Gate:
    """A filter that names the memories of its types instead of the types, if these are few."""
    of = f"FROM memories WHERE namespace = ? AND type IN ({', '.join('?' * len(keep.types))})"
    if rows(connection, f"SELECT 1 {of} LIMIT 1 OFFSET {RARE_COUNT}", namespace, *keep.types):
        return keep
    ((listed,),) = rows(connection, f"SELECT json_group_array(row) {of}", namespace, *keep.types)
    found = np.unique(np.array(json.loads(listed), dtype=np.int64))
    if keep.rows is not None:
        found = np.intersect1d(found, keep.rows.rows, assume_unique=True)
    return Gate(rows=KeptRows(found, SQLITE))


def latest_with(
    connection: apsw.Connection, cache: PostingCache, namespace: int, lexemes: Sequence[str], limit: int
) -> list[int]:
    with one_snapshot(connection):
        recent, _ = cache.known(connection, namespace, False)
        found = set(recent.memories[recent.counts(lexemes).any(axis=0)].tolist())
        for _, term, *_ in postings.terms_of(connection, namespace, 0, dict.fromkeys(lexemes)):
            found.update(postings.read_latest(connection, namespace, term, limit))
    return sorted(found, reverse=True)[:limit]


def vocabulary(connection: apsw.Connection, namespace: int, most: int, prefix: str = "") -> list[str]:
    """The lexemes of most documents; session memories are left out, which repeat their turns."""
    with one_snapshot(connection):
        recent = documents(connection, namespace, False)
        end = prefix + LAST_CHARACTER
        counts = Counter(lexeme for item in recent for lexeme in item.lexemes() if prefix <= lexeme < end)
        sql = (
            "SELECT lexeme, documents FROM terms WHERE namespace = ? AND sessions = 0 AND lexeme >= ? AND lexeme < ? "
            "ORDER BY documents DESC, lexeme LIMIT ?"
        )
        frequent = dict(rows(connection, sql, namespace, prefix, end, most))
        also = {lexeme: known for lexeme, _, known, _ in postings.terms_of(connection, namespace, 0, counts)}
        counts.update(frequent | also)
    return sorted(counts, key=lambda lexeme: (-counts[lexeme], lexeme))[:most]


def rows_of(sessions: bool) -> str:
    """A statement that gives the memories of a namespace, or its sessions, that can be found."""
    own = f"WHERE namespace = :ns AND sessions = {sessions:d}"
    return " UNION ALL ".join(f"SELECT memory FROM {table} {own}" for table in ("lexemes", "documents"))


class SqliteLexemeWriter(LexemeWriter):
    """Lexemes go into the table that every search reads as a whole, and many at once straight into the index."""

    def __init__(self, txn: SqliteTransaction) -> None:
        super().__init__(txn)
        self._connection = txn.connection
        self._added: tuple[dict[int, Document], dict[int, Document]] = ({}, {})
        self._removed: tuple[list[Document], list[Document]] = ([], [])

    @cached_property
    def _has_index(self) -> bool:
        return index_of(self._connection, self._txn.key, sessions=False) is not None

    def add(self, row: int, entry: Entry) -> None:
        predicate, content = entry.predicate_lexemes, entry.content_lexemes
        document = Document(row, len(predicate) + len(content), " ".join(predicate), " ".join(content))
        self._added[entry.memory.kind == "session"][row] = document
        if sum(map(len, self._added)) >= postings.AT_ONCE:
            self.flush()

    def remove(self, row: int, kind: str) -> None:
        sessions = int(kind == "session")
        if self._added[sessions].pop(row, None):
            return
        self._connection.execute(f"DELETE {_OF} AND memory = ?", (self._txn.key, sessions, row))
        if self._connection.changes():
            return
        document = postings.take(self._connection, self._txn.key, sessions, row)
        if document is not None:
            self._removed[sessions].append(document)

    def clear(self) -> None:
        postings.clear(self._connection, self._txn.key)
        self._txn.run("DELETE FROM lexemes WHERE namespace = :ns")
        self._added, self._removed = ({}, {}), ([], [])
        self._has_index = False

    def flush(self) -> None:
        """Take what was removed out of the index, and put what has gathered into it or into the table."""
        for sessions, documents in enumerate(self._removed):
            if documents:
                postings.remove_documents(self._connection, self._txn.key, sessions, documents)
                documents.clear()
        new = [document for added in self._added for document in added.values()]
        if not new:
            return
        large = is_large(self._connection, self._txn.key, self._has_index, new)
        for sessions, added in enumerate(self._added):
            put = postings.move_recent if large else add
            put(self._connection, self._txn.key, sessions, list(added.values()))
            added.clear()
        self._has_index = self._has_index or large
