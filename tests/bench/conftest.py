"""Fixtures of the benchmarks: vectors are kept for one run of the tests and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fivefold_bench.contestants import contestants_for
from fivefold_bench.data import Dataset
from fivefold_bench.jsonl import load
from fivefold_bench.results import score_run
from fivefold_bench.run import Run, run_contestants
from fivefold_bench.scores import LISTED, Scores
from tests.support import bench_data


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


@pytest.fixture(autouse=True)
def _own_cache(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIVEFOLD_CACHE", str(cache_folder))


@pytest.fixture
def mill(tmp_path: Path) -> Dataset:
    """Eight turns of three sessions and six questions."""
    (tmp_path / "mill").mkdir()
    bench_data.write(tmp_path / "mill")
    return load(tmp_path / "mill" / "lines")


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> Run:
    """The eight turns asked by both baselines and two recipes."""
    folder = tmp_path_factory.mktemp("mill")
    bench_data.write(folder)
    mill = load(folder / "lines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIVEFOLD_CACHE", str(cache_folder))
        return run_contestants(
            mill, contestants_for("dense,bm25,recipe:dense,default", {}, mill.unit)[0], "wordllama", 20
        )


@pytest.fixture(scope="session")
def scored(run: Run) -> dict[str, Scores]:
    return score_run(run, LISTED)
