"""Embedders for tests: one that costs nothing and is the same everywhere, one that never works twice."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fivefold.models.embedders import Embedder, Matrix, Progress, pack, unit
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span, Vector

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


class WordTokens(WordVectors):
    """Word vectors, and a token vector for each word of a passage and of what was said before it."""

    width = 16

    def __init__(self, dimension: int = 32) -> None:
        super().__init__(dimension)
        self.pin = f"word-tokens-{dimension}@1"

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        return [
            Reading(self._vector(passage), pack(self._tokens(passage.text, passage.before))) for passage in passages
        ]

    def read_question(self, question: str) -> QuestionReading:
        tokens = self._tokens(question, "")
        weights = np.full(len(tokens), 1 / max(1, len(tokens)), dtype=np.float32)
        spans = tuple(found.span() for found in _TOKEN.finditer(question))
        return QuestionReading(self.embed([question])[0], tokens, weights, spans)

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        texts = ((passage.text, False), (passage.before, True))
        return [(found.span(), before) for text, before in texts for found in _TOKEN.finditer(text)]

    def _vector(self, passage: Passage) -> Vector:
        """That of the text, a little nearer to what was said before."""
        own, before = self.embed([passage.text, passage.before])
        vector: Vector = unit((own + 0.1 * before)[None])[0] if passage.before else own
        return vector

    def _tokens(self, *texts: str) -> Matrix:
        words = [_direction(word, self.width) for text in texts for word in _TOKEN.findall(text)]
        return np.stack(words) if words else np.empty((0, self.width), dtype=np.float32)


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
