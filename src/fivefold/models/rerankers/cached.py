"""Scores are computed once: cached by model, question and text, so that a changed memory is judged again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from fivefold.models.rerankers.base import Reranker
from fivefold.values.reading import Passage

CACHE_SIZE = 50_000
"""How many scores a process keeps; the least recently used go first."""


class Scores:
    """A cache that several threads may ask."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._scores: OrderedDict[tuple[str, str, Passage], float] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, model: Reranker, question: str, passages: Sequence[Passage], timeout_s: float
    ) -> tuple[list[float], int]:
        """The scores, and how many of them had to be computed."""
        keys = [(model.pin, question, passage) for passage in passages]
        with self._lock:
            scores = {key: self._scores[key] for key in keys if key in self._scores}
        missing = list(dict.fromkeys(key for key in keys if key not in scores))
        if missing:
            computed = model.scores(question, [passage for _, _, passage in missing], timeout_s)
            scores.update(zip(missing, computed, strict=True))
        with self._lock:
            for key in keys:
                self._scores[key] = scores[key]
                self._scores.move_to_end(key)
            while len(self._scores) > self._size:
                self._scores.popitem(last=False)
        return [scores[key] for key in keys], len(missing)


SCORES = Scores()
