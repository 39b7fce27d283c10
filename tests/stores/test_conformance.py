"""Every store passes the conformance suite of the package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.testing import StoreConformance
from tests.support.cluster import CITUS, distributed, on_one_shard
from tests.support.postgres import Server


class TestSqlite(StoreConformance):
    """A file for each test."""

    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")


@pytest.fixture(scope="module")
def one_schema(postgres: Server) -> str:
    return postgres.new_location()


class TestPostgres(StoreConformance):
    """One schema for all tests, each in namespaces of its own."""

    @pytest.fixture
    def location(self, one_schema: str) -> str:
        return one_schema


if os.environ.get(CITUS):

    @pytest.fixture(scope="module")
    def one_cluster() -> Iterator[str]:
        server = Server(os.environ[CITUS])
        try:
            location = server.new_location()
            distributed(location)
            yield location
        finally:
            server.clean()

    class TestCitus(StoreConformance):
        """One schema for all tests, distributed, and no statement may ask more than one shard."""

        @pytest.fixture
        def location(self, one_cluster: str, monkeypatch: pytest.MonkeyPatch) -> str:
            on_one_shard(monkeypatch)
            return one_cluster
