"""A Citus cluster for the tests: the coordinator that the environment names, with at least two workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from fivefold.engine import Engine
from fivefold.stores.postgres import connection
from fivefold.stores.postgres.citus import Distributed, distribute
from fivefold.stores.postgres.store import PostgresStore
from fivefold.testing.vectors import WordVectors
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


def distributed(location: str, shards: int = SHARDS) -> Distributed:
    """Spread the store at a location over the nodes; it is made if it is not there."""
    store = PostgresStore(location)
    try:
        with store.administration() as opened:
            return distribute(opened, store.location, store.options, shards, lambda done: None)
    finally:
        store.close()


def on_one_shard(patch: pytest.MonkeyPatch) -> None:
    """From here on a new store may send no statement that more than one shard must answer, but for administration."""
    plain = connection.settings

    def strict(*given: Any, **named: Any) -> dict[str, Any]:
        made = plain(*given, **named)
        if named.get("as_role"):
            made["options"] += " -c citus.multi_task_query_log_level=error"
        return made

    patch.setattr(connection, "settings", strict)
