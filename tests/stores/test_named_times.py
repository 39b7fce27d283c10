"""The times that memories name: filled from what older files have extracted, repaired, and searched by index."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fivefold.stores.interface import Store
from fivefold.stores.postgres.dialect import POSTGRES, namespace_key
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.sql.search import parameters_of, statement_of
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.times import to_micros
from tests.conformance.times import DAY, MAY, TIMES, Stored, random_memories
from tests.support.older_files import BEFORE_LIFE, FTS5_INDEX
from tests.support.postgres import Server

BEFORE = f"""
{FTS5_INDEX}
{BEFORE_LIFE}
DROP TABLE lexemes;
DROP TABLE memory_labels;
DROP INDEX memories_speaker;
DROP INDEX memories_written;
DROP TABLE memory_times;
DROP INDEX memories_said;
ALTER TABLE memory_links RENAME TO newer;
CREATE TABLE memory_links (
  namespace INTEGER NOT NULL,
  source    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  target    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  relation  TEXT NOT NULL CHECK (relation IN ('equal', 'supersedes')),
  why       TEXT NOT NULL,
  PRIMARY KEY (source, target, relation)
) STRICT, WITHOUT ROWID;
INSERT INTO memory_links SELECT namespace, source, target, relation, why FROM newer;
DROP TABLE newer;
CREATE INDEX memory_links_target ON memory_links (target);
PRAGMA user_version = 6;
"""
"""Makes a file one of the version that had no named times."""


@pytest.fixture
def older(tmp_path: Path) -> Stored:
    """Memories in a file of the version before, with a link between two of them."""
    with closing(SqliteStore(str(tmp_path / "memory.db"))) as store:
        stored = Stored(store, TIMES)
        with store.write(stored.name) as txn:
            txn.memories.link(stored.rows["one"], stored.rows["many"], "supersedes", "for a test")
    with closing(connect(store.location)) as connection:
        connection.execute(BEFORE)
    return stored


def links_of(store: Store, stored: Stored) -> list[tuple[int, int, float]]:
    found = store.reader(stored.name).memories.successions(list(stored.rows.values()))
    return [(item.older, item.newer, item.chance) for item in found]


def test_an_older_file_gets_the_times_and_keeps_its_links(older: Stored) -> None:
    one, many, none = (older.rows[id] for id in ("one", "many", "none"))
    with closing(SqliteStore(older.store.location)) as store:
        times = store.reader(older.name).memories.named_times(list(older.rows.values()))
        assert times == {many: tuple(sorted(TIMES["many"][1][1:17])), one: tuple(TIMES["one"][1])}
        assert links_of(store, older) == [(many, one, 1.0)]
        with store.write(older.name) as txn:
            txn.memories.link(none, one, "likely", "for a test", 0.5)
        assert links_of(store, older) == [(many, one, 1.0), (one, none, 0.5)]
        assert all(finding.ok for finding in store.check(older.name))


def test_an_older_file_that_can_only_be_read_is_searched_by_what_was_said(
    older: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fivefold.stores.sqlite.store.os.access", lambda *_: False)
    with closing(SqliteStore(older.store.location)) as store:
        reader = store.reader(older.name)
        assert store.read_only
        said = reader.search.within(MAY - 900 * DAY, MAY, 9)
        assert [(hit.row, hit.note) for hit in said] == [(row, "said in it") for row in older.rows.values()]
        assert reader.memories.named_times(list(older.rows.values())) == {}
        assert links_of(store, older) == [(older.rows["many"], older.rows["one"], 1.0)]


INDEXES = {"memories_said": 2, "memory_times_start": 2, "memory_times_long": 1}
"""How often a search by time uses each of its indexes."""

WEEK = parameters_of(to_micros(MAY), to_micros(MAY + 7 * DAY), 10)


def test_a_search_by_time_reads_indexes_alone(tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path / "memory.db"))) as store, store.connections.reader() as connection:
        steps = connection.execute(f"EXPLAIN QUERY PLAN {statement_of(SQLITE)}", {"ns": 1, **WEEK}).fetchall()
    plan = [str(detail) for *_, detail in steps]
    assert not [step for step in plan if step.startswith(("SCAN memor", "SCAN m", "SCAN t"))]
    assert {index: sum(index in step for step in plan) for index in INDEXES} == INDEXES


def test_postgres_reads_a_window_by_index_behind_its_policy(postgres: Server) -> None:
    with closing(PostgresStore(postgres.new_location())) as store:
        stored = Stored(store, random_memories(2_000))
        with store.administration() as connection:
            connection.execute("ANALYZE")
        key = namespace_key(stored.name)
        lines = store.ask(key, f"EXPLAIN {statement_of(POSTGRES)}", {"ns": key, **WEEK})
    plan = [line for (line,) in lines]
    assert not [step for step in plan if "Seq Scan on memory_times" in step]
    assert {index: sum(index in step for step in plan) for index in INDEXES} == INDEXES
