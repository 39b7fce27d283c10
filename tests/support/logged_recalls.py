"""Lessons made by hand: lists of hits with a known truth about what is liked and how the rank pulls."""

from __future__ import annotations

import numpy as np

from fivefold.learning.reranker import NAMES
from fivefold.learning.training import Lesson

AGE, EVENT = NAMES.index("age"), NAMES.index("event")
SIZE = 10


def lists(
    count: int, seed: int, liking: float, pull: float, trust: float = 0.0
) -> tuple[list[Lesson], list[np.ndarray]]:
    """Lists of ten, best first, and for each how much its hits are liked.

    A hit is liked for being a new event, and by its score as far as `trust` says; one of each list is used, by
    exp(liked − pull · ln(rank)).
    """
    chance = np.random.default_rng(seed)
    lessons, truth = [], []
    for _ in range(count):
        scores = np.sort(chance.beta(2, chance.uniform(1.5, 6), 40))[::-1][:SIZE]
        features = chance.normal(0, 1, (SIZE, len(NAMES)))
        features[:, 5:10] = np.eye(5)[chance.integers(0, 5, SIZE)]
        features[:, AGE] = chance.uniform(0, 6, SIZE)
        features[chance.random(SIZE) < 0.2, 0] = np.nan
        liked = liking * ((features[:, EVENT] == 1) | (features[:, AGE] < 2)) + trust * scores / scores[0]
        drawn = liked - pull * np.log(np.arange(1, SIZE + 1)) + chance.gumbel(size=SIZE)
        used = np.arange(SIZE) == int(np.argmax(drawn))
        lessons.append(Lesson(scores.astype(np.float32), features.astype(np.float32), used))
        truth.append(liked)
    return lessons, truth


def true_ndcg(scores: np.ndarray, liked: np.ndarray) -> float:
    """nDCG by how much each hit is really liked, whatever was used."""
    gains, discount = np.exp(liked), 1 / np.log2(2 + np.arange(len(liked)))
    return float((gains[np.argsort(-scores)] @ discount) / (np.sort(gains)[::-1] @ discount))
