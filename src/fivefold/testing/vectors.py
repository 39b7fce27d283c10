"""Embedders for tests: one that costs nothing and is the same everywhere, one that never works twice."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fivefold.models.embedders import Embedder, Matrix, Progress

_TOKEN = re.compile(r"\w+|[^\w\s]")


class WordVectors:
    """A text is the sum of its words, each a direction of its own by its hash.

    Two texts lie equally near a question only where they hold the same words, and then to the last bit: whichever way
    a store computes, it meets no two scores that differ by rounding alone.
    """

    def __init__(self, dimension: int = 32) -> None:
        self.pin = f"words-{dimension}@1"
        self.dimension = dimension

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        return np.stack([_direction(text, self.dimension) for text in texts]) if texts else np.empty((0, 0), np.float32)


class Embedded:
    """Another embedder's vectors, each batch computed once; every store gets the very same numbers."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._made: dict[tuple[str, ...], Matrix] = {}
        self.pin = model.pin
        self.dimension = model.dimension

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        batch = tuple(texts)
        if batch not in self._made:
            self._made[batch] = np.asarray(self._model.embed(batch), dtype=np.float32)
        return self._made[batch]


class Failing(WordVectors):
    """Fails after that many calls."""

    def __init__(self, after: int, dimension: int = 32) -> None:
        super().__init__(dimension)
        self.left = after

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("the model went away")
        return super().embed(texts, progress)


@lru_cache(maxsize=50_000)
def _direction(text: str, dimension: int) -> npt.NDArray[np.float32]:
    total = 0.1 * _word("", dimension)
    for word, count in sorted(Counter(_TOKEN.findall(text.casefold())).items()):
        total = total + count * _word(word, dimension)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


@lru_cache(maxsize=50_000)
def _word(word: str, dimension: int) -> npt.NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).normal(size=dimension)
