"""Forgotten text in the write-ahead log: nobody waits for a slow reader, and it goes when that reader ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from fivefold.engine import Engine
from fivefold.stores.sqlite.connection import connect
from tests.support.toy_engine import toy

SECRET = b"quincemarmalade"


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as opened:
        opened.remember(f"The word of the safe is {SECRET.decode()}", id="safe", session_id="s")
        opened.remember("Lunch is at noon", id="lunch")
        yield opened


@pytest.fixture
def slow_reader(engine: Engine, store_path: str) -> Iterator[apsw.Connection]:
    """Somebody who read the store before the memory is forgotten and has not ended yet."""
    with closing(connect(store_path)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM memories").fetchall()
        yield connection


def files_with(path: str) -> list[str]:
    folder = Path(path).parent
    return sorted(file.name for file in folder.iterdir() if SECRET in file.read_bytes())


def until(holds: Callable[[], bool]) -> bool:
    for _ in range(600):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_what_is_forgotten_is_in_no_file_at_once_where_nobody_reads(engine: Engine, store_path: str) -> None:
    engine.forget("safe")
    assert engine.erasure().complete
    assert files_with(store_path) == []


def test_forgetting_waits_for_no_reader_and_erases_when_it_ends(
    engine: Engine, store_path: str, slow_reader: apsw.Connection
) -> None:
    engine.forget("safe")
    state = engine.erasure()
    assert not state.complete
    assert "memory.db-wal until every reader ends that began before" in state.detail
    assert [f.detail for f in engine.doctor() if f.check == "erasure"] == [state.detail]
    assert engine.remember("Others write while it reads").stored  # no lock is left behind
    assert files_with(store_path) != []
    slow_reader.execute("COMMIT")
    assert until(lambda: engine.erasure().complete)
    assert files_with(store_path) == []
    assert all(finding.ok for finding in engine.doctor())


def test_a_session_and_a_namespace_wait_no_more(engine: Engine, slow_reader: apsw.Connection) -> None:
    assert engine.forget_session("s") == 1
    first = engine.erasure().since
    assert engine.store.delete_namespace("default") == 1
    second = engine.erasure().since
    assert first is not None
    assert second is not None
    assert second > first


def test_a_writer_of_another_process_is_not_waited_for(engine: Engine, store_path: str) -> None:
    with closing(connect(store_path)) as other:
        engine.forget("safe")
        other.execute("BEGIN IMMEDIATE")
        engine.store.checkpoint()
        assert not engine.erasure().complete
        other.execute("ROLLBACK")
    assert until(lambda: engine.erasure().complete)
    assert files_with(store_path) == []


def test_closing_with_a_reader_left_ends_and_the_next_opening_erases(
    engine: Engine, store_path: str, slow_reader: apsw.Connection
) -> None:
    engine.forget("safe")
    engine.close()
    slow_reader.execute("COMMIT")
    slow_reader.close()
    toy(store_path).close()
    assert files_with(store_path) == []
