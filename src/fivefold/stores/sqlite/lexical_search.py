"""Lexical search in a namespace of any size: by BM25 over its index and over the memories that are not in it yet.

Frequencies and lengths are those of the namespace alone, so that what one namespace holds never moves another's
ranking. Session memories repeat their turns and are a corpus of their own.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import apsw
import numpy as np

from fivefold.stores.sql.kept_rows import Kept, KeptRows
from fivefold.stores.sqlite import bm25, lexeme_index, postings, shared_lexemes
from fivefold.stores.sqlite.connection import one_snapshot, rows
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.documents import LAST_CHARACTER, Corpus
from fivefold.values.recall_trace import RouteHit

RARE = 32_768
"""Up to this many memories of a type are listed; of more, enough are among the best hits of all types."""

Hits = list[tuple[int, float]]


class PostingCache:
    """The postings of frequent lexemes that were read last; a change of the index makes them stale."""

    def __init__(self, least: int = 256, most: int = 3_000_000) -> None:
        """`least` postings are worth to be cached, and `most` are, of all lexemes together."""
        self._least, self._most = least, most
        self._known: OrderedDict[tuple[int, int], tuple[int, bm25.Postings]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, connection: apsw.Connection, namespace: int, term: int, version: int) -> bm25.Postings:
        key = (namespace, term)
        with self._lock:
            if key in self._known and self._known[key][0] == version:
                self._known.move_to_end(key)
                return self._known[key][1]
        found = bm25.Postings.of(postings.unpack(postings.read(connection, namespace, term)))
        if len(found.rows) >= self._least:
            self._put(key, version, found)
        return found

    def _put(self, key: tuple[int, int], version: int, found: bm25.Postings) -> None:
        with self._lock:
            if key in self._known:
                self._size -= len(self._known.pop(key)[1].rows)
            self._known[key] = (version, found)
            self._size += len(found.rows)
            while self._size > self._most:
                self._size -= len(self._known.popitem(last=False)[1][1].rows)


class Index(NamedTuple):
    """The statistics of an index and its version."""

    corpus: Corpus
    version: int


def index_of(connection: apsw.Connection, namespace: int, sessions: bool) -> Index | None:
    """The index of a namespace; None where it is small and has none."""
    sql = "SELECT documents, lexemes, version FROM corpora WHERE namespace = ? AND sessions = ?"
    for documents, lexemes, version in rows(connection, sql, namespace, int(sessions)):
        return Index(Corpus(documents, lexemes), version)
    return None


def search(
    connection: apsw.Connection,
    cache: PostingCache,
    namespace: int,
    lexemes: Sequence[str],
    depth: int,
    keep: Kept,
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
            found.sort(key=lambda hit: (-hit[1], hit[0]))
            best = found[:most]
            if keep.types:
                allowed = shared_lexemes.of_types(connection, [row for row, _ in best], keep)
                best = [hit for hit in best if hit[0] in allowed]
            if len(best) >= depth or len(found) < most or not keep.types:
                return [RouteHit(row, score) for row, score in best[:depth]]
            most *= 8


def _scored(
    connection: apsw.Connection,
    cache: PostingCache,
    namespace: int,
    lexemes: Sequence[str],
    depth: int,
    keep: Kept,
    sessions: bool,
    multiplied: bool,
) -> Hits:
    """The best of the index and all others that match, each with its score."""
    recent = shared_lexemes.documents(connection, namespace, sessions)
    index = index_of(connection, namespace, sessions)
    known = {} if index is None else _known(connection, namespace, sessions, lexemes)
    matching = shared_lexemes.counts_of(recent, lexemes)
    own = Corpus(len(recent), sum(item.length for item in recent))
    corpus = own if index is None else Corpus(*(one + other for one, other in zip(own, index.corpus, strict=True)))
    here = [sum(counts[place] > 0 for _, counts in matching) for place in range(len(lexemes))]
    idf = [corpus.idf(known.get(lexeme, (0, 0))[1] + count) for lexeme, count in zip(lexemes, here, strict=True)]
    found = list(shared_lexemes.scores(matching, idf, corpus, multiplied).items())
    kept = None if keep.rows is None else keep.rows.rows
    if kept is not None:
        allowed = set(kept.tolist())
        found = [hit for hit in found if hit[0] in allowed]
    if index is not None and known:
        terms = [
            bm25.Term(
                bm25.Weight(weight, corpus, multiplied),
                size,
                partial(cache.read, connection, namespace, term, index.version),
            )
            for weight, (term, size) in (
                (idf[lexemes.index(lexeme)], known[lexeme]) for lexeme in lexemes if lexeme in known
            )
        ]
        best, scores = bm25.best(terms, depth, kept)
        found += zip(best.tolist(), scores.tolist(), strict=True)
    return found


def _known(
    connection: apsw.Connection, namespace: int, sessions: bool, lexemes: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """The number and the documents of each lexeme that the index knows."""
    terms = lexeme_index.terms_of(connection, namespace, int(sessions), lexemes)
    return {lexeme: (term, documents) for lexeme, term, documents, _ in terms}


def _without_rare_types(connection: apsw.Connection, namespace: int, keep: Kept) -> Kept:
    """A filter with the memories of its types in place of the types, where these are few."""
    of = f"FROM memories WHERE namespace = ? AND type IN ({', '.join('?' * len(keep.types))})"
    if rows(connection, f"SELECT 1 {of} LIMIT 1 OFFSET {RARE}", namespace, *keep.types):
        return keep
    ((listed,),) = rows(connection, f"SELECT json_group_array(row) {of}", namespace, *keep.types)
    found = np.unique(np.array(json.loads(listed), dtype=np.int64))
    if keep.rows is not None:
        found = np.intersect1d(found, keep.rows.rows, assume_unique=True)
    return Kept(rows=KeptRows(found, SQLITE))


def latest(connection: apsw.Connection, namespace: int, lexemes: Sequence[str], limit: int) -> list[int]:
    """The latest rows with any of the lexemes."""
    with one_snapshot(connection):
        found = set(shared_lexemes.latest(shared_lexemes.documents(connection, namespace, False), lexemes))
        for _, term, *_ in lexeme_index.terms_of(connection, namespace, 0, dict.fromkeys(lexemes)):
            found.update(postings.read_latest(connection, namespace, term, limit))
    return sorted(found, reverse=True)[:limit]


def vocabulary(connection: apsw.Connection, namespace: int, most: int, prefix: str = "") -> list[str]:
    """The lexemes of most documents; session memories are left out, which repeat their turns."""
    with one_snapshot(connection):
        counts = shared_lexemes.vocabulary(shared_lexemes.documents(connection, namespace, False), prefix)
        recent = list(counts)
        sql = (
            "SELECT lexeme, documents FROM terms WHERE namespace = ? AND sessions = 0 AND lexeme >= ? AND lexeme < ? "
            "ORDER BY documents DESC, lexeme LIMIT ?"
        )
        frequent = dict(rows(connection, sql, namespace, prefix, prefix + LAST_CHARACTER, most))
        also = {lexeme: known for lexeme, _, known, _ in lexeme_index.terms_of(connection, namespace, 0, recent)}
        counts.update(frequent | also)
    return sorted(counts, key=lambda lexeme: (-counts[lexeme], lexeme))[:most]


def rows_of(namespace: int, kind: str) -> tuple[str, tuple[int, ...]]:
    """A statement that gives the memories of a kind that can be found, and its parameters."""
    tables = ("lexemes", "documents")
    sql = " UNION ALL ".join(f"SELECT memory FROM {table} WHERE namespace = ? AND sessions = ?" for table in tables)
    return f"SELECT memory FROM ({sql})", 2 * (namespace, int(kind == "session"))
