"""fivefold and an engine that cannot be installed, run as the others are: in processes of their own, by files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fivefold_bench.data import Dataset
from fivefold_bench.locomo import load
from fivefold_bench.peers.contest import FIVEFOLD, Contest, Entrant, recall, run_contest
from fivefold_bench.peers.peer_fivefold import FivefoldPeer
from fivefold_bench.peers.report import PeerReport
from fivefold_bench.peers.work import prepare, write_pool
from tests.support import bench_data

pytestmark = pytest.mark.slow

MISSING = Entrant("Nowhere", "peer_lancedb.py", "hybrid", "nowhere", ("fivefold-no-such-engine==1.0",))
BROKEN = Entrant("Broken", "peer_nothing.py", "hybrid", "broken", option="x")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> PeerReport:
    """Eight turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIVEFOLD_CACHE", str(cache_folder))
        patch.setenv("PIP_NO_INDEX", "1")
        return run_contest(
            Contest((), 4, 60.0), [*FIVEFOLD[1:3], MISSING, BROKEN], mill(tmp_path_factory.mktemp("mill"))
        )


def mill(folder: Path) -> Dataset:
    file = folder / "locomo.json"
    file.write_text(json.dumps(bench_data.locomo()), "utf-8")
    return load(file)


def test_fivefold_finds_the_turns_in_its_own_process(report: PeerReport) -> None:
    own = [row for row in report.rows if row.engine.startswith("fivefold")]
    assert [row.engine for row in own] == ["fivefold default, low effort", "fivefold dense"]
    for row in own:
        assert (row.work, row.memories, row.questions, row.note) == ("in 1 conversation", 8, 4, "")
        assert row.recall_at_10 == 1
        figures = (row.write_per_s, row.p50_ms, row.p99_ms, row.cpu_ms, row.first_s, row.memory_mb, row.disk_mb)
        assert all(figure is not None and figure > 0 for figure in figures)
    assert own[0].disk_mb == own[1].disk_mb, "one store serves all recipes"


def test_an_engine_that_cannot_be_installed_is_a_row_that_says_why(report: PeerReport) -> None:
    (row,) = [row for row in report.rows if row.engine == "Nowhere"]
    assert row.note == "not installed: No matching distribution found for fivefold-no-such-engine==1.0"
    assert row.p50_ms is None
    assert row.version == "1.0"


def test_an_engine_that_fails_is_a_row_that_says_why(report: PeerReport) -> None:
    (row,) = [row for row in report.rows if row.engine == "Broken"]
    assert row.note.startswith("failed: it ended with code 1: FileNotFoundError: ")


def test_a_pool_has_the_turns_and_varied_ones_and_fivefold_reads_no_text_again(tmp_path: Path) -> None:
    work = write_pool(prepare(mill(tmp_path)), tmp_path / "work", 11, 3)
    data = tmp_path / "work" / "pool"
    assert (work.name, work.memories, len(work.relevant)) == ("11", 11, 3)
    memories = [json.loads(line) for line in (data / "memories.jsonl").read_text("utf-8").splitlines()]
    assert [item["id"].partition("/")[0] for item in memories] == ["mill"] * 8 + ["varied"] * 3
    assert memories[0]["text"] == "Ines (4 March 2024): I planted three plum trees behind the mill"
    ids, texts = [item["id"] for item in memories], [item["text"] for item in memories]
    peer = FivefoldPeer(tmp_path, data, "dense:normal")
    try:
        peer.write([(ids, texts, np.load(data / "vectors.npy"))])
        for line in (data / "questions.jsonl").read_text("utf-8").splitlines():
            question = json.loads(line)
            found = peer.ask(question["text"], None, 10)
            assert set(found) <= set(ids)
            assert work.relevant.get(question["id"], frozenset()) <= set(found)
        assert peer.readings_made == 0
    finally:
        peer.close()


def test_recall_is_the_mean_share_of_the_gold() -> None:
    relevant = {"a": frozenset({"1", "2"}), "b": frozenset({"3"}), "not asked": frozenset({"4"})}
    assert recall(relevant, {"a": ["1", "9"], "b": ["8", "3"]}) == 0.75
