"""What a model reads: passages of memories, and questions."""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.values.vectors import Matrix, Vector

Span = tuple[int, int]
"""The first character of a piece of text and the one after its last."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a memory as a model reads it: who, when and what, and what was said just before."""

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
    """How much each token counts; they add up to one."""
    spans: tuple[Span, ...]
    """The characters of the question that each token stands for; an empty span for a token without any."""
