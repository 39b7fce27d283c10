"""The lexemes of small namespaces: found and scored as by an index of their own, which they get when they grow."""

from __future__ import annotations

from contextlib import closing
from itertools import product

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.stores.sql.scope import ALL, Gate, KeptRows
from fivefold.stores.sqlite import lexical, postings
from fivefold.stores.sqlite.connection import connect, number, rows
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.lexical import PostingCache
from fivefold.stores.sqlite.postings import Document
from fivefold.stores.sqlite.schema import POSTINGS, migrate, migrations
from fivefold.stores.sqlite.store import SqliteStore
from tests.support.lexeme_tables import empty_store
from tests.support.older_files import BEFORE_POSTINGS, FTS5_INDEX
from tests.support.toy_engine import Toy, toy

pytestmark = pytest.mark.slow

SMALL, LARGE, MIXED = 1, 2, 3
"""Namespaces with the same documents: in the table alone, in the index alone, in both."""

words = st.sampled_from(["tea", "teapot", "te", "e-47821", "47821", "zürich", "東", "東京", "a.b", "x"])
documents = st.lists(
    st.tuples(st.lists(words, max_size=3), st.lists(words, max_size=8), st.booleans()), min_size=1, max_size=12
)
Found = list[tuple[list[str], list[str], bool]]

FTS5_SEARCH = (
    "SELECT rowid, -bm25({0}, 4.0, 1.0) AS score FROM {0} WHERE {0} MATCH ? ORDER BY score DESC, rowid LIMIT ?"
)


def all_ways(found: Found) -> apsw.Connection:
    connection = empty_store()
    for place, (predicate, content, session) in enumerate(found):
        row = 3 * place + 5
        document = Document(row, len(predicate) + len(content), " ".join(predicate), " ".join(content))
        for namespace in (SMALL, LARGE, MIXED):
            lexical.add(connection, namespace, int(session), [document])
        connection.execute(
            "INSERT INTO memories (row, namespace, id, content, kind, type, event_at, created_at, importance, "
            "memory_score, confidence, content_hash) VALUES (?, 1, ?, '', 'note', ?, 0, 0, 0, 0, 0, x'')",
            (row, str(row), ("fact", "event")[place % 2]),
        )
        if place == len(found) // 2:
            index(connection, MIXED)
    index(connection, LARGE)
    return connection


def index(connection: apsw.Connection, namespace: int) -> None:
    for sessions in (0, 1):
        postings.move_recent(connection, namespace, sessions)


def ranked(
    connection: apsw.Connection, namespace: int, asked: list[str], depth: int, keep: Gate = ALL, sessions: bool = False
) -> list[tuple[int, float]]:
    hits = lexical.search(connection, PostingCache(1), namespace, asked, depth, keep, sessions)
    return [(hit.row, hit.score) for hit in hits]


@settings(max_examples=100, deadline=None)
@given(documents, st.lists(words, min_size=1, max_size=5), st.integers(1, 12))
def test_the_index_finds_what_a_look_at_every_document_finds(found: Found, asked: list[str], depth: int) -> None:
    """Also of a type, whether its memories are few and listed, or many and looked up among the best."""
    some = KeptRows(np.arange(5, 40, 6), SQLITE)
    connection = all_ways(found)
    for keep in (ALL, Gate(("fact",)), Gate(rows=some), Gate(("event",), some)):
        for sessions in (False, True):
            answers = []
            for namespace, rare in product((SMALL, LARGE, MIXED), (lexical.RARE_COUNT, 0)):
                connection.execute("UPDATE memories SET namespace = ?", (namespace,))
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(lexical, "RARE_COUNT", rare)
                    answers.append(ranked(connection, namespace, asked, depth, keep, sessions))
            every = ranked(connection, SMALL, asked, len(found), ALL, sessions)
            assert answers == 6 * [[hit for hit in every if passes(hit[0], keep)][:depth]]


def passes(row: int, keep: Gate) -> bool:
    """Whether a document of `all_ways` is left by a filter."""
    return (not keep.types or ("fact", "event")[(row - 5) // 3 % 2] in keep.types) and (
        keep.rows is None or row in keep.rows.rows
    )


@settings(max_examples=40, deadline=None)
@given(documents, st.lists(words, min_size=1, max_size=5), st.integers(1, 12))
def test_scores_are_those_of_fts5_to_the_last_bit(found: Found, asked: list[str], depth: int) -> None:
    connection = all_ways(found)
    match = " OR ".join(f'"{lexeme}"' for lexeme in dict.fromkeys(asked))
    scores = [[ranked(connection, LARGE, asked, depth, ALL, sessions) for sessions in (False, True)]]
    connection.execute(FTS5_INDEX)
    tables = ("lex_1", "lex_1_sessions")
    scores.append([rows(connection, FTS5_SEARCH.format(table), match, depth) for table in tables])
    connection.execute("DROP TABLE lex_1; DROP TABLE lex_1_sessions")
    assert scores[0] == scores[1]


@settings(max_examples=60, deadline=None)
@given(documents, st.lists(words, min_size=1, max_size=3), st.integers(1, 6), st.sampled_from(["", "te", "東", "z"]))
def test_the_latest_and_the_words_are_the_same(found: Found, asked: list[str], most: int, prefix: str) -> None:
    connection = all_ways(found)
    for namespace in (LARGE, MIXED):
        latest, other = (
            lexical.latest_with(connection, PostingCache(), key, asked, most) for key in (SMALL, namespace)
        )
        assert latest == other
        known, other_words = (lexical.vocabulary(connection, key, most, prefix) for key in (SMALL, namespace))
        assert known == other_words


def test_a_namespace_that_grows_gets_its_own_index(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a store that was opened before sees it at once, and nothing of an answer changes but by what was added."""
    monkeypatch.setattr(lexical, "MAX_MEMORIES", 6)  # five turns and notes, and the memory of the session
    with toy(store_path) as engine, toy(store_path) as other:
        for number in range(5):
            engine.remember(f"tea number {number}", id=f"t{number}", session_id="s" if number < 2 else None)
        assert not own_index(engine)
        before = [hit.memory.id for hit in other.recall("tea number 3", recipe="lexical")]
        assert len(before) == 5
        engine.remember("coffee", id="last")
        assert own_index(engine)
        assert [hit.memory.id for hit in other.recall("tea number 3", recipe="lexical")] == before
        assert own_index(other)
        assert [hit.memory.id for hit in other.recall("coffee", recipe="lexical")] == ["last"]
        other.forget("last")
        assert [hit.memory.id for hit in engine.recall("coffee", recipe="lexical")] == []
        assert all(finding.ok for finding in engine.doctor())
        engine.forget("t4")
        assert all(finding.ok for finding in engine.doctor())
        damage(engine, "DELETE FROM postings WHERE term = (SELECT term FROM terms WHERE lexeme = 'tea' LIMIT 1)")
        assert [finding.check for finding in engine.doctor() if not finding.ok] == ["lexical index"]
        assert all(finding.ok for finding in engine.doctor(repair=True))
        assert other.recall("tea number 3", recipe="lexical")[0].memory.id == "t3"


def test_many_characters_count_as_much_as_many_memories(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MAX_CHARACTERS", 500)
    with toy(store_path) as engine:
        engine.remember("short")
        assert not own_index(engine)
        engine.remember(" ".join(f"word{number}" for number in range(100)))
        assert own_index(engine)


def test_the_index_of_an_older_file_is_moved(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("tea in the morning", id="tea", session_id="s")
        before = [(hit.memory.id, hit.score) for hit in engine.recall("tea", recipe="lexical")]
    with closing(connect(store_path)) as connection:
        connection.execute(FTS5_INDEX + BEFORE_POSTINGS + f"PRAGMA user_version = {POSTINGS - 1}")
    with toy(store_path) as engine:
        assert own_index(engine)
        assert [(hit.memory.id, hit.score) for hit in engine.recall("tea", recipe="lexical")] == before
        assert all(finding.ok for finding in engine.doctor())
        engine.remember("tea in the evening", id="late")
        assert {hit.memory.id for hit in engine.recall("tea", recipe="lexical")} == {"tea", "late"}


def test_an_older_file_that_can_only_be_read_is_searched(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with toy(store_path) as engine:
        engine.remember("tea in the morning", id="tea")
        before = [(hit.memory.id, hit.score) for hit in engine.recall("tea", recipe="lexical")]
    with closing(connect(store_path)) as connection:
        connection.execute(FTS5_INDEX + BEFORE_POSTINGS + f"PRAGMA user_version = {POSTINGS - 1}")
    monkeypatch.setattr("fivefold.stores.sqlite.store.os.access", lambda *_: False)
    with toy(store_path) as engine:
        assert [(hit.memory.id, hit.score) for hit in engine.recall("tea", recipe="lexical")] == before


def test_a_new_namespace_makes_no_table(store_path: str) -> None:
    def tables() -> int:
        with toy(store_path) as engine:
            assert isinstance(engine.store, SqliteStore)
            with engine.store.connections.reader() as connection:
                return number(connection, "SELECT count(*) FROM sqlite_master") or 0

    with toy(store_path) as engine:
        engine.remember("the first")
    before = tables()
    with fivefold.store(store_path, embedder=Toy()) as store:
        for user in range(20):
            store.namespace(f"user {user}").remember("a note")
    assert tables() == before


def damage(engine: fivefold.Engine, sql: str) -> None:
    assert isinstance(engine.store, SqliteStore)
    with engine.store.connections.writer() as connection:
        connection.execute(sql)


def own_index(engine: fivefold.Engine) -> bool:
    assert isinstance(engine.store, SqliteStore)
    key = engine.store.key_of(engine.namespace)
    assert key is not None
    with engine.store.connections.reader() as connection:
        return lexical.index_of(connection, key, False) is not None


def test_a_migration_adds_the_table(store_path: str) -> None:
    connection = apsw.Connection(store_path)
    migrate(connection, store_path, [step for step in migrations() if step[0] < 8])
    connection.close()
    with toy(store_path) as engine:
        engine.remember("tea", id="tea")
        assert [hit.memory.id for hit in engine.recall("tea", recipe="lexical")] == ["tea"]
