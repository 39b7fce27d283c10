"""A scan of very many vectors by short codes, in three steps.

The signs of all vectors, a bit a dimension, leave one in twenty-five; codes of one byte a dimension leave a few more
than are wanted; these are read from the file and scored in full. The first step alone may lose a near vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import simsimd

from fivefold.stores.sqlite.scan import Floats, Rows, coded
from fivefold.values.vectors import Vector

SHARE = 25
"""Of this many vectors one passes the comparison of signs."""

LEAST = 16_384
"""Up to this many vectors are compared by their codes, without the signs."""

SAMPLE = 16_384
"""Distances that are looked at to find the limit for all."""

DEVIATIONS = 6
"""By how many standard deviations of its error a score by codes may be too low."""


@dataclass(frozen=True, slots=True)
class CodeArrays:
    """Codes side by side in the order of ids. There is room for more behind those in use, which takes no memory yet."""

    ids: Rows
    memories: Rows
    parts: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    codes: npt.NDArray[np.int8]
    signs: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, room: int, dimension: int) -> CodeArrays:
        return cls(
            np.empty(room, np.int64),
            np.empty(room, np.int64),
            np.empty(room, np.int32),
            np.empty(room, np.int8),
            np.empty(room, np.float32),
            np.empty((room, dimension), np.int8),
            np.empty((room, -(-dimension // 8)), np.uint8),
        )

    @classmethod
    def bytes_each(cls, dimension: int) -> int:
        return sum(array.nbytes for array in cls.empty(1, dimension).columns())

    def first(self, size: int) -> CodeArrays:
        return CodeArrays(*(array[:size] for array in self.columns()))

    def grown(self, used: int, room: int) -> CodeArrays:
        larger = CodeArrays.empty(room, self.codes.shape[1])
        for new, old in zip(larger.columns(), self.columns(), strict=True):
            new[:used] = old[:used]
        return larger

    def put(self, start: int, *columns: npt.NDArray[Any]) -> None:
        """Ids, memories, parts, types, scales and codes; the signs are read off the codes."""
        codes = columns[-1]
        for array, values in zip(self.columns(), (*columns, np.packbits(codes > 0, axis=1)), strict=True):
            array[start : start + len(codes)] = values

    def erase(self, positions: Rows) -> None:
        """A vector that was removed keeps its place; nothing finds it."""
        for array in (self.memories, self.codes, self.signs):
            array[positions] = 0

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(getattr(self, column.name) for column in fields(self))


def likely_nearest(arrays: CodeArrays, vector: Vector, depth: int, positions: Rows | None = None) -> Rows:
    """Where the vectors stand that may be among the `depth` nearest; only those at `positions` count.

    Two threads take a half each: what they do is mostly reading memory.
    """
    code, scale, _ = coded(vector[None, :])
    halves: list[tuple[Rows, Floats]] = []
    size = len(arrays.ids) if positions is None else len(positions)
    middle = size // 2 if size > 4 * LEAST else size

    def score(start: int, end: int) -> None:
        part = slice(start, end) if positions is None else positions[start:end]
        halves.append(_scored(arrays, part, code, max(LEAST // 2, depth, (end - start) // SHARE)))

    other = Thread(target=score, args=(middle, size)) if middle < size else None
    if other:
        other.start()
    score(0, middle)
    if other:
        other.join()
        assert len(halves) == 2, "both halves were scored"
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
    sample = distances[:: max(1, len(distances) // SAMPLE) | 1]
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
