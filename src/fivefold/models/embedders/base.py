"""The protocol of an embedder: texts in, unit vectors out, under a name that pins model and version (R3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from fivefold.values.reading import Passage, QuestionReading, Reading, Span

Matrix = npt.NDArray[np.float32]
Progress = Callable[[int], None]
"""Called with the number of texts done since the last call."""


class Embedder(Protocol):
    """Construction is light; the model loads at the first call."""

    @property
    def pin(self) -> str:
        """Name and version, such as 'minilm@1.0.0': what a namespace is pinned to."""

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        """One unit vector a text, in order."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder whose one pass gives token vectors as well, for late interaction."""

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        """One reading a passage, in order; what was said before is read along and is not part of the vector."""

    def read_question(self, question: str) -> QuestionReading:
        """The question's vector, and its tokens with their weights."""

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        """For each stored token the characters it stands for, and whether they are those of the text before."""


def unit(matrix: Matrix) -> Matrix:
    """Rows scaled to length one; an all-zero row stays as it is."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(norms == 0, 1, norms), dtype=np.float32)
