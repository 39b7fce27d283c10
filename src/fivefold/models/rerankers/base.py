"""The protocol of a reranker: a question and passages in, how well each answers it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fivefold.values.reading import Passage


class Reranker(Protocol):
    """Construction is light; a model loads at the first call."""

    @property
    def pin(self) -> str:
        """Name and version, such as 'local@1': what scores are cached under and the trace names."""

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        """One score in 0..1 a passage, in order. Gives up with an error when the time is over."""
