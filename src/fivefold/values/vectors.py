"""Vectors, the texts of a memory that have one, and the passages of a long text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]

MAX_PRODUCT = 250_000
"""Multiplications of a matrix product that one thread does. Larger ones are shared among threads, which spin for longer
than they compute: with other work on the cores, 3,000 vectors take nine times the processor time."""


def products(matrix: Matrix, vector: Vector) -> Vector:
    """`matrix @ vector`, in parts that one thread computes."""
    scores = np.empty(len(matrix), dtype=np.float32)
    step = max(1, MAX_PRODUCT // max(1, len(vector)))
    for start in range(0, len(matrix), step):
        np.matmul(matrix[start : start + step], vector, out=scores[start : start + step])
    return scores


VectorField = Literal[
    "full", "user", "assistant", "next_user", "personal_info", "preferences", "events", "session", "passage"
]
FIELDS: tuple[VectorField, ...] = get_args(VectorField)
"""The texts of a memory that have a vector of their own (M1); a session memory has only `session`.

A text too long to be read at once has a vector for each `passage`, and in `full` the centre of those.
"""


@dataclass(frozen=True, slots=True, eq=False)
class PassageVectors:
    """A model's reading of one passage of a memory's text.

    `tokens` are the vectors of its tokens as the model packs them; empty if the model gives none. `vector` is None
    for a text of one passage: it has the vector of the field `full`.
    """

    tokens: bytes = b""
    vector: Vector | None = None


# What a model reads: passages of memories, and questions.

Span = tuple[int, int]
"""The first character of a piece of text and the one after its last."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a memory as a model reads it: who, when, what, and the end of the turn before."""

    text: str
    before: str = ""

    @property
    def joined(self) -> str:
        return f"{self.text}\n(said before: {self.before})" if self.before else self.text


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A passage after one pass of a model: its unit vector, and the vectors of its tokens as they are stored."""

    vector: Vector
    tokens: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class QuestionReading:
    """A question after one pass of a model. Without token vectors the three last are empty."""

    vector: Vector
    tokens: Matrix
    """One unit vector a token."""
    weights: Vector
    """Weight of each token; they add up to one."""
    spans: tuple[Span, ...]
    """The characters of the question that each token stands for; an empty span for a token without any."""
