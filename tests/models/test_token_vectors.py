"""Token vectors in four bits: near the originals, and matched without unpacking one by one."""

from __future__ import annotations

import numpy as np
import pytest

from fivefold.models.token_vectors import BLOCK, best_matches, pack, packed_size, similarities, unpack
from fivefold.values.vectors import Matrix

DIMENSION = 64


def unit_rows(count: int, seed: int = 0) -> Matrix:
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_a_token_takes_four_bits_a_dimension_and_one_byte() -> None:
    assert packed_size(DIMENSION) == 33
    assert len(pack(unit_rows(5))) == 5 * 33


def test_what_is_unpacked_is_near_what_was_packed() -> None:
    rows = unit_rows(500)
    again = unpack(pack(rows), DIMENSION)
    assert ((rows * again).sum(axis=1) / np.linalg.norm(again, axis=1)).min() > 0.985
    assert np.abs(rows - again).max() < 0.06


@pytest.mark.parametrize("row", [np.zeros(DIMENSION), np.eye(DIMENSION)[3], -np.eye(DIMENSION)[40]])
def test_extreme_rows_survive(row: Matrix) -> None:
    rows = row[None].astype(np.float32)
    assert np.allclose(unpack(pack(rows), DIMENSION), rows, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_similarities_are_those_of_the_unpacked_vectors(count: int) -> None:
    packed, question = pack(unit_rows(count)), unit_rows(9, seed=1)
    expected = unpack(packed, DIMENSION) @ question.T
    assert np.allclose(similarities(question, packed), expected, atol=1e-5)


def test_each_passage_has_its_own_best_matches() -> None:
    question = unit_rows(6, seed=2)
    passages = [unit_rows(count, seed=count) for count in (4, 1, 30)]
    packed = [pack(rows) for rows in passages]
    expected = [(unpack(one, DIMENSION) @ question.T).max(axis=0) for one in packed]
    assert np.allclose(best_matches(question, packed), expected, atol=1e-5)


def test_a_passage_without_tokens_matches_nothing() -> None:
    question, filled = unit_rows(3), pack(unit_rows(7, seed=3))
    found = best_matches(question, [b"", filled, b""])
    assert not found[0].any()
    assert not found[2].any()
    assert np.allclose(found[1], best_matches(question, [filled])[0])
    assert best_matches(question, []).shape == (0, 3)
    assert not best_matches(question, [b""]).any()
