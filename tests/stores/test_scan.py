"""The scan is exact: bytes only decide what need not be looked at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.stores.sqlite import scan
from fivefold.stores.sqlite.scan import Arrays, closest, coded


def held(matrix: scan.Floats) -> Arrays:
    arrays = Arrays.empty(len(matrix), matrix.shape[1])
    rows = np.arange(len(matrix))
    arrays.put(0, rows, rows * 10, rows % 5, matrix, np.zeros(len(rows), np.int64))
    return arrays


def unit_rows(size: int, dimension: int, spread: float, seed: int) -> scan.Floats:
    """Rows around a few directions, so that many scores lie close together."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((5, dimension))
    rows = centres[chance.integers(5, size=size)] + spread * chance.standard_normal((size, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 400),
    dimension=st.sampled_from([16, 64, 384]),
    depth=st.integers(1, 50),
    spread=st.floats(0.0, 2.0),
    seed=st.integers(0, 10_000),
)
def test_the_scan_finds_exactly_the_nearest(size: int, dimension: int, depth: int, spread: float, seed: int) -> None:
    matrix = unit_rows(size + 1, dimension, spread, seed)
    question, matrix = matrix[0], matrix[1:]
    arrays = held(matrix)
    possible = scan._possible(arrays, question, depth)
    found, scores = closest(arrays, question, depth, possible)
    expected = np.sort(matrix @ question)[::-1][:depth]
    assert scores.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert (matrix[found] @ question).tolist() == pytest.approx(scores.tolist(), abs=1e-6)


@pytest.mark.slow
def test_few_of_many_are_scored_in_full() -> None:
    matrix = unit_rows(20_000, 384, 1.5, 7)
    possible = scan._possible(held(matrix), matrix[3], 100)
    assert 100 <= len(possible) < 4_000


def test_ties_break_by_memory() -> None:
    matrix = np.tile(np.eye(1, 16, dtype=np.float32), (6, 1))
    arrays = held(matrix)
    assert closest(arrays, matrix[0], 3)[0].tolist() == [0, 1, 2]
    backwards = arrays.only(np.arange(6)[::-1])
    assert backwards.memories[closest(backwards, matrix[0], 3)[0]].tolist() == [0, 10, 20]


def test_a_large_scan_takes_the_short_way_and_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = unit_rows(6_000, 64, 1.0, 3)
    arrays = held(matrix)
    short, _ = closest(arrays, matrix[9], 25)
    monkeypatch.setattr(scan, "MAX_PLAIN", 10_000)
    plain, _ = closest(arrays, matrix[9], 25)
    assert short.tolist() == plain.tolist()


def test_only_the_chosen_are_looked_at() -> None:
    matrix = unit_rows(100, 16, 1.0, 5)
    chosen = np.array([3, 50, 97])
    found, scores = closest(held(matrix), matrix[50], 2, chosen)
    assert found[0] == 50
    assert set(found.tolist()) < set(chosen.tolist())
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_of_many_that_are_chosen_the_short_way_agrees_too(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = unit_rows(9_000, 64, 1.0, 3)
    arrays, chosen = held(matrix), np.arange(1, 9_000, 2)
    short, _ = closest(arrays, matrix[9], 25, chosen)
    monkeypatch.setattr(scan, "MAX_PLAIN", 10_000)
    plain, _ = closest(arrays, matrix[9], 25, chosen)
    assert short.tolist() == plain.tolist()
    assert set(short.tolist()) <= set(chosen.tolist())


def test_the_error_is_what_the_bytes_leave_out() -> None:
    matrix = unit_rows(50, 384, 1.0, 1)
    codes, scales, errors = coded(matrix)
    rebuilt = codes * scales[:, None]
    assert np.linalg.norm(matrix - rebuilt, axis=1).tolist() == pytest.approx(errors.tolist(), abs=1e-6)
    assert float(errors.max()) < 0.02


def test_growing_and_dropping_keep_the_rest() -> None:
    matrix = unit_rows(10, 16, 1.0, 2)
    arrays = held(matrix).grown(10, 40).first(10).only(np.array([1, 4, 9]))
    assert arrays.memories.tolist() == [10, 40, 90]
    assert arrays.matrix.tolist() == matrix[[1, 4, 9]].tolist()
