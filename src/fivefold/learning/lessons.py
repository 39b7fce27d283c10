"""Lessons for training: the hits that a recall showed, with their features, and which of them were used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.learning.features import unpack_features
from fivefold.stores.protocol import Feedback, Reader
from fivefold.values.vectors import Matrix, Vector

MOST = 5_000
"""How many recalls with feedback, the newest, serve as lessons."""

DEEPEST = 50
"""Hits of a list that count; lower ones were hardly seen."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One recall: a row for each hit in the order shown."""

    base: Vector
    features: Matrix
    used: Flags

    def used_places(self, scores: npt.ArrayLike) -> npt.NDArray[np.int_]:
        """For each used hit its place among the unused ones in the order of `scores`; ties keep the order shown."""
        ordered = np.argsort(-np.asarray(scores), kind="stable")
        unused_above = np.cumsum(~self.used[ordered])
        place = np.empty(len(ordered), dtype=int)
        place[ordered] = 1 + unused_above
        return place[self.used]

    @property
    def ranks(self) -> npt.NDArray[np.int_]:
        """The rank at which each used hit was shown."""
        return np.flatnonzero(self.used) + 1


def read_lessons(reader: Reader) -> list[Lesson]:
    """The lessons of the namespace's feedback, oldest first."""
    lessons = (lesson_of(item) for item in reader.feedback.latest(MOST))
    return [lesson for lesson in lessons if lesson is not None]


def lesson_of(feedback: Feedback) -> Lesson | None:
    """None where nothing can be learned: the log has no valid features, or every hit was used.

    Where nothing was used, the hits that were not refused are preferred to those that were.
    """
    rows = unpack_features(feedback.features)
    if rows is None or len(rows) != len(feedback.returned) or not np.isfinite(rows[:, 0]).all() or np.isinf(rows).any():
        return None
    ids = feedback.returned[:DEEPEST]
    used = np.array([id in feedback.used for id in ids], dtype=bool)
    if not used.any():
        used = np.array([id not in feedback.refused for id in ids], dtype=bool)
    if not used.any() or used.all():
        return None
    return Lesson(rows[:DEEPEST, 0], rows[:DEEPEST, 1:], used)
