"""Every store passes the conformance suite of the package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.stores.sqlite import lexical
from tests.conformance import StoreConformance
from tests.conformance.deletion import DeletionLaws
from tests.conformance.filters import FilterLaws
from tests.conformance.forgetting import ForgettingLaws
from tests.conformance.lexical import LexicalLaws
from tests.conformance.maintenance import MaintenanceLaws
from tests.conformance.recalls import RecallLaws
from tests.support.cluster import CITUS, distributed, on_one_shard
from tests.support.postgres import Server

pytestmark = pytest.mark.slow


class TestSqlite(StoreConformance):
    """A file for each test.

    `TestSqliteOwnIndex` compares a file with the reference by every recipe. The reference has the index of this one.
    """

    test_every_recipe_answers_the_sample_as_the_reference_does = None  # type: ignore[assignment]
    test_every_recipe_answers_a_random_story_as_the_reference_does = None  # type: ignore[assignment]

    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "memory.db")


class TestSqliteOwnIndex(LexicalLaws, ForgettingLaws, DeletionLaws, MaintenanceLaws, FilterLaws, RecallLaws):
    """Each namespace has its own lexical index, as a large one has; those of the reference share a table."""

    @pytest.fixture
    def location(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setattr(lexical, "is_large", lambda connection, *_: bool(connection.filename))
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
