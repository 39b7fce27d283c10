"""A Citus cluster for the tests: the coordinator that the environment names, with at least two workers."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from fivefold.engine import Engine
from fivefold.stores.postgres import connection
from fivefold.stores.postgres.citus import Distribution, distribute
from fivefold.stores.postgres.store import PostgresStore
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server

CITUS = "FIVEFOLD_TEST_CITUS_DSN"
"""The variable that names the coordinator of a cluster; it is tested where there is one."""

SHARDS = 4


@pytest.fixture(scope="module")
def cluster() -> Iterator[Server]:
    """The coordinator; what a file of tests made on it is taken away at its end."""
    server = Server(os.environ[CITUS])
    try:
        yield server
    finally:
        server.clean()


def opened(location: str, namespace: str) -> Engine:
    return Engine(PostgresStore(location), namespace, WordVectors())


def store_of(engine: Engine) -> PostgresStore:
    assert isinstance(engine.store, PostgresStore)
    return engine.store


def distributed(location: str, shards: int = SHARDS) -> Distribution:
    """Spread the store at a location over the nodes; it is made if it is not there."""
    store = PostgresStore(location)
    try:
        with store.administration() as opened:
            return distribute(opened, store.location, store.options, shards, lambda done: None)
    finally:
        store.close()


class Worker:
    """A worker of a cluster on this machine, which a test may stop and start again."""

    def __init__(self, url: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            self._data = Path(str(_one(connection, "SELECT current_setting('data_directory')")))
            self._pg_ctl = str(_one(connection, "SELECT setting || '/pg_ctl' FROM pg_config WHERE name = 'BINDIR'"))

    @property
    def is_ours(self) -> bool:
        """Whether the tests may stop it: it runs here, from a folder and by a program that are found."""
        return (
            (self._data / "postmaster.pid").exists()
            and Path(self._pg_ctl).exists()
            and os.geteuid() in (0, self._owner)
        )

    def stop(self) -> None:
        """End it as if the power had failed."""
        self._run("stop", "-m", "immediate")

    def start(self) -> None:
        self._run("start", "-l", f"{self._data}.log")

    @property
    def _owner(self) -> int:
        return self._data.stat().st_uid

    def _run(self, *arguments: str) -> None:
        command = [self._pg_ctl, "-D", str(self._data), "-w", *arguments]
        home = {"HOME": pwd.getpwuid(self._owner).pw_dir}  # where it looks for certificates, as its owner may
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, user=self._owner, cwd="/", env={**os.environ, **home}
        )


def _one(connection: psycopg.Connection[Any], sql: LiteralString) -> Any:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]


def on_one_shard(patch: pytest.MonkeyPatch) -> None:
    """From here on a new store may send no statement that more than one shard must answer, but for administration."""
    plain = connection.settings

    def strict(*given: Any, **named: Any) -> dict[str, Any]:
        made = plain(*given, **named)
        if named.get("as_role"):
            made["options"] += " -c citus.multi_task_query_log_level=error"
        return made

    patch.setattr(connection, "settings", strict)
