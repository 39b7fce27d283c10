"""A PostgreSQL server, really killed: what was acknowledged is there, nothing is there by half, and clients recover."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.postgres.store import PostgresStore
from tests.support.own_database import opened
from tests.support.postgres import Postgres
from tests.support.round_trips import RoundTrips

pytestmark = pytest.mark.postgres

BATCH = 80
CONNECT_S = 2

WRITER = textwrap.dedent("""
    import itertools, sys
    import fivefold
    from tests.support.own_database import opened
    location, batch, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with opened(location) as engine:
        for number in itertools.count(batch):
            texts = [{"content": f"In batch {number} Sarah met Tom{i} over tea", "id": f"{number}-{i}",
                      "session_id": f"s{i % 5}"} for i in range(size)]
            try:
                engine.remember_many(texts)
            except fivefold.StoreError as error:
                print("error", error, flush=True)
                break
            print(number, flush=True)
""")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres() as own:
        yield own


@pytest.fixture
def location(server: Postgres) -> str:
    return server.dsn(schema=server.new_schema(), connect_timeout_s=str(CONNECT_S))


@pytest.fixture
def engine(server: Postgres, location: str) -> Iterator[Engine]:
    with opened(location) as made:
        made.remember("Sarah drinks tea")
        made.recall("tea")
        yield made


def whole(location: str) -> list[str]:
    """The ids of all turns, each found to be complete."""
    with opened(location) as engine:
        assert [finding for finding in engine.doctor() if not finding.ok] == []
    schema = location.partition("schema=")[2].partition("&")[0]
    with psycopg.connect(location.partition("?")[0], autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}, public".encode())
        half = connection.execute(
            "SELECT count(*) FROM memories m WHERE m.kind = 'turn' AND ("
            "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.namespace = m.namespace AND v.memory = m.row AND v.field = 0) "
            "OR NOT EXISTS (SELECT 1 FROM documents d WHERE d.namespace = m.namespace AND d.memory = m.row) "
            "OR NOT EXISTS (SELECT 1 FROM links l WHERE l.namespace = m.namespace AND l.memory = m.row))"
        ).fetchone()
        assert half == (0,)
        return [str(id) for (id,) in connection.execute("SELECT id FROM memories WHERE kind = 'turn'")]


def test_a_server_killed_in_the_middle_of_a_batch_loses_no_other_and_keeps_all_or_nothing_of_it(
    server: Postgres, location: str
) -> None:
    begun, done = 0, []
    for pause in (0.02, 0.15, 0.3):
        command = [sys.executable, "-c", WRITER, location, str(begun), str(BATCH)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(2)]
            time.sleep(pause)
            server.kill()
            said += list(writer.stdout)
        server.start()
        assert "does not answer" in said[-1] or "whether it was stored is not known" in said[-1]
        done += [int(line) for line in said[:-1]]
        stored = whole(location)
        counts = {batch: sum(id.startswith(f"{batch}-") for id in stored) for batch in range(done[-1] + 2)}
        assert all(counts[batch] == BATCH for batch in done), counts
        assert set(counts.values()) <= {0, BATCH}, counts
        begun = done[-1] + 2


USES: dict[str, Callable[[Engine], object]] = {
    "recall": lambda engine: engine.recall("tea").hits[0],
    "write": lambda engine: engine.remember("Tom drinks milk"),
}


@pytest.mark.parametrize("use", USES)
def test_while_the_server_is_away_errors_are_clear_and_the_next_use_works(
    server: Postgres, engine: Engine, use: str
) -> None:
    server.kill()
    try:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(fivefold.StoreError, match=r"does not answer \(.*check that the server runs"):
                USES[use](engine)
            assert time.monotonic() - began < CONNECT_S + 1
    finally:
        server.start()
    assert USES[use](engine)
    assert all(finding.ok for finding in engine.doctor())


@pytest.mark.parametrize("use", USES)
def test_a_server_that_restarted_between_two_uses_is_not_noticed(server: Postgres, engine: Engine, use: str) -> None:
    threads = [threading.Thread(target=engine.recall, args=("tea",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.restart()
    assert USES[use](engine)
    server.restart("immediate")
    assert USES[use](engine)


def test_recalls_under_way_fail_clearly_or_answer_while_the_server_restarts(server: Postgres, engine: Engine) -> None:
    ended, wrong = threading.Event(), []

    def ask() -> None:
        while not ended.is_set():
            try:
                engine.recall("tea")
            except fivefold.StoreError:
                continue
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        time.sleep(0.2)
        server.restart("immediate")
    time.sleep(0.2)
    ended.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert engine.recall("tea").hits


def test_a_write_cut_off_while_it_is_committed_does_not_claim_to_be_undone(location: str) -> None:
    opened(location).close()
    with RoundTrips(location) as trips, opened(trips.dsn) as engine:
        engine.remember("Sarah drinks tea")
        trips.latency_s = 0.5
        cut = threading.Timer(0.25, trips.close)
        with pytest.raises(fivefold.StoreError, match="whether it was stored is not known"):
            _cut_at_the_end(engine, cut)
        cut.join()


def _cut_at_the_end(engine: Engine, cut: threading.Timer) -> None:
    """All that goes before has been answered; the commit is on its way when the way is cut."""
    with engine.store.write("default") as txn:
        txn.admin.learned_value("x")
        cut.start()


def test_a_write_that_is_cut_off_before_its_commit_is_undone(server: Postgres, engine: Engine) -> None:
    with pytest.raises(fivefold.StoreError, match="does not answer"):
        _killed_within(server, engine)
    server.start()
    assert engine.store.reader("default").admin.learned_value("half") is None
    engine.remember("Tom drinks milk")
    assert engine.stats().memories == 2


def _killed_within(server: Postgres, engine: Engine) -> None:
    with engine.store.write("default") as txn:
        txn.admin.save_learned_value("half", {"done": True})
        server.kill()
        txn.admin.learned_value("half")


def test_a_closed_engine_says_so_whether_the_server_runs_or_not(server: Postgres, engine: Engine) -> None:
    engine.close()
    server.stop()
    try:
        with pytest.raises(fivefold.StoreClosed):
            engine.recall("tea")
    finally:
        server.start()


def test_an_error_of_one_statement_is_not_taken_for_a_server_that_is_away(engine: Engine) -> None:
    assert isinstance(engine.store, PostgresStore)
    deep = f"SELECT {'+'.join('1' * 60_000)}"
    with pytest.raises(fivefold.StoreError, match=r"could not do this: stack depth limit exceeded"):
        engine.store.ask(0, deep, ())
    assert engine.recall("tea").hits
