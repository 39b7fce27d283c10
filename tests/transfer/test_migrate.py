"""Moving namespaces between stores: everything arrives."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold import sample
from fivefold.learning.model_store import reranker_store
from fivefold.stores import open_store
from fivefold.stores.tables import VECTORS
from fivefold.transfer.migrate import migrate
from tests.conformance.store_pair import answers, same_answers
from tests.learning.test_reranker import VERDICT, liking
from tests.support.migrating import ODD, QUESTIONS, TOKENS, checksums, exported, make_namespace
from tests.support.postgres import Server
from tests.support.toy_engine import Toy, toy

pytestmark = pytest.mark.slow

# what arrives


def test_there_and_back_again_is_byte_equal(lived: str, postgres: Server, tmp_path: Path) -> None:
    """SQLite → PostgreSQL → SQLite: exports, every table, and the answers of every recipe."""
    before = hashlib.sha256(Path(lived).read_bytes()).digest()
    there, back = postgres.new_location(), str(tmp_path / "back.db")
    first, second = migrate(lived, there), migrate(there, back)
    assert hashlib.sha256(Path(lived).read_bytes()).digest() == before
    assert checksums(first) == checksums(second)
    assert [item.tables for item in first] == [item.tables for item in second]
    assert [item.namespace for item in first] == sorted(["default", ODD, "empty"])
    for namespace in ("default", ODD, "empty"):
        wanted = exported(lived, namespace, tmp_path)
        assert exported(there, namespace, tmp_path) == wanted
        assert exported(back, namespace, tmp_path) == wanted
    copy = str(shutil.copy(lived, tmp_path / "asked.db"))
    with fivefold.open(copy) as old, fivefold.open(there) as new, fivefold.open(back) as newest:
        asked = [answers(engine, *QUESTIONS, now="2025-03-10T12:00:00Z") for engine in (old, new, newest)]
        same_answers(asked[0], asked[1])
        same_answers(asked[0], asked[2])


def test_everything_comes_along(lived: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what an export leaves out; and no model is asked for."""

    def unwanted(choice: str) -> None:
        raise AssertionError(choice)

    with monkeypatch.context() as patch:
        patch.setattr("fivefold.models.embedders.embedder", unwanted)
        (moved,) = migrate(lived, target, ["default"])
    rows = {checked.table: checked.rows for checked in moved.tables}
    assert all(rows.values()), rows
    assert (moved.memories, moved.vectors) == (rows["memories"], rows["vectors"])
    with fivefold.open(lived) as old, fivefold.open(target) as new:
        for mem in (old, new):
            mem.store.recalls.flush()  # type: ignore[attr-defined]
        assert new.settings == old.settings
        assert new.store.reader("default").admin.learned_value("weights") == old.store.reader(
            "default"
        ).admin.learned_value("weights")
        assert new.learned().weights.count == len(QUESTIONS)
        stats = [{**mem.stats().to_dict(), "bytes_on_disk": 0} for mem in (old, new)]
        assert stats[0] == stats[1]
        assert new.sessions(1_000) == old.sessions(1_000)
        (edge,) = [edge for edge in new.graph.edges("Old Mill") if edge.relation == "stands by"]
        assert (edge.target, edge.confidence) == ("Project Kestrel", 0.8)
        assert "the mill" in new.graph.entity("Old Mill").aliases
        assert new.store.reader("default").feedback.latest(10) == old.store.reader("default").feedback.latest(10)
        recalled = new.store.reader("default").feedback.latest(10)[0].recall
        assert new.store.reader("default").feedback.signals(recalled) == old.store.reader("default").feedback.signals(
            recalled
        )
        with old.store.snapshot("default") as one, new.store.snapshot("default") as other:
            assert list(other.rows(VECTORS)) == list(one.rows(VECTORS))
            stored = [row[6] for row in other.rows(VECTORS) if row[6] is not None]
            assert stored[-len(TOKENS) :] == TOKENS
            assert len(stored) > len(TOKENS)
            assert {row[3] for row in other.rows(VECTORS)} == {0, 1, 2}
            assert {len(row[5]) // 4 for row in other.rows(VECTORS)} == {Toy.dimension, 384}


def test_vectors_are_the_same_to_the_last_bit(target: str, tmp_path: Path) -> None:
    """Whatever a model may give: the smallest numbers, and zeros of either sign."""
    source = str(tmp_path / "source.db")
    odd = np.array([1e-45, -0.0, 0.0, 1.1754944e-38, 3.4028235e38, -1.0, 1 / 3, 2**-24] * 2, dtype=np.float32)
    with toy(source) as mem:
        memory = mem.get(mem.remember("told as it is").id or "")
        with mem.store.write("default") as txn:
            txn.vectors.put(memory, {"user": odd}, "active")
    migrate(source, target)
    with closing(open_store(target)) as store, store.snapshot("default") as look:
        assert odd.tobytes() in [row[5] for row in look.rows(VECTORS)]


@pytest.mark.parametrize("namespace", [ODD, "empty", "x" * 200])
def test_any_namespace_arrives_under_its_name(namespace: str, lived: str, target: str, tmp_path: Path) -> None:
    source = str(shutil.copy(lived, tmp_path / "source.db"))
    make_namespace(source, namespace)
    (moved,) = migrate(source, target, [namespace])
    assert moved.namespace == namespace
    with closing(open_store(target)) as store:
        assert store.namespaces() == (namespace,)
    assert exported(target, namespace, tmp_path) == exported(source, namespace, tmp_path)


def test_another_namespace_of_the_target_is_left_alone(lived: str, target: str, tmp_path: Path) -> None:
    """In a file, keys are counted over all namespaces; what comes in is numbered behind what is there."""
    with toy(target, "before") as mem:
        mem.remember_many([f"note {i} of Anna and Boris" for i in range(30)])
        mem.graph.relate("Anna", "knows", "Boris")
    kept = exported(target, "before", tmp_path)
    moved = migrate(lived, target)
    assert checksums(moved) == checksums(migrate(lived, str(tmp_path / "alone.db")))
    assert exported(target, "before", tmp_path) == kept
    assert exported(target, "default", tmp_path) == exported(lived, "default", tmp_path)
    with fivefold.open(target) as mem, fivefold.open(str(shutil.copy(lived, tmp_path / "asked.db"))) as old:
        asked = [answers(engine, QUESTIONS[0], now="2025-03-10T12:00:00Z") for engine in (old, mem)]
        same_answers(*asked)


def test_the_target_can_be_written_to_afterwards(lived: str, target: str) -> None:
    migrate(lived, target)
    with fivefold.open(target) as mem:
        before = mem.stats().memories
        report = mem.remember("Anna moved to the Old Mill with Boris", session_id="new")
        mem.forget(sample.memories()[0]["id"])
        assert mem.get(report.id or "").row > 0
        assert mem.stats().memories == before + 1
        assert [finding for finding in mem.doctor() if not finding.ok] == []


def test_a_trained_reranker_comes_along(lived: str, target: str, tmp_path: Path) -> None:
    source, back = str(shutil.copy(lived, tmp_path / "source.db")), str(tmp_path / "back.db")
    with closing(open_store(source)) as store, closing(open_store(back)) as other:
        reranker_store(store, "default").save(liking("event"), VERDICT)
        reranker_store(other, ODD).save(liking("event"), VERDICT)
    migrate(source, target)
    migrate(target, back)
    for location in (target, back):
        with closing(open_store(location)) as store:
            learned = reranker_store(store, "default").load()
            assert learned.verdict == VERDICT
            assert learned.ranker is not None
            assert reranker_store(store, ODD).load().verdict is None


# where the copy goes on
