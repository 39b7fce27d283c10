"""A additive model fitted over lists of candidates: the relevant ones should have the greatest share of each list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

SHARP = 3.0
"""How nearly the score of a session is that of its best turn."""

STEPS, RATE = 300, 0.06


@dataclass(frozen=True)
class Lists:
    """Candidates of all questions, padded to one width.

    `target` has the share that each candidate should have where keys are single memories. Where a key has several
    candidates, as a session its turns, the target is shared among them as the model itself would share it.
    """

    features: Array
    present: npt.NDArray[np.bool_]
    group: npt.NDArray[np.int64]
    target: Array
    weight: Array

    @classmethod
    def of(cls, samples: Sequence[Any], shares: Mapping[str, float]) -> Lists:
        """Lists in which nothing relevant was found teach nothing; a data set counts by its share, 1 unless given."""
        usable = [s for s in samples if s.relevant & set(s.keys)]
        width, columns = max(len(s.keys) for s in usable), usable[0].table.shape[1]
        features = np.zeros((len(usable), width, columns), np.float32)
        present = np.zeros((len(usable), width), bool)
        group = np.zeros((len(usable), width), np.int64)
        target = np.zeros((len(usable), width), np.float32)
        for i, sample in enumerate(usable):
            size = len(sample.keys)
            number = {key: n for n, key in enumerate(dict.fromkeys(sample.keys))}
            features[i, :size], present[i, :size] = sample.table, True
            group[i, :size] = [number[key] for key in sample.keys]
            wanted = sample.relevant & set(sample.keys)
            target[i, [number[key] for key in wanted]] = 1 / len(wanted)
        count = {name: sum(s.data == name for s in usable) for name in {s.data for s in usable}}
        weight = np.array([shares.get(s.data, 1.0) / count[s.data] for s in usable], np.float32)
        return cls(features, present, group, target, weight / weight.sum())


def scores_of(features: Array, weights: Array) -> Array:
    return np.asarray(features @ weights)


def fit(lists: Lists, active: Array, penalty: float) -> Array:
    """The weights with the least cross entropy, by Adam; those that are not active stay at zero."""
    weights = np.zeros(lists.features.shape[2], np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = (gradient(lists, weights) + 2 * penalty * weights) * active
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        rate = RATE * min(1.0, 2 * (1 - step / STEPS) + 0.02)
        weights = weights - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


def gradient(lists: Lists, weights: Array) -> Array:
    """Of the mean cross entropy between the shares of the keys and their targets."""
    count, width = lists.present.shape
    scores = (lists.features.reshape(count * width, -1) @ weights).reshape(count, width)
    scores = np.where(lists.present, scores, -1e4)
    sharp = np.exp(SHARP * (scores - scores.max(axis=1, keepdims=True)))
    place = lists.group + width * np.arange(count)[:, None]
    sums = np.bincount(place.ravel(), sharp.ravel(), count * width).astype(np.float32)
    shares = sums.reshape(count, width) ** (1 / SHARP)
    shares /= shares.sum(axis=1, keepdims=True)
    inside = sharp / np.maximum(sums[place], 1e-30)
    slope = (shares - lists.target).ravel()[place] * inside * lists.weight[:, None] * lists.present
    return np.asarray(slope.ravel() @ lists.features.reshape(count * width, -1), dtype=np.float32)
