"""Shared fixtures. Models are real; every store is a real file in a temporary folder, or on a real server."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.models.bert import Session
from tests.support.kept_runs import KeptRuns
from tests.support.postgres import GIVEN, Postgres, Server

settings.register_profile("untimed", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("untimed")
os.environ.pop("COLUMNS", None)  # set where tests run in several processes; output here is piped

collect_ignore = [] if all(map(find_spec, ("nbclient", "ipykernel"))) else ["test_notebook.py"]
"""A notebook needs its kernel. Without it that test is not collected, rather than skipped."""

LONGEST = (
    "tests/test_docs.py",
    "tests/test_first_screen.py",
    "tests/stores/",
    "tests/transfer/test_migrate",
    "tests/test_durability",
    "tests/transfer/test_backup",
    "tests/web/",
    "tests/mcp/",
    "tests/bench/",
    "tests/cli/",
    "tests/training/test_reader.py",
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
        "tests/bench/test_async_tasks.py",
        "tests/bench/test_cache.py",
        "tests/bench/test_faults.py::test_one_kill",
        "tests/bench/test_hooks.py",
        "tests/bench/test_load.py",
        "tests/bench/peers/test_contest.py",
        "tests/bench/test_plots.py",
        "tests/bench/test_results.py",
        "tests/bench/test_server.py",
        "tests/cli/test_app.py",
        "tests/cli/test_backup.py",
        "tests/cli/test_bench.py",
        "tests/cli/test_chat.py",
        "tests/cli/test_commands.py",
        "tests/cli/test_demo.py",
        "tests/cli/test_faults.py",
        "tests/hooks/test_entry.py",
        "tests/hooks/test_resident.py",
        "tests/cli/test_keys.py",
        "tests/cli/test_lazy.py",
        "tests/cli/test_forgotten_everywhere.py",
        "tests/cli/test_learn.py",
        "tests/cli/test_maintain.py",
        "tests/cli/test_migrate.py",
        "tests/cli/test_peers.py",
        "tests/cli/test_recipes.py",
        "tests/cli/test_safe.py",
        "tests/cli/test_terminal.py",
        "tests/cli/test_train_weights.py",
        "tests/cli/test_transfer.py",
        "tests/engine/test_fastapi.py",
        "tests/engine/test_many_namespaces.py",
        "tests/learning/test_background_training.py",
        "tests/learning/test_from_use.py",
        "tests/mcp/test_command.py",
        "tests/mcp/test_keys.py",
        "tests/mcp/test_page.py",
        "tests/mcp/test_stdio.py",
        "tests/models/embedders/test_openai.py",
        "tests/models/rerankers/test_hosted.py",
        "tests/models/test_bert.py",
        "tests/retrieval/test_every_recipe.py",
        "tests/retrieval/test_pipeline.py::test_any_text_is_a_question_or_a_clear_error",
        "tests/retrieval/test_pipeline.py::test_every_sample_question_obeys_the_law",
        "tests/retrieval/test_pipeline_learned.py",
        "tests/service/test_idempotency.py",
        "tests/service/test_tracing.py",
        "tests/stores/test_conformance.py",
        "tests/stores/test_shared_lexemes.py",
        "tests/stores/test_sqlite",
        "tests/test_durability.py",
        "tests/test_first_screen.py",
        "tests/test_full_disk.py",
        "tests/test_notebook.py",
        "tests/text/time_grammar/test_laws.py",
        "tests/test_whole_api.py",
        "tests/training/",
        "tests/transfer/importers/test_importer.py",
        "tests/transfer/test_backup.py",
        "tests/transfer/test_jsonl.py::test_an_export_comes_back_as_it_was",
        "tests/transfer/test_migrate",
        "tests/transfer/test_restore.py",
        "tests/web/",
        "tests/writing/extract/test_model.py",
        "tests/writing/extract/test_relations.py::test_a_long_text_is_read_in_one_go",
        "tests/writing/extract/test_statements.py::test_long_texts_are_read_too",
        "tests/writing/test_drift.py::test_indexing_anew",
        "tests/writing/test_rebuild.py",
    ),
}
"""The marker of whole files, and of single tests: they start servers or processes, train, or take long."""

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


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What is collected stays to the end; the collector of garbage need not look at ten thousand tests, nor again."""
    gc.freeze()
    gc.enable()


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


@pytest.fixture(scope="session", autouse=True)
def _kept_runs() -> Iterator[None]:
    """Models read the same inputs once in each process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "run", KeptRuns().method)
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
