"""Scores are computed once: cached by model, question and text, so that a changed memory is judged again."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence

from fivefold.models.rerankers.base import Reranker
from fivefold.text.text_caches import empty_on_forget
from fivefold.values.reading import Passage

CACHE_SIZE = 50_000
"""How many scores a process keeps; the least recently used go first.

One takes about 200 bytes, however long its text.
"""

DIGEST = 16
"""Bytes that stand for model, question and text."""


class Scores:
    """A cache that several threads may ask. It has digests under a key of its own, and no text."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._key = secrets.token_bytes(32)
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, model: Reranker, question: str, passages: Sequence[Passage], timeout_s: float
    ) -> tuple[list[float], int]:
        """The scores, and how many of them had to be computed."""
        keys = [self._digest(model.pin, question, passage) for passage in passages]
        with self._lock:
            scores = {key: self._scores[key] for key in keys if key in self._scores}
        missing = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in scores}
        if missing:
            computed = model.scores(question, list(missing.values()), timeout_s)
            scores.update(zip(missing, computed, strict=True))
        with self._lock:
            for key in keys:
                self._scores[key] = scores[key]
                self._scores.move_to_end(key)
            while len(self._scores) > self._size:
                self._scores.popitem(last=False)
        return [scores[key] for key in keys], len(missing)

    def clear(self) -> None:
        with self._lock:
            self._scores.clear()

    def _digest(self, pin: str, question: str, passage: Passage) -> bytes:
        """Each part with its length before it, so that no two lists of parts are one text."""
        digest = hashlib.blake2b(key=self._key, digest_size=DIGEST)
        for part in (pin, question, passage.text, passage.before):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8))
            digest.update(encoded)
        return digest.digest()


SCORES = Scores()
empty_on_forget(SCORES.clear)
