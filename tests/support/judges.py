"""A reranker whose scores are written in the text: `@0.6` answers the question by 0.6."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

from fivefold.errors import RerankerError
from fivefold.values.vectors import Passage


class Judge:
    """Counts what it is asked; gives the scores in the texts, or fails as told."""

    def __init__(self, pin: str = "judge@1", error: Exception | None = None) -> None:
        self.pin = pin
        self.error = error
        self.asked: list[tuple[str, list[Passage], float]] = []
        self._lock = threading.Lock()

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        with self._lock:
            self.asked.append((question, list(passages), timeout_s))
        if self.error is not None:
            raise self.error
        return [said(passage.text) for passage in passages]


def said(text: str) -> float:
    found = re.search(r"@(\d\.\d+)", text)
    return float(found[1]) if found else 0.0


AWAY = RerankerError("judge@1 gave no scores: it is away")
