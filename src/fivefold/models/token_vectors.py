"""Token vectors as they are stored: four bits a dimension and one byte for the scale of each token.

Each byte has the code of a dimension of the first half in its low bits and one of the second half in its high bits,
so that a matrix product over many tokens needs two masks and no shuffling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fivefold.values.vectors import Matrix

LEVELS = 7
"""Codes go from −7 to 7."""

BLOCK = 1_024
"""Tokens that are unpacked at once at most: few enough to stay in the processor's cache."""

PRODUCT = 250_000
"""Multiplications of one matrix product. Larger ones are shared among threads, which take longer to wake up."""

_ZERO = 8
"""What is added to a code, so that four bits without a sign hold it."""


def packed_size(dimension: int) -> int:
    """Bytes of one token."""
    return dimension // 2 + 1


def pack(vectors: Matrix) -> bytes:
    """The rows of a matrix of unit vectors, one after the other."""
    largest = np.abs(vectors).max(axis=1, keepdims=True) if len(vectors) else np.ones((0, 1), np.float32)
    scales = np.clip(np.ceil(largest * 255), 1, 255)
    codes = np.rint(vectors * (255 * LEVELS / scales)).astype(np.int8) + _ZERO
    half = vectors.shape[1] // 2
    rows = np.empty((len(vectors), half + 1), dtype=np.uint8)
    rows[:, :half] = codes[:, :half] | (codes[:, half:] << 4)
    rows[:, half] = scales[:, 0]
    return rows.tobytes()


def unpack(packed: bytes, dimension: int) -> Matrix:
    """The vectors again, as near as four bits come."""
    rows = _rows(packed, dimension)
    codes = rows[:, :-1].astype(np.float32)
    both: Matrix = np.concatenate((codes % 16, codes // 16), axis=1)
    return (both - np.float32(_ZERO)) * _scales(rows)


def best_matches(question: Matrix, passages: Sequence[bytes]) -> Matrix:
    """For each passage, a row: how near each token of the question comes to a token of the passage at best.

    A passage without tokens has zeros.
    """
    size = packed_size(question.shape[1])
    best = np.zeros((len(passages), len(question)), dtype=np.float32)
    sizes = np.array([len(packed) for packed in passages], dtype=np.int64)
    filled = np.flatnonzero(sizes)
    if len(filled):
        starts = (np.cumsum(sizes[filled]) - sizes[filled]) // size
        best[filled] = np.maximum.reduceat(similarities(question, b"".join(passages)), starts, axis=0)
    return best


def similarities(question: Matrix, packed: bytes) -> Matrix:
    """One row for each token that is packed, one column for each token of the question."""
    rows = _rows(packed, question.shape[1])
    half = question.shape[1] // 2
    scores = np.empty((len(rows), len(question)), dtype=np.float32)
    turned = np.ascontiguousarray(question.T)
    size = max(1, min(BLOCK, PRODUCT // max(1, turned.size)))
    codes = np.empty((min(size, len(rows)), 2 * half), dtype=np.float32)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        some = codes[: len(block)]
        np.bitwise_and(block[:, :half], 15, out=some[:, :half], casting="unsafe")
        np.right_shift(block[:, :half], 4, out=some[:, half:], casting="unsafe")
        np.matmul(some, turned, out=scores[start : start + len(block)])
    scores -= np.float32(_ZERO) * question.sum(axis=1)
    scores *= _scales(rows)
    return scores


def _rows(packed: bytes, dimension: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, packed_size(dimension))


def _scales(rows: npt.NDArray[np.uint8]) -> Matrix:
    return rows[:, -1:].astype(np.float32) / np.float32(255 * LEVELS)
