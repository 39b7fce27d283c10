"""The lexical index under many changes: postings in blocks, statistics, and the search that stops early."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.stores.sql.index import COUNT_BITS, MAX_COUNT, PREDICATE_WEIGHT
from fivefold.stores.sqlite import lexical, postings
from fivefold.stores.sqlite.dialect import rows
from fivefold.stores.sqlite.postings import K1, B, Corpus, Document
from tests.support.lexeme_tables import empty_store

WORDS = [f"w{number}" for number in range(12)]
Changes = list[tuple[list[int], list[int]]]


def document(row: int, chance: random.Random) -> Document:
    content = chance.choices(WORDS, weights=[1 / (1 + place) for place in range(len(WORDS))], k=chance.randint(1, 9))
    predicate = chance.choices(WORDS, k=chance.randint(0, 2))
    return Document(row, len(content) + len(predicate), " ".join(predicate), " ".join(content))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.integers(1, 60), max_size=12), st.lists(st.integers(1, 60), max_size=6)), max_size=8)
)
def test_after_any_changes_the_index_is_that_of_what_is_left(changes: Changes) -> None:
    """Rows come in any order, go, and come back with other lexemes."""
    chance, stored, connection = random.Random(7), dict[int, Document](), empty_store()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "BLOCK", 4)
        patch.setattr(postings, "SMALL_BLOCK", 2)
        for new, gone in changes:
            added = [document(row, chance) for row in sorted(set(new) - stored.keys())]
            postings.add(connection, 1, 0, added)
            stored |= {item.memory: item for item in added}
            removed = [stored.pop(row) for row in set(gone) & stored.keys()]
            assert [postings.take(connection, 1, 0, item.memory) for item in removed] == removed
            postings.remove_documents(connection, 1, 0, removed)
            must_have(connection, stored)


def must_have(connection: apsw.Connection, stored: dict[int, Document]) -> None:
    """The index has exactly these documents, in blocks that follow each other."""
    expected: dict[str, list[tuple[int, ...]]] = {}
    for row in sorted(stored):
        for lexeme, count in stored[row].counts().items():
            expected.setdefault(lexeme, []).append((row, count, stored[row].length))
    terms = rows(connection, "SELECT lexeme, term, documents FROM terms")
    found = {lexeme: postings.unpack(postings.read(connection, 1, [term])[term]).tolist() for lexeme, term, _ in terms}
    assert found == {lexeme: [list(posting) for posting in items] for lexeme, items in expected.items()}
    assert {lexeme: count for lexeme, _, count in terms} == {lexeme: len(items) for lexeme, items in expected.items()}
    blocks = rows(connection, "SELECT term, first, last, documents FROM postings ORDER BY term, first")
    for (term, first, last, data), after in pairwise([*blocks, (None, 0, 0, b"")]):
        memories = postings.unpack(data)[:, 0].tolist()
        assert (first, last) == (memories[0], memories[-1])
        assert len(memories) <= postings.BLOCK
        assert after[0] != term or last < after[1]
    tails = {term: (term, first, last, len(data) // postings.WIDTH) for term, first, last, data in blocks}
    assert sorted(tails.values()) == sorted(rows(connection, "SELECT term, first, last, size FROM terms"))
    for counts in connection.execute("SELECT documents, lexemes FROM corpora"):
        assert counts == (len(stored), sum(item.length for item in stored.values()))


def test_a_term_that_grows_one_by_one_lies_in_few_blocks() -> None:
    connection = empty_store()
    for row in range(1, 501):
        postings.add(connection, 1, 0, [Document(row, 1, "", "tea")])
    ((blocks,),) = rows(connection, "SELECT count(*) FROM postings")
    assert blocks < 12
    ((term,),) = rows(connection, "SELECT term FROM terms")
    assert postings.unpack(postings.read(connection, 1, [term])[term])[:, 0].tolist() == list(range(1, 501))
    assert postings.read_latest(connection, 1, term, 3)[:3] == [500, 499, 498]


@pytest.mark.parametrize("summed", [0, lexical.MAX_SUMMED_POSTINGS])
@pytest.mark.parametrize("multiplied", [False, True])
@pytest.mark.parametrize("spread", [1, 50])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_the_search_gives_the_exhaustive_answer_whether_it_stops_early_or_not(
    seed: int, spread: int, multiplied: bool, summed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows lie far apart, and among the rows of a filter."""
    monkeypatch.setattr(lexical, "MAX_SUMMED_POSTINGS", summed)
    chance = random.Random(seed)
    found = [document(spread * (number + 1), chance) for number in range(3_000)]
    corpus = Corpus(len(found), sum(item.length for item in found))
    read = Counter[str]()
    terms = {word: term_of(word, found, corpus, read, multiplied) for word in WORDS}
    for asked in (WORDS[:3], WORDS[8:], WORDS[::-1], [WORDS[0]], [WORDS[11], WORDS[0]]):
        for kept in (None, np.arange(spread, 3_000 * spread, 7 * spread)):
            allowed = None if kept is None else set(kept.tolist())
            expected = exhaustive(found, asked, corpus, terms, allowed, multiplied)
            for depth in (1, 10, 160):
                best, scores = lexical.best_documents([terms[word] for word in asked], depth, kept)
                assert best.tolist() == [row for row, _ in expected[:depth]]
                assert scores.tolist() == pytest.approx([score for _, score in expected[:depth]], rel=1e-12)
            assert len(lexical.best_documents([terms[word] for word in asked], len(expected) + 1, kept)[0]) == len(
                expected
            )


def test_documents_that_cannot_be_among_the_best_are_not_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of nearly all documents is only looked up for those that a rare word has found."""
    found = [Document(row, 2, "", "rare common" if row % 50 == 0 else "common other") for row in range(1, 5_001)]
    corpus = Corpus(len(found), 2 * len(found))
    terms = [term_of(word, found, corpus, Counter()) for word in ("common", "rare")]
    summed: list[int] = []

    def counted(parts: list[tuple[lexical.Rows, lexical.Scores]]) -> tuple[lexical.Rows, lexical.Scores]:
        summed.append(sum(len(each) for each, _ in parts))
        return add_up(parts)

    add_up = lexical.add_up
    monkeypatch.setattr(lexical, "add_up", counted)
    monkeypatch.setattr(lexical, "MAX_SUMMED_POSTINGS", 0)
    best, _ = lexical.best_documents(terms, 10)
    assert best.tolist() == [50 * place for place in range(1, 11)]
    assert summed == [100]


def term_of(
    word: str, found: list[Document], corpus: Corpus, read: Counter[str], multiplied: bool = False
) -> lexical.Term:
    counts = [item.counts().get(word, 0) for item in found]
    packed = [(item.memory, count, item.length) for item, count in zip(found, counts, strict=True) if count]
    parts = lexical.Postings.of(np.array(packed, dtype=np.uint32).reshape(-1, 3))
    return lexical.Term(lexical.Weight(corpus.idf(len(packed)), corpus, multiplied), len(packed), lambda: parts)


def exhaustive(
    found: list[Document],
    asked: list[str],
    corpus: Corpus,
    terms: dict[str, lexical.Term],
    allowed: set[int] | None,
    multiplied: bool,
) -> list[tuple[int, float]]:
    scores = {}
    for item in found:
        counts = item.counts()
        if (allowed is None or item.memory in allowed) and any(counts.get(word) for word in asked):
            scores[item.memory] = sum(
                share(terms[word].weight.idf, counts.get(word, 0), item.length, corpus.average, multiplied)
                for word in asked
            )
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def share(idf: float, packed: int, length: float, average: float, multiplied: bool) -> float:
    """BM25 of one lexeme in one document, by a plain formula (R4)."""
    count, named = packed & MAX_COUNT, packed >> COUNT_BITS
    if multiplied and named:
        return PREDICATE_WEIGHT * share(idf, count - (PREDICATE_WEIGHT - 1) * named, length, average, False)
    return idf * ((count * (K1 + 1.0)) / (count + K1 * (1 - B + B * length / average)))
