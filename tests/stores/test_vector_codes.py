"""A namespace with very many vectors is searched by codes: signs, bytes, then the vectors themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.records import VectorSpace
from fivefold.stores.sql.scope import ALL, Gate, KeptRows
from fivefold.stores.sqlite import codes, scan, vector_cache
from fivefold.stores.sqlite.codes import CodedVectors
from fivefold.stores.sqlite.connection import connect, number
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.stores.sqlite.scan import coded
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.sqlite.vectors import knn
from fivefold.transfer.migrate import migrate
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import Matrix, Vector

EXACT = 100
COUNT = 300


class Clusters:
    """Vectors around a few directions, drawn by the text, in 64 dimensions."""

    pin = "clusters@1"
    dimension = 64

    def embed(self, texts: Sequence[str], progress: object = None) -> Matrix:
        return np.stack(
            [self.vector(re.sub(r"^.*\d{4}\)?:? ", "", text)) for text in texts]
        )  # without speaker and date

    def vector(self, text: str) -> Vector:
        chance = np.random.default_rng(crc32(text.encode()))
        centre = np.random.default_rng(crc32(text.encode()) % 7).standard_normal(64)
        moved = centre + 0.5 * chance.standard_normal(64)
        return np.asarray(moved / np.linalg.norm(moved), dtype=np.float32)


def opened(path: str) -> Engine:
    return fivefold.open(path, embedder=Clusters())


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "EXACT_BYTES", 4 * 64 * EXACT)
    monkeypatch.setattr(codes, "BLOCK", 32)
    monkeypatch.setattr(codes, "CHECK_STEP", 8)
    monkeypatch.setattr(scan, "MIN_SIGNED", 64)
    monkeypatch.setattr(scan, "SHARE", 4)


@pytest.fixture
def engine(store_path: str, small_limits: None) -> Iterator[Engine]:
    with opened(store_path) as engine:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many([{"content": f"text number {i}", "id": f"m{i}"} for i in range(COUNT)])
        yield engine


def store_of(engine: Engine) -> SqliteStore:
    assert isinstance(engine.store, SqliteStore)
    return engine.store


def space_of(engine: Engine) -> VectorSpace:
    space = engine.store.reader("default").search.vector_space()
    assert space is not None
    return space


def by_codes(engine: Engine, text: str, depth: int = 10, keep: Gate = ALL) -> list[RouteHit]:
    store, space = store_of(engine), space_of(engine)
    with store.connections.reader() as connection:
        hits = store.vector_cache.search(connection, space, "full", Clusters().vector(text), depth, keep)
    assert isinstance(store.vector_cache._cached[space.key, "full"], CodedVectors)
    return hits


def by_scan(engine: Engine, text: str, depth: int = 10, keep: Gate = ALL) -> list[RouteHit]:
    store, space = store_of(engine), space_of(engine)
    with store.connections.reader() as connection:
        return knn(connection, space, "full", Clusters().vector(text), depth, keep)


def rounded(hits: Sequence[RouteHit]) -> list[tuple[int, float]]:
    return [(hit.row, round(hit.score, 4)) for hit in hits]


def count(engine: Engine, sql: str) -> int:
    with store_of(engine).connections.reader() as connection:
        return number(connection, sql) or 0


def found_share(engine: Engine, keep: Gate = ALL) -> float:
    """How many of the true ten nearest are found, over some questions."""
    shares = []
    for i in range(20):
        nearest = {hit.row for hit in by_scan(engine, f"question {i}", keep=keep)}
        found = {hit.row for hit in by_codes(engine, f"question {i}", keep=keep)}
        assert len(found) == len(nearest)
        shares.append(len(found & nearest) / len(nearest))
    return sum(shares) / len(shares)


def test_a_large_namespace_is_searched_by_codes(engine: Engine) -> None:
    assert found_share(engine) >= 0.95
    assert count(engine, "SELECT count(*) FROM code_blocks") == COUNT // 32


def test_scores_are_those_of_the_vectors(engine: Engine) -> None:
    exact = dict(rounded(by_scan(engine, "question 1", COUNT)))
    hits = rounded(by_codes(engine, "question 1"))
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
    assert all(exact[row] == score for row, score in hits)


def test_among_few_the_codes_find_exactly_what_a_scan_finds(engine: Engine) -> None:
    some = KeptRows(np.arange(1, COUNT, 9), SQLITE)
    for keep in (Gate(rows=some), Gate(("event",)), Gate(("fact",), some)):
        assert rounded(by_codes(engine, "question 2", keep=keep)) == rounded(by_scan(engine, "question 2", keep=keep))


def test_a_filter_leaves_as_many_as_pass_it(engine: Engine) -> None:
    half = Gate(rows=KeptRows(np.arange(1, COUNT, 2), SQLITE))
    assert found_share(engine, half) >= 0.95
    assert all(hit.row % 2 for hit in by_codes(engine, "question 2", keep=half))
    assert len(by_codes(engine, "question 2", 100, keep=half)) == 100


def test_what_is_written_later_is_found_at_once(engine: Engine) -> None:
    by_codes(engine, "question")
    for i in range(40):
        engine.remember(f"later text {i}", id=f"later{i}")
        assert by_codes(engine, f"later text {i}", 1)[0].score == pytest.approx(1.0, abs=1e-5)
    assert count(engine, "SELECT count(*) FROM code_blocks") > COUNT // 32


def test_what_is_forgotten_is_not_found_and_others_still_are(engine: Engine) -> None:
    (gone,) = by_codes(engine, "text number 7", 1)
    engine.forget("m7")
    assert gone.row not in {hit.row for hit in by_codes(engine, "text number 7", 50)}
    assert found_share(engine) >= 0.95
    assert count(engine, "SELECT count(*) FROM removed_vectors") == 1
    assert all(finding.ok for finding in engine.doctor())


def test_blocks_of_forgotten_vectors_shrink_and_go(engine: Engine) -> None:
    by_codes(engine, "question")
    size = count(engine, "SELECT sum(length(codes)) FROM code_blocks")
    for i in range(32):
        engine.forget(f"m{i}")
    assert count(engine, "SELECT sum(length(codes)) FROM code_blocks") <= size - 32 * 64
    assert found_share(engine) >= 0.95
    assert all(finding.ok for finding in engine.doctor())


def test_a_forgotten_vector_is_in_no_file(engine: Engine, store_path: str) -> None:
    vector = Clusters().vector("text number 7")
    code = coded(vector[None])[0].tobytes()
    store_of(engine).checkpoint()
    data = Path(store_path).read_bytes()
    assert code in data
    assert vector.tobytes() in data
    by_codes(engine, "question")
    engine.forget("m7")
    for path in Path(store_path).parent.iterdir():
        assert code not in path.read_bytes(), path
        assert vector.tobytes() not in path.read_bytes(), path


def test_a_deleted_namespace_leaves_no_codes(engine: Engine) -> None:
    by_codes(engine, "question")
    engine.store.delete_namespace("default")
    assert count(engine, "SELECT count(*) FROM code_blocks") == 0


def test_what_another_process_does_is_seen_at_the_next_search(engine: Engine, store_path: str) -> None:
    by_codes(engine, "question")
    (gone,) = by_codes(engine, "text number 9", 1)
    with opened(store_path) as other:  # with connections and caches of its own, as another process has
        other.remember("from elsewhere", id="new")
        other.forget("m9")
    assert by_codes(engine, "from elsewhere", 1)[0].score == pytest.approx(1.0, abs=1e-5)
    assert gone.row not in {hit.row for hit in by_codes(engine, "text number 9", 50)}


def test_a_process_that_missed_many_removals_reads_the_codes_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "MIN_LOGGED", 4)
    by_codes(engine, "question")
    for i in range(10):
        engine.forget(f"m{i}")
    assert count(engine, "SELECT count(*) FROM removed_vectors") < 10
    assert found_share(engine) >= 0.95


def test_the_doctor_finds_and_repairs_wrong_codes(engine: Engine, store_path: str) -> None:
    other = connect(store_path)
    other.execute("UPDATE code_blocks SET codes = zeroblob(length(codes)) WHERE key = 2")
    other.execute("DELETE FROM code_blocks WHERE key = 4")
    other.close()
    assert [finding.check for finding in engine.doctor() if not finding.ok] == ["vector codes"]
    engine.doctor(repair=True)
    assert all(finding.ok for finding in engine.doctor())
    assert count(engine, "SELECT count(*) FROM code_blocks") == COUNT // 32


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("not within ten seconds")


def test_without_codes_the_scan_answers_and_they_are_packed(
    engine: Engine, store_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MAX_UNCODED", 64)
    engine.configure(route_budget_ms=1)
    other = connect(store_path)
    other.execute("DELETE FROM code_blocks")
    other.close()
    first = engine.recall("text number 8", recipe="dense")
    run = next(run for run in first.routes if run.route == "dense")
    assert run.status == "hits"
    assert "the file is scanned" in run.reason
    wait_for(lambda: count(engine, "SELECT count(*) FROM code_blocks") == COUNT // 32)
    engine.configure(route_budget_ms=2_000)
    with opened(store_path) as other_engine:
        second, third = (other_engine.recall("text number 8", recipe="dense") for _ in range(2))
    assert first[0].memory.id == second[0].memory.id == "m8"
    said = [next(run.reason for run in one.routes if run.route == "dense") for one in (second, third)]
    assert f"the codes of {COUNT} vectors were read in " in said[0]
    assert "codes" not in said[1]


def test_a_copy_has_codes_too(engine: Engine, tmp_path: Path) -> None:
    target = str(tmp_path / "copy.db")
    migrate(store_of(engine).location, target)
    with opened(target) as copied:
        assert count(copied, "SELECT count(*) FROM code_blocks") == COUNT // 32
        assert rounded(by_codes(copied, "question 3"))[0][1] == rounded(by_codes(engine, "question 3"))[0][1]


def test_E8_the_scan_by_signs_of_a_million_like_text_finds_the_nearest() -> None:
    """The law at a small size: with enough kept by signs, the three steps find what one product finds."""
    chance = np.random.default_rng(4)
    centres = chance.standard_normal((40, 128))
    matrix = centres[chance.integers(40, size=20_001)] + 0.7 * chance.standard_normal((20_001, 128))
    rows_of_unit = np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), dtype=np.float32)
    question, unit_matrix = rows_of_unit[0], rows_of_unit[1:]
    codes, scales, _ = coded(unit_matrix)
    arrays = scan.CodeArrays.empty(len(unit_matrix), 128)
    rows = np.arange(len(unit_matrix))
    arrays.put(0, rows, rows, rows * 0, rows * 0, scales, codes)
    likely = scan.likely_nearest(arrays, question, 10)
    nearest = np.argsort(-(unit_matrix @ question))[:10]
    assert set(nearest) <= set(likely)
    assert len(likely) <= 40
