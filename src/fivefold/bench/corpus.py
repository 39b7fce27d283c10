"""Memories in any number for speed measurements: the sample's words and vectors, varied, with a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from fivefold import sample
from fivefold.models.embedders import DEFAULT, Matrix, Progress, embedder, unit

START = datetime(2015, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def records(count: int, seed: int = 5) -> Iterator[dict[str, Any]]:
    """Notes that read like the sample's turns with a third of the words changed, so that no two are equal."""
    chance = random.Random(seed)
    texts = [item["content"] for item in sample.memories()]
    words = [word for text in texts for word in text.split()]
    for number in range(count):
        spoken_words = chance.choice(texts).split()[:40]
        for _ in range(len(spoken_words) // 3):
            spoken_words[chance.randrange(len(spoken_words))] = chance.choice(words)
        yield {
            "content": f"{' '.join(spoken_words)} {number}",
            "speaker": "user",
            "event_at": START + 7 * number * MINUTE,
        }


class VariedSample:
    """Vectors without a model's cost: a real one of the sample, moved a little. For timing only."""

    pin = "bench-varied-sample@1"
    dimension = 384

    def __init__(self, real: Matrix | None = None) -> None:
        """`real` are the sample's vectors where they are at hand; else they are made once."""
        self._given = real

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        chance = np.random.default_rng(len(texts) + len(texts[0]) if texts else 0)
        real = real_vectors() if self._given is None else self._given
        base = real[chance.integers(len(real), size=len(texts))]
        moved = base + 0.04 * chance.standard_normal(base.shape, dtype=np.float32)
        return unit(moved)


@cache
def real_vectors() -> Matrix:
    """By the default embedder, which the plain install has."""
    return embedder(DEFAULT).embed([item["content"] for item in sample.memories()])
