"""An exact scan of vectors cached in memory that reads a quarter of them.

Every vector is kept as it is and as one byte a dimension. The bytes give each score to within a bound known for
that vector; only those that may still be among the nearest are scored in full. Nothing is approximate in the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from threading import Thread
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import simsimd

from fivefold.values.vectors import Vector, products

MAX_PLAIN = 4_096
"""Up to this many vectors one plain product is as fast."""

MIN_SHARED = 65_536
"""From this many codes on, two threads read a half each."""

MIN_BLOCK, MAX_BLOCK = 8, 64
"""Scores of which the best is looked at first, if the best of many are wanted."""

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays side by side. There is room for more behind those in use, which takes no memory yet."""

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(getattr(self, column.name) for column in fields(self))

    def first(self, size: int) -> Self:
        return type(self)(*(array[:size] for array in self.columns()))

    def grown(self, used: int, room: int) -> Self:
        larger = type(self)(*(np.empty((room, *array.shape[1:]), array.dtype) for array in self.columns()))
        for new, old in zip(larger.columns(), self.columns(), strict=True):
            new[:used] = old[:used]
        return larger

    def _put(self, start: int, columns: Sequence[npt.NDArray[Any]]) -> None:
        for array, values in zip(self.columns(), columns, strict=True):
            array[start : start + len(values)] = values


@dataclass(frozen=True, slots=True)
class Arrays(Columns):
    """Vectors: ids, memories and types; the floats; their bytes with scale and greatest error; parts."""

    ids: Rows
    memories: Rows
    types: npt.NDArray[np.int8]
    matrix: Floats
    codes: npt.NDArray[np.int8]
    scales: Floats
    errors: Floats
    parts: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, room: int, dimension: int) -> Self:
        kinds = (np.int64, np.int64, np.int8, np.float32, np.int8, np.float32, np.float32, np.int32)
        arrays: list[Any] = [np.empty((room, dimension) if i in (3, 4) else room, kind) for i, kind in enumerate(kinds)]
        return cls(*arrays)

    def only(self, positions: Rows) -> Arrays:
        return Arrays(*(array[positions] for array in self.columns()))

    def put(self, start: int, ids: Rows, memories: Rows, types: Rows, matrix: Floats, parts: Rows) -> None:
        self._put(start, (ids, memories, types, matrix, *coded(matrix), parts))


def coded(matrix: Floats) -> tuple[npt.NDArray[np.int8], Floats, Floats]:
    """Each row as whole numbers of −127..127 times a scale, and how far that is from the row."""
    scales = np.maximum(np.abs(matrix).max(axis=1), np.float32(1e-12)) / np.float32(127)
    codes = np.rint(matrix / scales[:, None]).astype(np.int8)
    errors = np.linalg.norm(matrix - codes * scales[:, None], axis=1)
    return codes, scales.astype(np.float32), errors.astype(np.float32)


def closest(arrays: Arrays, vector: Vector, depth: int, positions: Rows | None = None) -> tuple[Rows, Floats]:
    """Positions of the `depth` vectors with the greatest product, ties by memory and part, and their products.

    Only those at `positions` count. Products of equal vectors may differ in the last bit by position, so ties are
    decided by six digits.
    """
    if (len(arrays.ids) if positions is None else len(positions)) > MAX_PLAIN:
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
    scores = products(matrix, vector)
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
    out = np.empty(len(codes), np.float32)

    def multiply(start: int, end: int) -> None:
        out[start:end] = np.asarray(simsimd.cdist(code, codes[start:end], "dot"))[0]

    _in_halves(multiply, len(codes), MIN_SHARED)
    return out


def _in_halves(work: Callable[[int, int], None], size: int, alone: int) -> None:
    """Two threads take a half each of what is longer than `alone`: what they do is mostly reading memory."""
    middle = size // 2 if size > alone else size
    other = Thread(target=work, args=(middle, size)) if middle < size else None
    if other:
        other.start()
    work(0, middle)
    if other:
        other.join()


def _least_of_best(scores: Floats, depth: int) -> np.float32:
    """The score of the `depth`-th best, at least that of the `depth`-th best among the best of each block."""
    size = min(MAX_BLOCK, len(scores) // (4 * depth))
    if size >= MIN_BLOCK:
        blocks = len(scores) // size
        best = scores[: blocks * size].reshape(blocks, size).max(axis=1)
        scores = scores[scores >= np.partition(best, blocks - depth)[blocks - depth]]
    least: np.float32 = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    return least


# A scan of very many vectors by short codes, in three steps. The signs of all vectors, a bit a dimension, leave one in
# twenty-five; codes of one byte a dimension leave a few more than are wanted; these are read from the file and scored
# in full. The first step alone may lose a near vector.

SHARE = 25
"""Of this many vectors one passes the comparison of signs."""

MIN_SIGNED = 16_384
"""Up to this many vectors are compared by their codes, without the signs."""

SAMPLE_SIZE = 16_384
"""Distances that are looked at to find the limit for all."""

DEVIATIONS = 6
"""By how many standard deviations of its error a score by codes may be too low."""


@dataclass(frozen=True, slots=True)
class CodeArrays(Columns):
    """Codes in the order of ids."""

    ids: Rows
    memories: Rows
    parts: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    codes: npt.NDArray[np.int8]
    signs: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, room: int, dimension: int) -> Self:
        arrays: list[Any] = [np.empty(room, kind) for kind in (np.int64, np.int64, np.int32, np.int8, np.float32)]
        arrays += [np.empty((room, dimension), np.int8), np.empty((room, -(-dimension // 8)), np.uint8)]
        return cls(*arrays)

    @classmethod
    def bytes_each(cls, dimension: int) -> int:
        return sum(array.nbytes for array in cls.empty(1, dimension).columns())

    def put(self, start: int, *columns: npt.NDArray[Any]) -> None:
        """Ids, memories, parts, types, scales and codes; the signs are read off the codes."""
        self._put(start, (*columns, np.packbits(columns[-1] > 0, axis=1)))

    def erase(self, positions: Rows) -> None:
        """A vector that was removed keeps its place; nothing finds it."""
        for array in (self.memories, self.codes, self.signs):
            array[positions] = 0


def likely_nearest(arrays: CodeArrays, vector: Vector, depth: int, positions: Rows | None = None) -> Rows:
    """Positions of the vectors that may be among the `depth` nearest; only those at `positions` count."""
    code, scale, _ = coded(vector[None, :])
    halves: list[tuple[Rows, Floats]] = []
    size = len(arrays.ids) if positions is None else len(positions)

    def score(start: int, end: int) -> None:
        part = slice(start, end) if positions is None else positions[start:end]
        halves.append(_scored(arrays, part, code, max(MIN_SIGNED // 2, depth, (end - start) // SHARE)))

    _in_halves(score, size, 4 * MIN_SIGNED)
    assert len(halves) == 1 + (size > 4 * MIN_SIGNED), "both halves were scored"
    found, scores = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    return _best(found, scores * scale[0], depth, math.hypot(float(arrays.scales[found].max(initial=0.0)), scale[0]))


def _scored(arrays: CodeArrays, part: slice | Rows, code: npt.NDArray[np.int8], wanted: int) -> tuple[Rows, Floats]:
    """About `wanted` vectors of a part by their signs, and their scores by their codes but for the question's scale."""
    places = np.arange(part.start, part.stop) if isinstance(part, slice) else part
    if len(places) > 2 * wanted:
        signs = arrays.signs[part] if isinstance(part, slice) else arrays.signs.take(part, axis=0)
        places = places[_by_signs(signs, np.packbits(code > 0, axis=1), wanted)]
    if not len(places):
        return places, np.empty(0, np.float32)
    products = np.asarray(simsimd.cdist(code, arrays.codes.take(places, axis=0), "dot"), dtype=np.float32)[0]
    return places, products * arrays.scales[places]


def _by_signs(signs: npt.NDArray[np.uint8], sign: npt.NDArray[np.uint8], wanted: int) -> Rows:
    """About `wanted` vectors with the most signs in common, by a limit that a sample of the distances gives."""
    counts = simsimd.cdist(sign, signs, "hamming", dtype="bin8", out_dtype="uint32")  # type: ignore[arg-type]
    distances = np.asarray(counts)[0]
    sample = distances[:: max(1, len(distances) // SAMPLE_SIZE) | 1]
    place = min(len(sample) - 1, wanted * len(sample) // len(distances))
    near: Rows = np.flatnonzero(distances <= np.partition(sample, place)[place])
    if not wanted // 2 <= len(near) <= 4 * wanted:  # the sample was not like the rest
        near = np.sort(np.argpartition(distances, wanted - 1)[:wanted])
    return near


def _best(places: Rows, scores: Floats, depth: int, scale: float) -> Rows:
    """The best by their codes, and those whose score may be too low by the error of a code."""
    if len(places) <= depth:
        return places
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    near = np.flatnonzero(scores >= least - DEVIATIONS * scale / math.sqrt(12))
    if len(near) > 4 * depth:  # very many alike
        near = near[np.argsort(-scores[near], kind="stable")[: 4 * depth]]
    best: Rows = places[near]
    return best
