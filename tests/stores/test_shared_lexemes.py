"""The lexemes of small namespaces: found and scored as by an index of their own, which they get when they grow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.stores.sql.kept_rows import ALL, Kept, KeptRows
from fivefold.stores.sqlite import lexical, lexical_search, shared_lexemes
from fivefold.stores.sqlite.connection import number
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.schema import migrate, migrations
from fivefold.stores.sqlite.store import SqliteStore
from tests.support.toy_engine import Toy, toy

SMALL, LARGE = 1, 2
"""Two namespaces with the same documents: the one shares the table, the other has its own index."""

words = st.sampled_from(["tea", "teapot", "te", "e-47821", "47821", "zürich", "東", "東京", "a.b", "x"])
documents = st.lists(
    st.tuples(st.lists(words, max_size=3), st.lists(words, max_size=8), st.booleans()), min_size=1, max_size=12
)


@contextmanager
def both(found: list[tuple[list[str], list[str], bool]]) -> Iterator[apsw.Connection]:
    store = SqliteStore(":memory:")
    with store.connections.writer() as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        lexical.create_tables(connection, LARGE)
        for row, (predicate, content, session) in enumerate(found, 1):
            kind = "session" if session else "turn"
            shared_lexemes.add(connection, SMALL, kind, row, predicate, content)
            lexical.add(connection, LARGE, kind, row, predicate, content)
            connection.execute(
                "INSERT INTO memories (row, namespace, id, content, kind, type, event_at, created_at, importance, "
                "memory_score, confidence, content_hash) VALUES (?, 1, ?, '', 'note', ?, 0, 0, 0, 0, 0, x'')",
                (row, str(row), ("fact", "event")[row % 2]),
            )
        yield connection
    store.close()


@settings(max_examples=150, deadline=None)
@given(documents, st.lists(words, min_size=1, max_size=5), st.integers(1, 12))
def test_scores_are_those_of_fts5_to_the_last_bit(
    found: list[tuple[list[str], list[str], bool]], asked: list[str], depth: int
) -> None:
    some = KeptRows(np.arange(1, 12, 2), SQLITE)
    with both(found) as connection:
        for keep in (ALL, Kept(("fact",)), Kept(rows=some), Kept(("event",), some)):
            for sessions in (False, True):
                one, other = (
                    lexical_search.search(connection, namespace, asked, depth, keep, sessions)
                    for namespace in (SMALL, LARGE)
                )
                assert [(hit.row, hit.score) for hit in one] == [(hit.row, hit.score) for hit in other]


@settings(max_examples=60, deadline=None)
@given(documents, st.lists(words, min_size=1, max_size=3), st.integers(1, 6), st.sampled_from(["", "te", "東", "z"]))
def test_the_latest_and_the_words_are_the_same(
    found: list[tuple[list[str], list[str], bool]], asked: list[str], most: int, prefix: str
) -> None:
    with both(found) as connection:
        for look in (
            lambda namespace: lexical_search.latest(connection, namespace, asked, most),
            lambda namespace: lexical_search.vocabulary(connection, namespace, most, prefix),
        ):
            assert look(SMALL) == look(LARGE)


def test_a_namespace_that_grows_gets_its_own_index(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a store that was opened before sees it at once, and nothing of an answer changes but by what was added."""
    monkeypatch.setattr(shared_lexemes, "MOST_MEMORIES", 6)  # five turns and notes, and the memory of the session
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
        assert all(finding.ok for finding in engine.doctor(repair=True))
        assert other.recall("tea number 3", recipe="lexical")[0].memory.id == "t3"


def test_many_characters_count_as_much_as_many_memories(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_lexemes, "MOST_CHARACTERS", 500)
    with toy(store_path) as engine:
        engine.remember("short")
        assert not own_index(engine)
        engine.remember(" ".join(f"word{number}" for number in range(100)))
        assert own_index(engine)


def test_a_file_of_an_older_version_keeps_its_indexes(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_lexemes, "MOST_MEMORIES", 0)
    with toy(store_path) as engine:
        engine.remember("tea in the morning", id="tea")
        assert own_index(engine)
    monkeypatch.undo()
    with toy(store_path) as engine:
        engine.remember("tea in the evening", id="late")
        assert own_index(engine)
        assert {hit.memory.id for hit in engine.recall("tea", recipe="lexical")} == {"tea", "late"}


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


def own_index(engine: fivefold.Engine) -> bool:
    assert isinstance(engine.store, SqliteStore)
    key = engine.store.key_of(engine.namespace)
    assert key is not None
    with engine.store.connections.reader() as connection:
        return lexical_search.has_index(connection, key)


def test_a_migration_adds_the_table(store_path: str) -> None:
    connection = apsw.Connection(store_path)
    migrate(connection, store_path, [step for step in migrations() if step[0] < 8])
    connection.close()
    with toy(store_path) as engine:
        engine.remember("tea", id="tea")
        assert [hit.memory.id for hit in engine.recall("tea", recipe="lexical")] == ["tea"]
