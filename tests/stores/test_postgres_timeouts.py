"""Statements that take too long: they end with plain words, nothing of them stays, and the connection is good."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.postgres.store import PostgresStore
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres

STOPPED = r"longer than 500 ms and was stopped.*what it wrote was undone.*statement_timeout_ms"


@pytest.fixture
def hurried(postgres: Server) -> Iterator[Engine]:
    """An engine whose statements may take 500 ms each, on two connections."""
    location = postgres.dsn(schema=postgres.new_schema(), statement_timeout_ms="500", pool_size="2")
    with fivefold.open(location, embedder=WordVectors()) as engine:
        engine.remember("Sarah drinks tea")
        yield engine


def store_of(engine: Engine) -> PostgresStore:
    assert isinstance(engine.store, PostgresStore)
    return engine.store


def half_a_write(store: PostgresStore) -> None:
    with store.write("default") as txn:
        txn.admin.save_learned_value("half", {"done": True})
        txn._txn.rows("SELECT pg_sleep(5)")


def test_a_slow_question_is_stopped_and_the_next_one_is_answered(hurried: Engine) -> None:
    for _ in range(3):
        with pytest.raises(fivefold.StoreError, match=STOPPED):
            store_of(hurried).ask(0, "SELECT pg_sleep(5)", ())
    assert hurried.recall("tea").hits


def test_a_slow_write_is_stopped_and_leaves_nothing(hurried: Engine) -> None:
    for _ in range(3):
        with pytest.raises(fivefold.StoreError, match=STOPPED):
            half_a_write(store_of(hurried))
    assert hurried.store.reader("default").admin.learned_value("half") is None
    hurried.remember("Tom drinks milk")
    assert hurried.stats().memories == 2
    assert all(finding.ok for finding in hurried.doctor())


def test_who_waits_too_long_for_another_writer_is_told_so(hurried: Engine) -> None:
    other = PostgresStore(hurried.location)  # as another process would have it
    with other.write("default"), pytest.raises(fivefold.StoreError, match=STOPPED):
        hurried.remember("Ann drinks coffee")
    other.close()
    hurried.remember("Ann drinks coffee")
    assert hurried.stats().memories == 2


def test_a_time_out_holds_for_statements_and_not_for_opening(postgres: Server) -> None:
    """A new schema takes longer than any statement of a recall; so does an index."""
    store = PostgresStore(postgres.dsn(schema=postgres.new_schema(), statement_timeout_ms="1"))
    assert store.namespaces() == ()
    assert [care.part for care in store.maintain()] == ["statistics"]
    with pytest.raises(fivefold.StoreError, match="longer than 1 ms"):
        store.ask(0, "SELECT pg_sleep(1)", ())
    store.close()


def test_zero_is_any_time(postgres: Server) -> None:
    with fivefold.open(postgres.dsn(schema=postgres.new_schema(), statement_timeout_ms="0")) as engine:
        assert store_of(engine).ask(0, "SELECT pg_sleep(0.3)::text, current_setting('statement_timeout')", ()) == [
            ("", "0")
        ]
