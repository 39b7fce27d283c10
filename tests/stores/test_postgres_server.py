"""The servers the tests run on, and the relay that counts round trips."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import Postgres, Server, _reachable, installed
from tests.support.processes import alive, children
from tests.support.round_trips import RoundTrips

pytestmark = pytest.mark.postgres


def noted(server: Server, database: str | None = None) -> list[object]:
    with server.connect(database) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM notes ORDER BY text")]


def note(server: Server, *texts: str) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS notes (text text)")
        for text in texts:
            connection.execute("INSERT INTO notes VALUES (%s)", (text,))


def value(server: Server, statement: str) -> object:
    with server.connect() as connection:
        row = connection.execute(statement.encode()).fetchone()
        assert row is not None
        return row[0]


# the shared server


def test_the_server_is_new_enough_and_has_pgvector(postgres: Server) -> None:
    assert int(str(value(postgres, "SHOW server_version_num"))) >= 150_000
    database = postgres.new_database()
    with postgres.connect(database) as connection:
        connection.execute("CREATE EXTENSION vector")
        row = connection.execute("SELECT -('[0.6,0.8]'::vector <#> '[1,0]'::vector)").fetchone()
    assert row is not None
    assert row[0] == pytest.approx(0.6)


def test_commits_are_synced(postgres: Server) -> None:
    assert (value(postgres, "SHOW fsync"), value(postgres, "SHOW synchronous_commit")) == ("on", "on")


def test_schemas_and_databases_have_names_of_their_own(postgres: Server) -> None:
    assert postgres.new_schema() != postgres.new_schema()
    assert postgres.new_database() != postgres.new_database()
    assert postgres.new_location().startswith("postgresql://")
    assert "schema=test_" in postgres.new_location()


def test_an_address_keeps_the_parameters_it_was_given() -> None:
    server = Server("postgresql://ann@db.example:6000/home?sslmode=require")
    assert server.dsn() == "postgresql://ann@db.example:6000/home?sslmode=require"
    assert server.dsn("away", schema="a b") == "postgresql://ann@db.example:6000/away?sslmode=require&schema=a+b"


def test_what_the_tests_made_on_a_server_that_stays_can_be_taken_away(own_postgres: Postgres) -> None:
    visited = Server(own_postgres.dsn())
    schema, database = visited.new_schema(), visited.new_database()
    with visited.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    visited.clean()
    assert value(own_postgres, f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'") == 0
    assert value(own_postgres, f"SELECT count(*) FROM pg_database WHERE datname = '{database}'") == 0


# stopping, killing, copying


def test_nobody_else_can_reach_it(own_postgres: Postgres) -> None:
    assert value(own_postgres, "SHOW listen_addresses") == "127.0.0.1"
    assert own_postgres.folder.stat().st_mode & 0o077 == 0
    if os.geteuid() == 0:
        assert own_postgres.folder.stat().st_uid != 0


def test_a_restarted_server_has_the_same_address_and_data(own_postgres: Postgres) -> None:
    note(own_postgres, "kept")
    before = own_postgres.dsn()
    own_postgres.restart()
    assert own_postgres.dsn() == before
    assert noted(own_postgres) == ["kept"]
    own_postgres.stop("immediate")
    with pytest.raises(psycopg.OperationalError), own_postgres.connect():
        pass
    own_postgres.start()
    assert noted(own_postgres) == ["kept"]


def test_a_killed_server_is_gone_at_once_and_has_what_was_committed(own_postgres: Postgres) -> None:
    note(own_postgres, "committed")
    assert own_postgres._process is not None
    with psycopg.connect(own_postgres.dsn()) as open_one:
        open_one.execute("INSERT INTO notes VALUES ('not committed')")
        processes = [own_postgres._process.pid, *children(own_postgres._process.pid)]
        own_postgres.kill()
        assert not own_postgres.running
        assert len(processes) > 3
        assert not any(map(alive, processes))
        with pytest.raises(psycopg.OperationalError):
            open_one.execute("SELECT 1")
        open_one.close()
    own_postgres.start()
    assert noted(own_postgres) == ["committed"]


def test_stopping_what_does_not_run_is_nothing(own_postgres: Postgres) -> None:
    own_postgres.kill()
    own_postgres.kill()
    own_postgres.stop()
    own_postgres.start()
    assert own_postgres.running


def test_a_standby_follows_and_can_be_promoted_by_losing_nothing(own_postgres: Postgres) -> None:
    note(own_postgres, "before the copy")
    standby = own_postgres.standby()
    note(own_postgres, "after the copy")
    own_postgres.caught_up(standby)
    assert noted(standby) == ["after the copy", "before the copy"]
    with standby.connect() as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("INSERT INTO notes VALUES ('no')")
    standby.kill()
    note(own_postgres, "while the copy was away")
    standby.start()
    own_postgres.caught_up(standby)
    assert len(noted(standby)) == 3


def test_a_closed_server_leaves_nothing_behind() -> None:
    with Postgres() as server:
        folder, standby = server.folder, server.standby()
        assert folder.exists()
    assert (server.running, standby.running) == (False, False)
    assert not folder.exists()
    assert not standby.folder.exists()


def test_programs_in_a_folder_closed_to_others_are_copied_out(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    (closed / "bin" / "postgres").write_text("program")
    closed.chmod(0o700)
    assert (_reachable(closed, tmp_path) / "bin" / "postgres").read_text() == "program"
    assert _reachable(closed, tmp_path / "second") != closed
    assert (installed() / "bin" / "postgres").exists()


# round trips


@pytest.fixture
def trips(postgres: Server) -> Iterator[RoundTrips]:
    with RoundTrips(postgres.dsn()) as relay:
        yield relay


def test_each_statement_that_waits_is_one_round_trip(trips: RoundTrips) -> None:
    with psycopg.connect(trips.dsn, autocommit=True) as connection:
        with trips.counted() as seen:
            connection.execute("SELECT 1")
        assert seen.count == 1
        with trips.counted() as seen:
            for number in range(5):
                connection.execute("SELECT %s", (number,))
        assert seen.count == 5
    assert trips.count >= 7


def test_a_large_question_and_a_large_answer_are_one_round_trip(trips: RoundTrips) -> None:
    with psycopg.connect(trips.dsn, autocommit=True) as connection, trips.counted() as seen:
        row = connection.execute("SELECT repeat(%s, 20)", ("x" * 1_000_000,)).fetchone()
    assert row is not None
    assert len(row[0]) == 20_000_000
    assert seen.count == 1


def test_a_transaction_in_three_statements_is_four_round_trips(trips: RoundTrips) -> None:
    """BEGIN goes with the first statement or alone; COMMIT is one more."""
    with psycopg.connect(trips.dsn) as connection:
        with trips.counted() as seen:
            for _ in range(2):
                connection.execute("SELECT 1")
            connection.commit()
        assert seen.count == 4


def test_statements_sent_in_one_go_are_one_round_trip(postgres: Server) -> None:
    with RoundTrips(postgres.dsn()) as trips, psycopg.connect(trips.dsn, autocommit=True) as connection:
        trips.latency_s = 0.05
        with trips.counted() as seen, connection.pipeline():
            cursors = [connection.execute("SELECT %s::int", (number,)) for number in range(10)]
            assert [row[0] for cursor in cursors if (row := cursor.fetchone())] == list(range(10))
        assert seen.count <= 2


def test_connections_side_by_side_are_counted_together(trips: RoundTrips) -> None:
    """Statements are not prepared, which would cost a round trip of its own at the sixth time."""
    connections = [psycopg.connect(trips.dsn, autocommit=True, prepare_threshold=None) for _ in range(4)]

    def ask(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        for _ in range(10):
            connection.execute("SELECT 1")

    with trips.counted() as seen:
        threads = [threading.Thread(target=ask, args=(connection,)) for connection in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for connection in connections:
        connection.close()
    assert seen.count == 40


def test_the_way_can_be_made_long(trips: RoundTrips) -> None:
    with psycopg.connect(trips.dsn, autocommit=True) as connection:
        trips.latency_s = 0.1
        start = time.monotonic()
        connection.execute("SELECT 1")
        assert time.monotonic() - start >= 0.2


def test_a_closed_relay_ends_its_connections(postgres: Server) -> None:
    trips = RoundTrips(postgres.dsn())
    with psycopg.connect(trips.dsn, autocommit=True) as connection:
        trips.close()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(trips.dsn, connect_timeout=5)


def test_a_server_that_is_away_ends_the_connection_and_not_the_relay(own_postgres: Postgres) -> None:
    with RoundTrips(own_postgres.dsn()) as trips:
        own_postgres.stop("fast")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(trips.dsn, connect_timeout=5)
        own_postgres.start()
        psycopg.connect(trips.dsn).close()
