"""Shared fixtures. Models are real; every store is a real file in a temporary folder, or on a real server."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import fivefold
from fivefold import sample
from fivefold.cli.app import run
from fivefold.engine import Engine
from fivefold.models.bert import Session
from tests.support.kept_runs import KeptRuns
from tests.support.kept_schema import kept_schema
from tests.support.postgres import GIVEN, Postgres, Server
from tests.support.shell import UNSET, Ran

settings.register_profile("untimed", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("untimed")
os.environ.pop("COLUMNS", None)  # set where tests run in several processes; output here is piped

collect_ignore = [] if all(map(find_spec, ("nbclient", "ipykernel"))) else ["test_notebook.py"]
"""A notebook needs its kernel. Without it that test is not collected, rather than skipped."""

BY_FIXTURE = {
    "postgres": {"postgres", "own_postgres"},
    "browser": {"browser", "browser_page", "tab"},
    "slow": {"served", "talk"},
}
"""The marker of each test that uses one of these fixtures, or has a parameter that is named like one."""


WHOLLY_SLOW = re.compile(r"^pytestmark = (?:\[.*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of slow tests alone is not even imported if they are left out."""
    if "not slow" not in config.option.markexpr or not collection_path.name.startswith("test_"):
        return None
    return True if WHOLLY_SLOW.search(collection_path.read_text("utf-8")) else None


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What is collected stays to the end; the collector of garbage need not look at ten thousand tests, nor again."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: where several processes share the files, none is left with a long one at the end."""
    for item in items:
        for marker in markers_of(item):
            item.add_marker(marker)
    items.sort(key=lambda item: not any(item.iter_markers("slow")) and not any(item.iter_markers("browser")))


def markers_of(item: pytest.Item) -> set[str]:
    """What a test needs, by its fixtures and its parameters."""
    call = getattr(item, "callspec", None)
    used = {*getattr(item, "fixturenames", ()), *(str(value) for value in (call.params.values() if call else ()))}
    return {marker for marker, fixtures in BY_FIXTURE.items() if used & fixtures}


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Benchmarks in tests keep their vectors to themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIVEFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _kept_runs() -> Iterator[None]:
    """Models read the same inputs once in each process, and its new files have tables that were made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "run", KeptRuns().method)
        patch.setattr("fivefold.stores.sqlite.store.migrate", kept_schema())
        yield


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ran]:
    """Runs `fivefold` as the shell would, in an empty folder, without a process of its own."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def ran(*args: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["fivefold", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        code = ended.value.code
        said = capsys.readouterr()
        return Ran(code if isinstance(code, int) else int(code is not None), said.out, said.err)

    return ran


@pytest.fixture
def store_path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with fivefold.open(store_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample year in a file. Tests that write work on a copy.

    The models take seconds to read it: where several processes share the tests, the first makes it for all.
    """
    folder = tmp_path_factory.mktemp("sample")
    common = folder if "PYTEST_XDIST_WORKER" not in os.environ else tmp_path_factory.getbasetemp().parent
    made = common / "sample year.db"
    with (common / "sample year.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            with fivefold.open(folder / "new.db") as opened:
                opened.remember_many(sample.memories())
            (folder / "new.db").rename(made)
    return str(shutil.copy(made, folder / "sample.db"))


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
