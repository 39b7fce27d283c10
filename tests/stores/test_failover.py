"""Servers that hang, and a standby that takes over: the same engine goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from fivefold.errors import ServerAway
from fivefold.service.audit import Audit
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.values.access import Unauthorized
from tests.stores.test_replicas import answered_by, with_replicas
from tests.support.own_database import opened
from tests.support.postgres import Postgres
from tests.support.processes import children

pytestmark = pytest.mark.postgres


@pytest.fixture
def primary() -> Iterator[Postgres]:
    with Postgres() as own:
        yield own


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    """For a while; whoever waits for it for ever is let go in the end."""
    assert server._process is not None
    processes = [server._process.pid, *children(server._process.pid)]

    def signalled(number: signal.Signals) -> None:
        for process in processes:
            with suppress(ProcessLookupError):  # a worker that ended by itself meanwhile
                os.kill(process, number)

    let_go = threading.Timer(15, signalled, (signal.SIGCONT,))
    signalled(signal.SIGSTOP)
    let_go.start()
    try:
        yield
    finally:
        let_go.cancel()
        signalled(signal.SIGCONT)


def test_a_replica_that_hangs_is_passed_over(primary: Postgres) -> None:
    """Its processes are stopped: it neither answers nor goes away."""
    location, standby = primary.dsn(statement_timeout_ms="1000", connect_timeout_s="2"), primary.standby()
    with opened(with_replicas(location, standby)) as engine:
        engine.remember("Sarah drinks tea")
        primary.caught_up(standby)
        assert answered_by(engine) == standby.port
        began = time.monotonic()
        with stopped(standby):
            assert engine.recall("tea").hits
        assert time.monotonic() - began < 10


def test_keys_hold_while_the_primary_is_away(primary: Postgres) -> None:
    """A replica knows them too; what must be noted is refused, what can wait waits."""
    standby = primary.standby()
    with closing(open_store(with_replicas(primary.dsn(connect_timeout_s="2"), standby))) as store:
        keyring = Keyring(store)
        key, secret = keyring.create("the bot", "reader", ["work"])
        gone, gone_secret = keyring.create("the page", "reader", ["work"])
        keyring.revoke(gone.id)
        primary.caught_up(standby)
        audit = Audit(store)
        primary.kill()
        caller = keyring.caller(secret)
        assert caller.key_id == key.id
        with pytest.raises(Unauthorized):
            keyring.caller(gone_secret)
        audit.note(caller, "recall", "work")
        with pytest.raises(ServerAway):
            audit.note(caller, "remember", "work", "m1")
        with pytest.raises(ServerAway):
            keyring.revoke(key.id)
        primary.start()
        assert [entry.action for entry in audit.entries(1)] == ["recall"]
        audit.close()


def test_an_address_with_two_hosts_follows_a_promoted_standby(primary: Postgres) -> None:
    """PostgreSQL's own way to name a primary that may move."""
    second = primary.standby()
    location = primary.dsn(target_session_attrs="read-write", connect_timeout_s="2")
    with opened(location.replace(f":{primary.port}", f":{primary.port},127.0.0.1:{second.port}")) as engine:
        engine.remember("Sarah drinks tea")
        assert answered_by(engine) == primary.port
        primary.caught_up(second)
        primary.kill()
        with second.connect() as connection:
            connection.execute("SELECT pg_promote()")
        engine.remember("Tom drinks milk")
        assert answered_by(engine) == second.port
        assert len(engine.recall("who drinks?").hits) == 2
