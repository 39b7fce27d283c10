"""Filters in the stores: many rows as well as few, an index for every condition, and labels of files written before."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.stores.postgres.dialect import POSTGRES, namespace_key
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.sql import scope as kept_rows
from fivefold.stores.sql.scope import FilterConditions
from fivefold.stores.sqlite import dialect
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.filters import filter_of
from tests.conformance.filters import FilterLaws
from tests.conformance.vectors import WordVectors
from tests.support.older_files import BEFORE_LIFE, FTS5_INDEX
from tests.support.postgres import Server

BEFORE = f"""
{FTS5_INDEX}
{BEFORE_LIFE}
DROP TABLE lexemes;
DROP TABLE memory_labels;
DROP INDEX memories_speaker;
DROP INDEX memories_written;
PRAGMA user_version = 7;
"""
"""Makes a file one of the version that had no labels."""

CONDITIONS = {
    "speaker:ana": "memories USING COVERING INDEX memories_speaker (namespace=? AND speaker=?)",
    "session:s": "memories USING COVERING INDEX memories_session (namespace=? AND session_id=?)",
    "since:2024-01-01": "memories USING COVERING INDEX memories_latest (namespace=? AND event_at>?)",
    "written-since:2024-01-01": "memories USING COVERING INDEX memories_written (namespace=? AND created_at>?)",
    "tag:a": "l USING COVERING INDEX memory_labels_value (namespace=? AND name=? AND value=?)",
    "meta.n>=1 meta.n<2": "l USING COVERING INDEX memory_labels_value (namespace=? AND name=? AND value>? AND value<?)",
    "tag:a type:fact": "memories USING INTEGER PRIMARY KEY (rowid=?)",
    "tag:a speaker:ana": "memories USING INTEGER PRIMARY KEY (rowid=?)",
    "tag:a meta.n>1": "USING PRIMARY KEY (memory=? AND name=? AND value>? AND value<?)",
}
"""The step of SQLite's plan by which each filter finds its rows."""


class ManyRows(FilterLaws):
    """The laws where the rows of every filter count as many, which are handed to statements in another form."""

    @pytest.fixture(autouse=True)
    def _many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kept_rows, "MAX_FEW_ROWS", 0)


class TestManyRowsOfAFile(ManyRows):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")


@pytest.mark.slow
class TestManyRowsFarApart(TestManyRowsOfAFile):
    @pytest.fixture(autouse=True)
    def _sparse(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(dialect, "MAX_GAP", 0)


@pytest.fixture(scope="module")
def one_schema(postgres: Server) -> str:
    return postgres.new_location()


class TestManyRowsOfAServer(ManyRows):
    @pytest.fixture
    def location(self, one_schema: str) -> str:
        return one_schema


@pytest.mark.parametrize("line", CONDITIONS)
def test_every_condition_is_found_by_an_index(line: str) -> None:
    conditions = FilterConditions(filter_of(line), SQLITE)
    with closing(SqliteStore(":memory:")) as store, store.connections.reader() as connection:
        steps = connection.execute(f"EXPLAIN QUERY PLAN {conditions.statement()}", {"ns": 1, **conditions.values})
        plan = [str(detail) for *_, detail in steps]
    assert not [step for step in plan if step.startswith("SCAN")]
    assert any(CONDITIONS[line] in step for step in plan), plan


@pytest.fixture
def older(tmp_path: Path) -> str:
    """A file of the version before."""
    location = str(tmp_path / "memory.db")
    with Engine(SqliteStore(location), embedder=WordVectors()) as engine:
        engine.remember("tea at four", tags=["a,b"], metadata={"order": {"total": 9.5}, "odd": "x\x00y"})
        engine.remember("tea at five", speaker="ana")
    with closing(connect(location)) as connection:
        connection.execute(BEFORE)
    return location


def test_an_older_file_gets_the_labels_of_its_memories(older: str) -> None:
    with Engine(SqliteStore(older), embedder=WordVectors()) as engine:
        for keep in ('tag:"a,b"', "meta.order.total>9"):
            assert [hit.memory.content for hit in engine.recall("tea", filter=keep)] == ["tea at four"]
        assert [memory.content for memory in engine.memories(filter="speaker:ana")] == ["tea at five"]
        assert all(finding.ok for finding in engine.doctor())


def test_an_older_file_that_can_only_be_read_is_filtered_too(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.stores.sqlite.store.os.access", lambda *_: False)
    with Engine(SqliteStore(older), embedder=WordVectors()) as engine:
        assert engine.store.read_only  # type: ignore[attr-defined]
        for keep in ('tag:"a,b"', "meta.order.total>9"):
            assert [memory.content for memory in engine.memories(filter=keep)] == ["tea at four"]
            assert [hit.memory.content for hit in engine.recall("tea", filter=keep)] == ["tea at four"]


def test_postgres_finds_labels_by_index_behind_its_policy(postgres: Server) -> None:
    conditions = FilterConditions(filter_of("tag:t7 meta.n>=10 meta.n<20"), POSTGRES)
    with closing(PostgresStore(postgres.new_location())) as store:
        engine = Engine(store, embedder=WordVectors())
        engine.remember_many(
            [{"content": f"tea {n}", "tags": [f"t{n % 50}"], "metadata": {"n": n}} for n in range(2_000)]
        )
        with store.administration() as connection:
            connection.execute("ANALYZE")
        key = namespace_key(engine.namespace)
        lines = store.ask(key, f"EXPLAIN {conditions.statement()}", {"ns": key, **conditions.values})
        assert [memory.content for memory in engine.memories(filter="tag:t17 meta.n>=10 meta.n<20")] == ["tea 17"]
    plan = [line for (line,) in lines]
    assert any("memory_labels" in step and "Index" in step for step in plan), plan
    assert not [step for step in plan if "Seq Scan" in step]
