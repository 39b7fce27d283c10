"""The SQLite store in use: cached vectors, the log of recalls, several processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.sql.scope import ALL, Gate, KeptRows
from fivefold.stores.sqlite import vector_cache, vectors
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.store import SqliteStore
from tests.support.toy_engine import Toy, toy

pytestmark = pytest.mark.slow


def test_memory_and_vec0_give_the_same_neighbours(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    with toy(store_path) as engine:
        engine.remember_many([" ".join(map(str, chance.integers(0, 99, 8))) for _ in range(300)])
        store = engine.store
        assert isinstance(store, SqliteStore)
        space = store.reader("default").search.vector_space()
        assert space is not None
        some = KeptRows(np.arange(1, 300, 7), SQLITE)
        for keep in (ALL, Gate(("fact",)), Gate(("event", "preference")), Gate(rows=some), Gate(("fact",), some)):
            for text in ("12 50 7", "hello"):
                question = Toy().embed([text])[0]
                with store.connections.reader() as connection:
                    by_vec0 = vectors.knn(connection, space, "full", question, 20, keep)
                    in_memory = store.vector_cache.search(connection, space, "full", question, 20, keep)
                assert [hit.score for hit in by_vec0] == pytest.approx([hit.score for hit in in_memory], abs=1e-5)


def test_a_large_namespace_is_held_from_its_second_recall(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "SMALL_SIZE", 5)
    with toy(store_path) as engine:
        engine.remember_many([f"text number {i}" for i in range(20)])
        assert isinstance(engine.store, SqliteStore)
        first = [round(hit.candidate.evidence[0].score, 5) for hit in engine.recall("text number 7", recipe="dense")]
        assert (1, "full") not in engine.store.vector_cache._cached
        second = [round(hit.candidate.evidence[0].score, 5) for hit in engine.recall("text number 7", recipe="dense")]
        assert (1, "full") in engine.store.vector_cache._cached
        assert first == second


def test_memory_over_the_budget_is_let_go(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "CACHE_BYTES", 16 * 4 * 30)
    with toy(store_path, "a") as a:
        assert isinstance(a.store, SqliteStore)
        b = Engine(a.store, "b", Toy())
        for engine in (a, b):
            engine.remember_many([f"text number {i}" for i in range(20)])
            engine.recall("text", recipe="dense")
        assert [field for _, field in a.store.vector_cache._cached].count("full") == 1
        assert len(a.recall("text number 3")) == 10


def test_what_another_process_writes_is_seen_at_once(store_path: str) -> None:
    def elsewhere(code: str) -> None:
        script = f"from tests.support.toy_engine import toy\nengine = toy({store_path!r})\n{code}\nengine.close()"
        subprocess.run([sys.executable, "-c", script], check=True)

    with toy(store_path) as engine:
        engine.remember_many([f"text number {i}" for i in range(5)], progress=False)
        assert len(engine.recall("text number", k=50, recipe="dense")) == 5
        elsewhere("engine.remember('text number five', id='new')")
        assert "new" in {hit.memory.id for hit in engine.recall("text number", k=50, recipe="dense")}
        elsewhere("engine.update('new', content='quite different words', type='preference')")
        changed = engine.recall("quite different words", recipe="dense")[0].memory
        assert (changed.id, changed.type) == ("new", "preference")
        elsewhere("engine.forget('new')")
        assert "new" not in {hit.memory.id for hit in engine.recall("text number", k=50, recipe="dense")}


# the log of recalls


def test_recalls_are_logged_and_the_log_is_bounded(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.stores.sql.feedback.MAX_LOGGED_RECALLS", 100)
    with toy(store_path) as engine:
        kept = engine.remember("the one memory").id
        first = engine.recall("one memory")
        engine.feedback(first, used=[kept])
        for _ in range(500):
            engine.recall("memory")
        assert engine.stats().recalls <= 110
        assert engine.stats().feedback == 1
        engine.feedback(first.id, used=[kept])


def test_a_recall_does_not_wait_for_a_writer(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("readable while another writes")
        other = connect(store_path)
        other.execute("BEGIN IMMEDIATE")
        for _ in range(70):
            answer = engine.recall("readable")
            assert answer[0].memory.content == "readable while another writes"
        assert engine.store.reader("default").feedback.returned_ids(answer.id) == (answer[0].memory.id,)
        other.execute("ROLLBACK")
        other.close()
        assert engine.stats().recalls == 70


# what a review brought to light


def test_the_doctor_is_right_after_writes_and_recalls(store_path: str) -> None:
    with toy(store_path) as engine:
        for i in range(5):
            engine.remember(f"note number {i}")
            engine.recall("note")
            assert all(finding.ok for finding in engine.doctor())


def test_a_relative_path_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with toy("rel.db") as engine:
        engine.remember("still here")
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert len(engine.recall("here")) == 1
    assert not (tmp_path / "elsewhere" / "rel.db").exists()


def test_a_store_is_private(store_path: str) -> None:
    toy(store_path).close()
    assert os.stat(store_path).st_mode & 0o077 == 0


@pytest.mark.parametrize("end", ["", "-wal"])
def test_an_export_does_not_overwrite_the_store(store_path: str, end: str) -> None:
    with toy(store_path) as engine:
        engine.remember("precious")
        with pytest.raises(fivefold.InvalidInput, match="is the store itself"):
            engine.export_jsonl(store_path + end)
        assert engine.stats().memories == 1


def test_an_engine_of_before_a_fork_says_so(store_path: str) -> None:
    script = (
        "import os, sys, fivefold\nfrom tests.support.toy_engine import toy\n"
        f"engine = toy({store_path!r})\nengine.remember('before')\npid = os.fork()\n"
        "if pid:\n    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "try:\n    engine.recall('before')\nexcept fivefold.StoreClosed as error:\n"
        "    os._exit(0 if 'forked' in str(error) else 1)\nos._exit(2)"
    )
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=False, timeout=60)
    assert ran.returncode == 0


def test_many_threads_may_share_an_engine(store_path: str) -> None:
    """Writers, readers, forgetters and doctors at once: no error, no doubled evidence, nothing lost."""
    errors: list[BaseException] = []
    kept: list[str] = []

    def work(number: int, engine: Engine) -> None:
        try:
            for i in range(25):
                id = engine.remember(f"thread {number} wrote {i}", session_id=f"s{number}").id
                for hit in engine.recall(f"thread {number}", k=20):
                    routes = [item.route for item in hit.candidate.evidence]
                    assert len(routes) == len(set(routes))
                if i % 5 == 0:
                    engine.forget(id)
                elif i % 5 == 1:
                    kept.append(engine.update(id, content=f"thread {number} changed {i}").id)
                else:
                    kept.append(id)
            engine.doctor()
        except BaseException as error:
            errors.append(error)

    with toy(store_path) as engine:
        threads = [threading.Thread(target=work, args=(number, engine)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert {engine.get(id).id for id in kept} == set(kept)
        assert all(finding.ok for finding in engine.doctor())


def test_closing_under_load_says_closed_and_nothing_else(store_path: str) -> None:
    engine = toy(store_path)
    engine.remember_many([f"text number {i}" for i in range(50)])
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(500):
                engine.recall("text")
        except fivefold.StoreClosed:
            return
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    engine.close()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("factor", [np.nan, 0, 1e20, 1e-30], ids=str)
def test_vectors_without_a_length_are_refused(store_path: str, factor: float) -> None:
    """The length of a very long vector is infinite, and divided by it the vector would be zeros."""

    class Broken(Toy):
        def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
            return super().embed(texts) * np.float32(factor)

    with fivefold.open(store_path, embedder=Broken()) as engine:
        with pytest.raises(fivefold.EmbedderError, match="zero, too long or has no numbers"):
            engine.remember("nothing to measure by")
        assert engine.stats().memories == 0


def test_vectors_of_any_length_are_brought_to_one(store_path: str) -> None:
    class Long(Toy):
        def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
            return super().embed(texts) * np.float32(7)

    with fivefold.open(store_path, embedder=Long()) as engine:
        engine.remember("the very same words")
        score = engine.recall("the very same words", recipe="dense")[0].candidate.evidence[0].score
        assert 0 < score <= 1.0001


@pytest.mark.parametrize("location", [5, b"bytes.db", "a\x00b", "\ud800.db", ""])
def test_a_location_that_is_none_is_a_clear_error(location: object) -> None:
    with pytest.raises(fivefold.InvalidInput):
        fivefold.open(location)  # type: ignore[arg-type]


def test_a_wrong_name_creates_no_file(store_path: str) -> None:
    for wrong in ({"embedder": "nope"}, {"extractor": "nope"}, {"embedder": object()}, {"namespace": ""}):
        with pytest.raises(fivefold.InvalidInput):
            fivefold.open(store_path, **wrong)
    assert not Path(store_path).exists()
