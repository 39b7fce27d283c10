"""Read replicas: a primary with streaming standbys, of which some lag, die and come back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.postgres import connection
from fivefold.stores.postgres.dialect import namespace_key
from fivefold.stores.postgres.store import PostgresStore
from tests.support.own_database import opened
from tests.support.postgres import Postgres

pytestmark = pytest.mark.postgres

PATIENCE_S = 20.0
DEFAULT = namespace_key("default")


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    with Postgres() as own:
        yield own


@pytest.fixture(scope="module")
def standbys(primary: Postgres) -> list[Postgres]:
    return [primary.standby(), primary.standby()]


@pytest.fixture(autouse=True)
def _all_run(primary: Postgres, standbys: list[Postgres], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test killed runs again; a replica that is away is looked for often."""
    monkeypatch.setattr(connection, "AGAIN_S", 0.2)
    yield
    for server in (primary, *standbys):
        if not server.running:
            server.start()


@pytest.fixture
def location(primary: Postgres) -> str:
    """A store with one memory, made by another client."""
    where = primary.dsn(schema=primary.new_schema(), connect_timeout_s="2")
    with opened(where) as engine:
        engine.remember("Sarah drinks tea")
    return where


def with_replicas(location: str, *standbys: Postgres) -> str:
    return ",".join([location, *(standby.dsn() for standby in standbys)])


@pytest.fixture
def engine(location: str, primary: Postgres, standbys: list[Postgres]) -> Iterator[Engine]:
    """With both standbys, which have all there is."""
    for standby in standbys:
        primary.caught_up(standby)
    with opened(with_replicas(location, *standbys)) as made:
        yield made


def answered_by(engine: Engine) -> int:
    """The port of the server that answers the next question."""
    assert isinstance(engine.store, PostgresStore)
    return int(engine.store.ask(DEFAULT, "SELECT inet_server_port()", ())[0][0])


def ports(*servers: Postgres) -> set[int]:
    return {server.port for server in servers}


def soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return False


@contextmanager
def lagging(*standbys: Postgres) -> Iterator[None]:
    """They receive everything and show nothing of it."""
    for standby in standbys:
        with standby.connect() as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            state = "SELECT pg_get_wal_replay_pause_state()"
            assert soon(lambda: connection.execute(state).fetchone() == ("paused",))  # noqa: B023
    try:
        yield
    finally:
        for standby in standbys:
            if standby.running:
                with standby.connect() as connection:
                    connection.execute("SELECT pg_wal_replay_resume()")


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "fivefold"]


# who answers


def test_recalls_go_to_the_replicas_in_turn_and_writes_to_the_primary(
    engine: Engine, primary: Postgres, standbys: list[Postgres]
) -> None:
    assert {answered_by(engine) for _ in range(4)} == ports(*standbys)
    assert [hit.memory.content for hit in engine.recall("tea")] == ["Sarah drinks tea"]
    engine.remember("Tom drinks milk")
    for standby in standbys:
        primary.caught_up(standby)
    assert {answered_by(engine) for _ in range(4)} == ports(*standbys)
    assert engine.stats().memories == 2


def test_a_client_sees_what_it_wrote_though_the_replicas_lag(
    engine: Engine, location: str, primary: Postgres, standbys: list[Postgres]
) -> None:
    with lagging(*standbys), opened(with_replicas(location, *standbys)) as other:
        engine.remember("Tom drinks milk")
        assert answered_by(engine) == primary.port
        assert len(engine.recall("who drinks?").hits) == 2
        engine.forget(engine.recall("Sarah").hits[0].memory.id)
        assert [hit.memory.content for hit in engine.recall("who drinks?")] == ["Tom drinks milk"]
        assert answered_by(other) in ports(*standbys)
        assert [hit.memory.content for hit in other.recall("who drinks?")] == ["Sarah drinks tea"]
    for standby in standbys:
        primary.caught_up(standby)
    assert {answered_by(engine) for _ in range(4)} == ports(*standbys)
    assert [hit.memory.content for hit in engine.recall("who drinks?")] == ["Tom drinks milk"]


def test_only_the_replica_that_lags_is_left_out(engine: Engine, primary: Postgres, standbys: list[Postgres]) -> None:
    late, quick = standbys
    with lagging(late):
        engine.remember("Tom drinks milk")
        primary.caught_up(quick)
        assert {answered_by(engine) for _ in range(4)} == ports(quick)


def test_the_log_of_recalls_is_read_where_it_was_written(engine: Engine, standbys: list[Postgres]) -> None:
    with lagging(*standbys):
        recalls = [engine.recall("tea") for _ in range(64)]
        engine.feedback(recalls[0].id, used=[recalls[0].hits[0].memory.id])
        assert (engine.stats().recalls, engine.stats().feedback) == (64, 1)


# replicas that are away


def test_a_dead_replica_is_passed_over_with_one_warning_and_used_again(
    engine: Engine, standbys: list[Postgres], caplog: pytest.LogCaptureFixture
) -> None:
    dead, alive = standbys
    assert soon(lambda: {answered_by(engine) for _ in range(4)} == ports(*standbys))
    dead.kill()
    with caplog.at_level(logging.WARNING, "fivefold"):
        assert {answered_by(engine) for _ in range(8)} == ports(alive)
        assert engine.recall("tea").hits
    assert [text.partition(":")[0] for text in warnings_of(caplog)] == ["a replica is passed over until it is back"]
    assert str(dead.port) in warnings_of(caplog)[0]
    dead.start()
    assert soon(lambda: answered_by(engine) == dead.port)


def test_with_all_replicas_dead_the_primary_answers(
    engine: Engine, primary: Postgres, standbys: list[Postgres], caplog: pytest.LogCaptureFixture
) -> None:
    for standby in standbys:
        standby.kill()
    with caplog.at_level(logging.WARNING, "fivefold"):
        assert engine.recall("tea").hits
        began = time.monotonic()
        for _ in range(5):
            assert answered_by(engine) == primary.port
        assert time.monotonic() - began < 1.0
    assert len(warnings_of(caplog)) == 2
    for standby in standbys:
        standby.start()
    assert soon(lambda: {answered_by(engine) for _ in range(4)} == ports(*standbys))


def test_many_threads_that_meet_a_dead_replica_warn_once(
    location: str, primary: Postgres, standbys: list[Postgres], caplog: pytest.LogCaptureFixture
) -> None:
    found: list[int] = []
    with opened(with_replicas(location, standbys[0])) as engine, caplog.at_level(logging.WARNING, "fivefold"):
        primary.caught_up(standbys[0])
        assert answered_by(engine) == standbys[0].port
        standbys[0].kill()
        threads = [threading.Thread(target=lambda: found.append(answered_by(engine))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [primary.port] * 8
    assert len(warnings_of(caplog)) == 1


def test_a_replica_that_was_never_there_costs_one_wait(location: str, primary: Postgres) -> None:
    with opened(f"{location},postgresql://postgres:hidden@127.0.0.1:1/postgres") as engine:
        assert engine.recall("tea").hits
        assert answered_by(engine) == primary.port


def test_a_statement_that_is_too_slow_is_not_the_replicas_fault(
    location: str, primary: Postgres, standbys: list[Postgres], caplog: pytest.LogCaptureFixture
) -> None:
    primary.caught_up(standbys[0])
    with opened(with_replicas(f"{location}&statement_timeout_ms=500", standbys[0])) as engine:
        assert isinstance(engine.store, PostgresStore)
        with pytest.raises(fivefold.StoreError, match="longer than 500 ms"):
            engine.store.ask(DEFAULT, "SELECT pg_sleep(5)", ())
        assert answered_by(engine) == standbys[0].port
    assert warnings_of(caplog) == []


def test_a_replica_in_the_place_of_the_primary_is_named_as_such(
    location: str, primary: Postgres, standbys: list[Postgres]
) -> None:
    primary.caught_up(standbys[0])
    wrong = location.replace(str(primary.port), str(standbys[0].port))
    with opened(wrong) as engine:
        assert engine.recall("tea").hits
        with pytest.raises(fivefold.ReadOnly, match=r"a read-only replica\. Name the primary first"):
            engine.remember("Tom drinks milk")


def test_a_closed_engine_asks_nobody(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    engine.recall("tea")
    engine.close()
    with pytest.raises(fivefold.StoreClosed):
        engine.recall("tea")
    assert warnings_of(caplog) == []


# a primary that is away


def test_with_the_primary_away_recalls_go_on_and_writes_say_why_they_cannot(
    engine: Engine, location: str, primary: Postgres, standbys: list[Postgres]
) -> None:
    primary.kill()
    assert engine.recall("tea").hits
    with pytest.raises(fivefold.StoreError, match=r"does not answer.*check that the server runs"):
        engine.remember("Tom drinks milk")
    assert engine.recall("tea").hits
    with opened(with_replicas(location, *standbys)) as later:
        assert later.recall("tea").hits
    with pytest.raises(fivefold.StoreError, match="does not answer"):
        opened(location)
    primary.start()
    engine.remember("Tom drinks milk")
    assert len(engine.recall("who drinks?").hits) == 2
