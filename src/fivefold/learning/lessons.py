"""Feedback as lessons: what a recall had shown, with its features, and which of it was used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.learning.features import unpacked
from fivefold.stores.protocol import Feedback, Reader
from fivefold.values.vectors import Matrix, Vector

MOST = 5_000
"""The newest recalls with feedback that are learned from."""

DEEPEST = 50
"""How far down a list one looks; what stood lower was hardly seen."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One recall: a row a hit in the order shown."""

    base: Vector
    features: Matrix
    used: Flags

    def places(self, scores: npt.ArrayLike) -> npt.NDArray[np.int_]:
        """For each used hit its place among those not used when ordered by `scores`; of equals, the one shown first."""
        ordered = np.argsort(-np.asarray(scores), kind="stable")
        unused_above = np.cumsum(~self.used[ordered])
        place = np.empty(len(ordered), dtype=int)
        place[ordered] = 1 + unused_above
        return place[self.used]

    @property
    def ranks(self) -> npt.NDArray[np.int_]:
        """Where each used hit was shown."""
        return np.flatnonzero(self.used) + 1


def lessons(reader: Reader) -> list[Lesson]:
    """What the namespace's feedback teaches, oldest first."""
    found = (lesson_of(item) for item in reader.feedback.latest(MOST))
    return [lesson for lesson in found if lesson is not None]


def lesson_of(feedback: Feedback) -> Lesson | None:
    """None where nothing can be learned: no sound features were logged, or all that was shown was used.

    Where nothing was used, all that was not refused is preferred to what was.
    """
    rows = unpacked(feedback.features)
    if rows is None or len(rows) != len(feedback.returned) or not np.isfinite(rows[:, 0]).all() or np.isinf(rows).any():
        return None
    shown = feedback.returned[:DEEPEST]
    used = np.array([id in feedback.used for id in shown], dtype=bool)
    if not used.any():
        used = np.array([id not in feedback.refused for id in shown], dtype=bool)
    if not used.any() or used.all():
        return None
    return Lesson(rows[:DEEPEST, 0], rows[:DEEPEST, 1:], used)
