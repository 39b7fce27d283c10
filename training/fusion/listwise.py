"""A weighted sum fitted over lists of candidates: the relevant ones should have the greatest share of each list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

STEPS, RATE = 200, 0.05

MIN_SCALE = 0.3
"""A weight that starts at nothing may still move by about this much before it costs as much as others."""


class Sample(Protocol):
    """A question: the terms of its candidates, their ids, and which of those are relevant."""

    @property
    def data(self) -> str: ...
    @property
    def table(self) -> Array: ...
    @property
    def ids(self) -> tuple[str, ...]: ...
    @property
    def relevant(self) -> frozenset[str]: ...


@dataclass(frozen=True)
class Lists:
    """Candidates of all questions, padded to one width; `target` is the share that each candidate should have."""

    terms: Array
    present: npt.NDArray[np.bool_]
    target: Array
    weight: Array

    @classmethod
    def of(cls, samples: Sequence[Sample], shares: Mapping[str, float]) -> Lists:
        """Lists in which nothing relevant was found teach nothing; a data set counts by its share."""
        usable = [sample for sample in samples if sample.relevant & set(sample.ids)]
        width, columns = max(len(sample.ids) for sample in usable), usable[0].table.shape[1]
        terms = np.zeros((len(usable), width, columns), np.float32)
        present = np.zeros((len(usable), width), bool)
        target = np.zeros((len(usable), width), np.float32)
        for i, sample in enumerate(usable):
            size = len(sample.ids)
            terms[i, :size], present[i, :size] = sample.table, True
            right = np.array([id in sample.relevant for id in sample.ids], np.float32)
            target[i, :size] = right / right.sum()
        count = {name: sum(sample.data == name for sample in usable) for name in {s.data for s in usable}}
        weight = np.array([shares[sample.data] / count[sample.data] for sample in usable], np.float32)
        return cls(terms, present, target, weight / weight.sum())


def fit(lists: Lists, start: Array, penalty: Array) -> Array:
    """The weights of the least cross entropy, by Adam. None is negative, and each costs by its distance to `start`."""
    weights, scale = start.copy(), np.maximum(start, MIN_SCALE)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = gradient(lists, weights) + 2 * penalty * (weights - start) / scale**2
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        rate = RATE * min(1.0, 2 * (1 - step / STEPS) + 0.02)
        move = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(0, weights - move).astype(np.float32)
    return weights


def gradient(lists: Lists, weights: Array) -> Array:
    """Of the mean cross entropy between the shares of the candidates and their targets."""
    scores = np.where(lists.present, lists.terms @ weights, -1e4)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    slope = (shares - lists.target) * lists.weight[:, None]
    return np.asarray(np.einsum("qc,qct->t", slope, lists.terms), dtype=np.float32)
