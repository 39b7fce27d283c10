"""An exact scan of vectors cached in memory that reads a quarter of them.

Every vector is kept as it is and as one byte a dimension. The bytes give each score to within a bound known for
that vector; only those that may still be among the nearest are scored in full. Nothing is approximate in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import simsimd

from fivefold.values.vectors import Vector

PLAIN = 4_096
"""Up to this many vectors one plain product is as fast."""

SHARED = 65_536
"""From this many codes on, two threads read a half each: what they do is mostly reading memory."""

BLOCK = 64
"""Scores of which the best is looked at first, where the best of very many are wanted."""

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrays:
    """Vectors side by side: ids, memories, parts and types; the floats; their bytes with scale and greatest error."""

    ids: Rows
    memories: Rows
    types: npt.NDArray[np.int8]
    matrix: Floats
    codes: npt.NDArray[np.int8]
    scales: Floats
    errors: Floats
    parts: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, size: int, dimension: int) -> Arrays:
        return cls(
            np.empty(size, np.int64),
            np.empty(size, np.int64),
            np.empty(size, np.int8),
            np.empty((size, dimension), np.float32),
            np.empty((size, dimension), np.int8),
            np.empty(size, np.float32),
            np.empty(size, np.float32),
            np.empty(size, np.int32),
        )

    def first(self, size: int) -> Arrays:
        return self._each(lambda array: array[:size])

    def only(self, positions: Rows) -> Arrays:
        return self._each(lambda array: array[positions])

    def grown(self, used: int, room: int) -> Arrays:
        larger = Arrays.empty(room, self.matrix.shape[1])
        for new, old in zip(larger._all(), self._all(), strict=True):
            new[:used] = old[:used]
        return larger

    def put(self, start: int, ids: Rows, memories: Rows, types: Rows, matrix: Floats, parts: Rows) -> None:
        columns: tuple[npt.NDArray[Any], ...] = (ids, memories, types, matrix, *coded(matrix), parts)
        for array, values in zip(self._all(), columns, strict=True):
            array[start : start + len(ids)] = values

    def _each(self, view: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Arrays:
        return Arrays(*map(view, self._all()))

    def _all(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.ids, self.memories, self.types, self.matrix, self.codes, self.scales, self.errors, self.parts)


def coded(matrix: Floats) -> tuple[npt.NDArray[np.int8], Floats, Floats]:
    """Each row as whole numbers of −127..127 times a scale, and how far that is from the row."""
    scales = np.maximum(np.abs(matrix).max(axis=1), np.float32(1e-12)) / np.float32(127)
    codes = np.rint(matrix / scales[:, None]).astype(np.int8)
    errors = np.linalg.norm(matrix - codes * scales[:, None], axis=1)
    return codes, scales.astype(np.float32), errors.astype(np.float32)


def closest(arrays: Arrays, vector: Vector, depth: int, positions: Rows | None = None) -> tuple[Rows, Floats]:
    """Where the `depth` vectors with the greatest product stand, ties by memory and part, and their products.

    Only those at `positions` count. Products of equal vectors may differ in the last bit by where they stand, so ties
    are decided by six digits.
    """
    if (len(arrays.ids) if positions is None else len(positions)) > PLAIN:
        positions = _possible(arrays, vector, depth, positions)
    if positions is not None:
        order, scores = nearest(
            arrays.matrix[positions], arrays.memories[positions], arrays.parts[positions], vector, depth
        )
        return positions[order], scores
    return nearest(arrays.matrix, arrays.memories, arrays.parts, vector, depth)


def nearest(
    matrix: Floats, memories: Rows, parts: npt.NDArray[np.int32], vector: Vector, depth: int
) -> tuple[Rows, Floats]:
    """By one plain product."""
    scores = matrix @ vector
    top = np.arange(len(scores))
    if len(scores) > depth:
        top = np.flatnonzero(scores >= _least_of_best(scores, depth) - np.float32(1e-6))
    order = top[np.lexsort((parts[top], memories[top], -np.round(scores[top], 6)))][:depth]
    return order, scores[order]


def _possible(arrays: Arrays, vector: Vector, depth: int, positions: Rows | None = None) -> Rows:
    """Rows whose score may be among the best, by Cauchy–Schwarz on what the bytes leave out.

    |x·q − x̂·q̂| ≤ |x − x̂|·|q| + |x̂|·|q − q̂|, and |x̂| ≤ 1 + |x − x̂| for unit vectors.
    """
    if len(arrays.ids if positions is None else positions) <= depth:
        return np.arange(len(arrays.ids)) if positions is None else positions
    codes, scales, errors = arrays.codes, arrays.scales, arrays.errors
    if positions is not None:
        codes, scales, errors = codes[positions], scales[positions], errors[positions]
    code, scale, error = (part[0] for part in coded(vector[None, :]))
    scores = _products(code[None, :], codes) * (scales * scale)
    slack = errors * np.float32(1 + error) + np.float32(error + 1e-5)
    floor = _least_of_best(scores - slack, depth)
    possible: Rows = np.flatnonzero(scores + slack >= floor)
    return possible if positions is None else positions[possible]


def _products(code: npt.NDArray[np.int8], codes: npt.NDArray[np.int8]) -> Floats:
    """The product of one code with each of the others."""
    out = np.empty(len(codes), np.float32)

    def multiply(part: slice) -> None:
        out[part] = np.asarray(simsimd.cdist(code, codes[part], "dot"))[0]

    middle = len(codes) // 2 if len(codes) > SHARED else len(codes)
    other = Thread(target=multiply, args=(slice(middle, None),)) if middle < len(codes) else None
    if other:
        other.start()
    multiply(slice(0, middle))
    if other:
        other.join()
    return out


def _least_of_best(scores: Floats, depth: int) -> np.float32:
    """The score of the `depth`-th best. It is no less than the `depth`-th best of the best of each block."""
    blocks = len(scores) // BLOCK
    if blocks > 2 * depth:
        best = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        scores = scores[scores >= np.partition(best, blocks - depth)[blocks - depth]]
    least: np.float32 = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    return least
