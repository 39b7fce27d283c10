"""Shared fixtures. Models are real; every store is a real file in a temporary folder, or on a real server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from tests.support.postgres import GIVEN, Postgres, Server

settings.register_profile("untimed", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("untimed")
os.environ.pop("COLUMNS", None)  # set where tests run in several processes; output here is piped

LONGEST = (
    "tests/test_docs.py",
    "tests/stores/",
    "tests/transfer/test_migrate",
    "tests/test_durability",
    "tests/transfer/test_backup",
    "tests/web/",
    "tests/mcp/",
    "tests/bench/",
    "tests/cli/",
)
"""Files that take long, first: where several processes share the files, none is left with a long one at the end."""

BY_FILE = {
    "postgres": (
        "tests/stores/test_citus",
        "tests/stores/test_failover.py",
        "tests/stores/test_postgres",
        "tests/stores/test_replicas.py",
        "tests/test_durability_postgres.py",
    ),
    "browser": ("tests/web/inspector/",),
    "slow": (
        "tests/adapters/",
        "tests/bench/test_load.py",
        "tests/bench/test_server.py",
        "tests/cli/test_demo.py",
        "tests/cli/test_train_weights.py",
        "tests/stores/test_conformance.py",
        "tests/test_durability.py",
        "tests/training/",
        "tests/transfer/test_backup.py",
        "tests/transfer/test_migrate",
        "tests/web/test_logs.py",
        "tests/web/test_schema.py",
        "tests/web/test_server.py",
        "tests/web/test_spans.py",
    ),
}
"""The marker of whole files: they start servers, kill processes, train, or search long for counterexamples."""

BY_FIXTURE = {
    "postgres": {"postgres", "own_postgres"},
    "browser": {"browser", "browser_page", "tab"},
    "slow": {"served", "talk"},
}
"""The marker of each test that uses one of these fixtures, or has a parameter that is named like one."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that the marks leave out as a whole are not even imported."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    left_out = [marker for marker in BY_FILE if f"not {marker}" in config.option.markexpr]
    return True if any(f"{name}/".startswith(BY_FILE[marker]) for marker in left_out) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in LONGEST])
    for item in items:
        for marker in markers_of(item):
            item.add_marker(marker)


def markers_of(item: pytest.Item) -> set[str]:
    """What a test needs, by its file, its fixtures and its parameters."""
    call = getattr(item, "callspec", None)
    used = {*getattr(item, "fixturenames", ()), *(str(value) for value in (call.params.values() if call else ()))}
    by_fixture = {marker for marker, fixtures in BY_FIXTURE.items() if used & fixtures}
    return by_fixture | {marker for marker, starts in BY_FILE.items() if item.nodeid.startswith(starts)}


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Benchmarks in tests keep their vectors to themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIVEFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def store_path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with fivefold.open(store_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample year in a file, loaded once. Tests that write work on a copy."""
    path = str(tmp_path_factory.mktemp("sample") / "sample.db")
    with fivefold.open(path) as opened:
        opened.remember_many(sample.memories())
    return path


@pytest.fixture
def sample_engine(sample_path: str) -> Iterator[Engine]:
    with fivefold.open(sample_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of the run: the one that is named, else one of our own."""
    if given := os.environ.get(GIVEN):
        server = Server(given)
        try:
            yield server
        finally:
            server.clean()
        return
    with Postgres() as own:
        yield own


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server that one test may stop, kill or copy."""
    with Postgres() as own:
        yield own
