"""Looking after a PostgreSQL store: indexes appear where they pay, are noticed everywhere, and outlive any accident."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import psycopg
import pytest

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.service.maintenance import maintain
from fivefold.stores.postgres import maintenance
from fivefold.stores.postgres.maintenance import (
    MAX_INDEX_MEMORY_KB,
    BuiltIndex,
    LargeField,
    _take_memory,
    built_indexes,
)
from fivefold.stores.postgres.store import PostgresStore
from fivefold.values.reports import MaintenanceResult
from fivefold.values.times import utc_now
from tests.conformance.recipes import steady
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server

TEXTS = [f"Note {number} of Sarah's about the number {number % 7}" for number in range(60)]
FEW = "&exact_up_to=20"
NAME = "vectors_full_hnsw_32"


@pytest.fixture
def location(postgres: Server) -> str:
    return postgres.new_location()


@contextmanager
def opened(location: str) -> Iterator[PostgresStore]:
    store = PostgresStore(location)
    try:
        yield store
    finally:
        store.close()


def filled(store: PostgresStore, namespace: str = "default", dimension: int = 32) -> Engine:
    engine = Engine(store, namespace, WordVectors(dimension))
    engine.remember_many(TEXTS)
    return engine


def built(store: PostgresStore) -> dict[str, BuiltIndex]:
    with store.administration() as connection:
        return built_indexes(
            lambda sql, values: connection.execute(sql.replace("?", "$1"), values).fetchall(), store.options.schema
        )


def of_indexes(done: list[MaintenanceResult]) -> list[MaintenanceResult]:
    return [item for item in done if item.part.startswith("index")]


def test_a_small_store_needs_no_index(location: str) -> None:
    with opened(location) as store:
        filled(store)
        assert [item.part for item in store.maintain()] == ["statistics"]
        assert not built(store)


def test_a_field_that_has_grown_large_gets_an_index(location: str) -> None:
    with opened(location + FEW + "&hnsw_m=8&hnsw_ef_construction=40") as store:
        engine = filled(store)
        before = [(hit.memory.id, hit.score) for hit in engine.recall(TEXTS[7], recipe="dense")]
        (done,) = of_indexes(list(store.maintain()))
        assert (done.part, done.changed) == ("index of full, 32 numbers", True)
        assert done.detail == "built with m 8, ef_construction 40, for up to 60 vectors of a namespace"
        assert set(built(store)) == {NAME}
        assert (built(store)[NAME].m, built(store)[NAME].ef_construction) == (8, 40)
        assert store.indexes.get(("full", 32)) == 60
        assert store.indexes.get(("user", 32)) is None
        after = [(hit.memory.id, hit.score) for hit in engine.recall(TEXTS[7], recipe="dense")]
        assert [id for id, _ in after] == [id for id, _ in before]
        (done,) = of_indexes(list(store.maintain()))
        assert (done.changed, done.detail) == (False, "is there, for up to 60 vectors of a namespace")


def test_many_small_namespaces_need_none(location: str) -> None:
    with opened(location + "&exact_up_to=60") as store:
        filled(store, "one")
        filled(store, "other")
        assert of_indexes(list(store.maintain())) == []


def test_each_dimension_has_an_index_of_its_own(location: str) -> None:
    with opened(location + FEW) as store:
        for dimension in (16, 32):
            filled(store, f"n{dimension}", dimension)
        assert [item.part for item in of_indexes(list(store.maintain()))] == [
            "index of full, 16 numbers",
            "index of full, 32 numbers",
        ]
        assert set(built(store)) == {"vectors_full_hnsw_16", NAME}


def test_other_settings_build_it_anew_while_the_old_one_serves(location: str) -> None:
    with opened(location + FEW) as store:
        filled(store)
        list(store.maintain())
    with opened(location + FEW + "&hnsw_m=24&hnsw_ef_construction=30") as store:
        (done,) = of_indexes(list(store.maintain()))
        assert done.detail.startswith("rebuilt with m 24, ef_construction 48")
        assert set(built(store)) == {NAME}
        assert built(store)[NAME].m == 24


@contextmanager
def held_up(postgres: Server, location: str) -> Iterator[None]:
    """While another transaction looks at the table, an index that is built concurrently waits for its end."""
    with postgres.connect() as other:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1 FROM pg_class")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize("name", [NAME, f"next_{NAME}"])
def test_the_leftover_of_a_build_cut_short_is_built_again(postgres: Server, location: str, name: str) -> None:
    with opened(location + FEW) as store:
        filled(store)
        with held_up(postgres, location), postgres.connect() as connection:
            connection.execute(f"SET search_path = {store.options.schema}, public")
            connection.execute("SET statement_timeout = 500")
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(
                    f"CREATE INDEX CONCURRENTLY {name} ON vectors_full USING hnsw "
                    "((embedding::halfvec(32)) halfvec_ip_ops) WHERE dimension = 32"
                )
        assert [index.whole for index in built(store).values()] == [False]
        store.indexes.renew()
        assert store.indexes.get(("full", 32)) is None
        assert of_indexes(list(store.maintain()))[0].changed
        assert {name: index.whole for name, index in built(store).items()} == {NAME: True}
        assert store.indexes.get(("full", 32)) == 60


def test_one_that_was_built_and_not_yet_renamed_is_taken(location: str) -> None:
    with opened(location + FEW) as store:
        filled(store)
        list(store.maintain())
        with store.administration() as connection:
            connection.execute(f"ALTER INDEX {NAME} RENAME TO next_{NAME}")
            (before,) = connection.execute(f"SELECT 'next_{NAME}'::regclass::oid").fetchone() or (0,)
            assert of_indexes(list(store.maintain()))[0].changed
            assert connection.execute(f"SELECT '{NAME}'::regclass::oid").fetchone() == (before,)


def test_a_leftover_beside_a_sound_index_goes(location: str) -> None:
    with opened(location + FEW) as store:
        filled(store)
        list(store.maintain())
        with store.administration() as connection:
            connection.execute(
                f"CREATE INDEX next_{NAME} ON vectors_full USING hnsw ((embedding::halfvec(32)) halfvec_ip_ops) "
                "WITH (m = 4) WHERE dimension = 32"
            )
        assert not of_indexes(list(store.maintain()))[0].changed
        assert set(built(store)) == {NAME}


def test_over_four_thousand_numbers_there_is_no_index(location: str) -> None:
    with opened(location + FEW) as store:
        filled(store, dimension=4_001)
        (done,) = of_indexes(list(store.maintain()))
        assert done.detail == "none can be made over 4,000 numbers; searches read all vectors"
        assert not built(store)


def test_two_at_once_do_not_get_in_each_others_way(location: str) -> None:
    with opened(location + FEW) as one, opened(location + FEW) as other:
        filled(one)
        under_way = one.maintain()
        assert next(under_way).changed
        assert [item.detail for item in other.maintain()] == ["another server looks after them just now"]
        assert [item.part for item in under_way] == ["statistics"]
        assert of_indexes(list(other.maintain()))[0].detail.startswith("is there")


def test_a_run_that_is_given_up_holds_no_lock(location: str) -> None:
    with opened(location + FEW) as one, opened(location + FEW) as other:
        filled(one)
        under_way = one.maintain()
        next(under_way)
        under_way.close()  # type: ignore[attr-defined]
        assert list(other.maintain())[-1].part == "statistics"


def test_a_running_process_notices_a_new_index(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "AGAIN_S", 0.0)
    with opened(location + FEW) as running, opened(location + FEW) as tending:
        filled(running)
        assert running.indexes.get(("full", 32)) is None
        list(tending.maintain())
        until = monotonic() + 30
        while running.indexes.get(("full", 32)) != 60 and monotonic() < until:
            sleep(0.01)
        assert running.indexes.get(("full", 32)) == 60


def test_it_is_looked_at_no_more_than_once_a_minute(location: str) -> None:
    with opened(location + FEW) as running, opened(location + FEW) as tending:
        filled(running)
        list(tending.maintain())
        for _ in range(100):
            assert running.indexes.get(("full", 32)) is None


def test_memory_is_taken_by_what_the_index_needs(location: str) -> None:
    with opened(location) as store, store.administration() as connection:
        for count, wanted in ((10, 0), (200_000, 347_200), (10**9, MAX_INDEX_MEMORY_KB)):
            connection.execute("SET maintenance_work_mem = '64MB'")
            _take_memory(connection, LargeField("full", 384, count, count), store.options)
            found = connection.execute("SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'")
            assert found.fetchone() == (max(wanted, 65_536),)


def test_drift_and_indexes_in_one_round(location: str) -> None:
    """As on SQLite: talk that has changed is indexed again, and no answer changes."""
    with opened(location + "&exact_up_to=1000") as store:
        engine = filled(store)
        engine.configure(find_changes=False)
        list(maintain(store, utc_now()))
        engine.remember_many(sample.memories())
        asked = [question.query for question in sample.questions()][:10]
        before = [[(hit.memory.id, hit.score) for hit in engine.recall(q, recipe=steady("lexical"))] for q in asked]
        done = list(maintain(store, utc_now()))
        assert [(item.part, item.namespace, item.changed) for item in done] == [
            ("vocabulary", "default", True),
            ("statistics", None, True),
        ]
        after = [[(hit.memory.id, hit.score) for hit in engine.recall(q, recipe=steady("lexical"))] for q in asked]
        assert after == before
        assert all(finding.ok for finding in engine.doctor())
        drift = engine.stats().drift
        assert drift is not None
        assert drift.reindexed
        with fivefold.open(":memory:", embedder=WordVectors()) as reference:
            reference.configure(find_changes=False)
            reference.remember_many(TEXTS)
            reference.remember_many(sample.memories())
            assert store.reader("default").search.vocabulary(5_000) == reference.store.reader(
                "default"
            ).search.vocabulary(5_000)
