"""The plain baselines every recipe is measured against: cosine alone and BM25 alone, without the engine."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import apsw
import numpy as np

from fivefold.bench.data import Dataset, Question
from fivefold.models.embedders import Embedder, Progress, unit
from fivefold.text.lexemes import lexemes
from fivefold.values.field_types import Count
from fivefold.values.fields import check

Hits = list[tuple[str, float]]
"""Ids with their scores, best first; equal scores are in the order of their ids."""


SHOWN = 5
"""First hits whose text is returned with them."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a baseline found for each question, the milliseconds each search took, and the texts of the first hits."""

    name: str
    hits: Mapping[str, Hits]
    ms: Mapping[str, float]
    texts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Index:
    """The texts of a namespace, ready to be searched; `speaking` gives the text that speaks for an id."""

    search: Callable[[Question], Hits]
    speaking: Callable[[Question, str], str]


IndexTexts = Callable[[Sequence[tuple[str, str]]], Index]


def dense(dataset: Dataset, model: Embedder, k: int, progress: Progress | None = None) -> Ranking:
    """Exact cosine; the best text of an id speaks for it. Times leave out the encoding of the question."""
    check(k, Count, "k")
    question_vectors = unit(model.embed([question.text for question in dataset.questions], progress))
    vector_of = {question.id: vector for question, vector in zip(dataset.questions, question_vectors, strict=True)}

    def index_texts(texts: Sequence[tuple[str, str]]) -> Index:
        ids = list(dict.fromkeys(id for id, _ in texts))
        place = {id: number for number, id in enumerate(ids)}
        owner = np.array([place[id] for id, _ in texts], dtype=np.intp)
        vectors = unit(model.embed([text for _, text in texts], progress))

        def search(question: Question) -> Hits:
            best = np.full(len(ids), -np.inf, dtype=np.float32)
            np.maximum.at(best, owner, vectors @ vector_of[question.id])
            return _top(zip(ids, best.tolist(), strict=True), k)

        def speaking(question: Question, id: str) -> str:
            rows = np.flatnonzero(owner == place[id])
            return texts[int(rows[np.argmax(vectors[rows] @ vector_of[question.id])])][1]

        return Index(search, speaking)

    return _run("dense", dataset, index_texts)


def bm25(dataset: Dataset, k: int) -> Ranking:
    """SQLite's BM25 (k1 1.2, b 0.75) over stemmed lexemes; all texts of an id are one document.

    For a session that finds more than its best turn does, and a baseline should be as strong as it can be.
    """
    check(k, Count, "k")

    def index_texts(texts: Sequence[tuple[str, str]]) -> Index:
        documents: dict[str, list[str]] = {}
        for id, text in texts:
            documents.setdefault(id, []).extend(lexemes(text))
        ids, index = list(documents), _index(documents.values())

        def search(question: Question) -> Hits:
            expression = " OR ".join(f'"{lexeme}"' for lexeme in dict.fromkeys(lexemes(question.text)))
            if not expression:
                return []
            rows = index.execute("SELECT rowid, -rank FROM plain WHERE plain MATCH ?", (expression,))
            return _top(((ids[row], score) for row, score in rows), k)

        def speaking(question: Question, id: str) -> str:
            words = set(lexemes(question.text))
            return max((text for own, text in texts if own == id), key=lambda text: len(words & set(lexemes(text))))

        return Index(search, speaking)

    return _run("bm25", dataset, index_texts)


def _index(documents: Iterable[list[str]]) -> apsw.Connection:
    """An FTS5 table in memory; lexemes come ready made, so its tokenizer only splits at spaces."""
    index = apsw.Connection(":memory:")
    index.execute(
        "CREATE VIRTUAL TABLE plain USING fts5(lexemes, content='', tokenize=\"ascii tokenchars '-._/@:+#&~=?%\\'\")"
    )
    with index:
        rows = ((row, " ".join(document)) for row, document in enumerate(documents))
        index.executemany("INSERT INTO plain(rowid, lexemes) VALUES (?, ?)", rows)
    return index


def _run(name: str, dataset: Dataset, index_texts: IndexTexts) -> Ranking:
    """All questions of a namespace after its texts are indexed, so that only one index is in memory at a time."""
    hits: dict[str, Hits] = {}
    ms: dict[str, float] = {}
    shown: dict[str, tuple[str, ...]] = {}
    by_namespace: dict[str, list[Question]] = {}
    for question in dataset.questions:
        by_namespace.setdefault(question.namespace, []).append(question)
    for namespace, questions in by_namespace.items():
        index = index_texts(list(dataset.plain[namespace]))
        for question in questions:
            start = perf_counter()
            hits[question.id] = index.search(question)
            ms[question.id] = (perf_counter() - start) * 1000
            shown[question.id] = tuple(index.speaking(question, id) for id, _ in hits[question.id][:SHOWN])
    return Ranking(name, hits, ms, shown)


def _top(scored: Iterable[tuple[str, float]], k: int) -> Hits:
    return heapq.nsmallest(k, scored, key=lambda hit: (-hit[1], hit[0]))
