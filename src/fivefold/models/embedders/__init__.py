"""Embedders, chosen by a string.

`fivefold-minilm`, `minilm`, `wordllama`, `fastembed:NAME`, `sentence-transformers:NAME`, `openai:MODEL`,
or a name that an installed package registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError
from fivefold.values.registry import plugin_by_choice
from fivefold.values.validate import short_repr
from fivefold.values.vectors import MAX_PRODUCT, Passage, QuestionReading, Reading, Span
from fivefold.values.vectors import Matrix as Matrix

Progress = Callable[[int], None]
"""Called with the number of texts done since the last call."""


class Embedder(Protocol):
    """Construction is light; the model loads at the first call."""

    @property
    def pin(self) -> str:
        """Name and version, such as 'minilm@1.0.0', to which a namespace is pinned."""

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        """One unit vector a text, in order."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder whose one pass gives token vectors as well, for late interaction."""

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        """One reading for each passage, in order; the turn before is read too but is not part of the vector."""

    def read_question(self, question: str) -> QuestionReading:
        """The question's vector, and its tokens with their weights."""

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        """For each stored token its characters, and True if they belong to the text before."""


def unit(matrix: Matrix) -> Matrix:
    """Rows scaled to length one; an all-zero row stays as it is."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms == 0, 1, norms), dtype=np.float32)


DEFAULT = "fivefold-minilm"

RETIRED = {"fivefold-minilm@1": "fivefold-minilm", "fivefold-minilm@2": "fivefold-minilm"}
"""Models of earlier versions, and the choice that takes their place."""

_BUILTIN = {
    "fivefold-minilm": ("fivefold_minilm", "FivefoldMiniLM"),
    "minilm": ("packages", "MiniLM"),
    "wordllama": ("packages", "WordLlama"),
    "fastembed:NAME": ("packages", "FastEmbed"),
    "sentence-transformers:NAME": ("packages", "SentenceTransformers"),
    "openai:NAME": ("packages", "OpenAI"),
}

MAX_DIMENSION = 8_192
"""The most numbers that a vector of a SQLite store may have."""


@lru_cache(maxsize=8)
def embedder(choice: str) -> Embedder:
    """The embedder named `choice`. One object serves the whole process, so a model is loaded once."""
    family, _, model = choice.partition(":")
    if found := _BUILTIN.get(f"{family}:NAME" if model else family):
        kind: Callable[..., Embedder] = getattr(import_module(f"{__name__}.{found[0]}"), found[1])
        return kind(model) if model else kind()
    written = {name.partition(":")[0]: name for name in _BUILTIN}
    made: Embedder = plugin_by_choice("embedders", choice, written, Embedder)
    return made


def is_remote(choice: str) -> bool:
    """True if using this embedder sends texts to a server."""
    return choice.startswith("openai:")


def gives_tokens(model: Embedder) -> TypeGuard[TokenEmbedder]:
    """True if the embedder gives token vectors. Its properties are not looked at: some load the model."""
    return all(callable(getattr(model, name, None)) for name in ("read", "read_question", "spans"))


def embed_texts(model: Embedder, texts: Sequence[str]) -> Matrix:
    """One unit vector a text; an embedder that gives anything else fails with its name."""
    return _checked_vectors(model, model.embed(texts), len(texts))


def read_passages(model: Embedder, passages: Sequence[Passage]) -> list[Reading]:
    """One reading a passage. An embedder without token vectors reads only the text, not what was said before."""
    if not gives_tokens(model):
        texts = list(dict.fromkeys(passage.text for passage in passages))
        vector_of = dict(zip(texts, embed_texts(model, texts), strict=True)) if texts else {}
        return [Reading(vector_of[passage.text]) for passage in passages]
    readings = model.read(passages)
    if len(readings) != len(passages):
        raise EmbedderError(f"{model.pin} gave {len(readings)} readings for {len(passages)} passages")
    if not readings:
        return []
    vectors = _checked_vectors(model, [reading.vector for reading in readings], len(passages))
    return [Reading(vector, reading.tokens) for vector, reading in zip(vectors, readings, strict=True)]


def read_question(model: Embedder, text: str) -> QuestionReading:
    """The question's vector, and its tokens if the embedder gives any."""
    if not gives_tokens(model):
        nothing = np.empty(0, dtype=np.float32)
        return QuestionReading(embed_texts(model, [text])[0], nothing.reshape(0, 0), nothing, ())
    read = model.read_question(text)
    lengths = len(read.tokens), len(read.weights), len(read.spans)
    if len(set(lengths)) > 1:
        raise EmbedderError(f"{model.pin} gave {lengths[0]} tokens, {lengths[1]} weights and {lengths[2]} spans")
    vector = _checked_vectors(model, [read.vector], 1)[0]
    return replace(read, vector=vector)


def _checked_vectors(model: Embedder, given: object, count: int) -> Matrix:
    """Checks an embedder's output and returns it as unit vectors; anyone may write an embedder, so it may be
    anything."""
    shape = (count, checked_dimension(model))
    try:
        plain = np.asarray(given)
    except (TypeError, ValueError):  # rows of several lengths
        plain = np.empty(0, dtype=object)
    if plain.dtype.kind not in "fiub":
        raise EmbedderError(f"{model.pin} gave something else than numbers; it must give an array of shape {shape}")
    with np.errstate(over="ignore"):
        vectors: Matrix = plain.astype(np.float32)
    if vectors.shape != shape:
        raise EmbedderError(f"{model.pin} gave an array of shape {vectors.shape} for {count} texts, not {shape}")
    with np.errstate(over="ignore"):  # beyond 1e19 a length is infinite, and the vector would become zeros
        lengths = np.linalg.norm(vectors, axis=1)
    if not (np.isfinite(vectors).all() and np.isfinite(lengths).all() and lengths.all()):
        raise EmbedderError(f"{model.pin} gave a vector that is zero, too long or has no numbers")
    return unit(vectors)


def checked_dimension(model: Embedder) -> int:
    """Returns the length of the embedder's vectors, if every store can keep that many numbers."""
    dimension: object = model.dimension
    if type(dimension) is not int or not 1 <= dimension <= MAX_DIMENSION:
        reason = f"must be a whole number from 1 to {MAX_DIMENSION:,}, not {short_repr(dimension)}"
        raise EmbedderError(f"the dimension of the embedder {model.pin} {reason}")
    return dimension


def checked_pin(model: Embedder) -> str:
    """The name and version of the embedder, by which a namespace knows it again."""
    pin: object = model.pin
    if not isinstance(pin, str) or not pin.strip():
        raise EmbedderError(f"the pin of an embedder must be a text such as 'name@1', not {short_repr(pin)}")
    return pin


def choice_of(pin: str) -> str:
    """The choice that loads a pinned model: the pin without its version."""
    return pin.rpartition("@")[0]


CODE_LEVELS = 7
"""Codes go from −7 to 7."""

BLOCK_TOKENS = 1_024
"""Tokens that are unpacked at once at most: few enough to stay in the processor's cache."""

_CODE_OFFSET = 8
"""Offset added to a code, so that four bits without a sign hold it."""


def packed_size(dimension: int) -> int:
    """Bytes of one token."""
    return dimension // 2 + 1


def pack(vectors: Matrix) -> bytes:
    """The rows of a matrix of unit vectors, one after the other."""
    largest = np.abs(vectors).max(axis=1, keepdims=True) if len(vectors) else np.ones((0, 1), np.float32)
    scales = np.clip(np.ceil(largest * 255), 1, 255)
    codes = np.rint(vectors * (255 * CODE_LEVELS / scales)).astype(np.int8) + _CODE_OFFSET
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
    return (both - np.float32(_CODE_OFFSET)) * _scales(rows)


def best_matches(question: Matrix, passages: Sequence[bytes]) -> Matrix:
    """For each passage, a row: how near each token of the question comes at best; zeros for one without tokens."""
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
    size = max(1, min(BLOCK_TOKENS, MAX_PRODUCT // max(1, turned.size)))
    codes = np.empty((min(size, len(rows)), 2 * half), dtype=np.float32)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        some = codes[: len(block)]
        np.bitwise_and(block[:, :half], 15, out=some[:, :half], casting="unsafe")
        np.right_shift(block[:, :half], 4, out=some[:, half:], casting="unsafe")
        np.matmul(some, turned, out=scores[start : start + len(block)])
    scores -= np.float32(_CODE_OFFSET) * question.sum(axis=1)
    scores *= _scales(rows)
    return scores


def _rows(packed: bytes, dimension: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, packed_size(dimension))


def _scales(rows: npt.NDArray[np.uint8]) -> Matrix:
    return rows[:, -1:].astype(np.float32) / np.float32(255 * CODE_LEVELS)
