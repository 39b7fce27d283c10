"""How well relations and answers are told, from logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from training.reader.pairs import RELATIONS, Pair
from training.reader.scenes import Scene

from fivefold.models.reader import QUESTION, Remark, SaidPair

Array = npt.NDArray[np.floating]

FALSE = (0.01, 0.02, 0.05)
"""Shares of other pairs that are taken for a change."""

REFUSED = (0.05, 0.1)
"""Shares of questions with an answer that are taken for one without."""


@dataclass(frozen=True)
class RelationFigures:
    """The share of pairs told right, and of changes found at each share of `FALSE`."""

    right: float
    found: tuple[float, ...]

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.3f} at {false:.0%}" for share, false in zip(self.found, FALSE, strict=True))
        return f"right {self.right:.3f}, changes found {shares}"


@dataclass(frozen=True)
class AnswerFigures:
    """How often the best memory of a scene answers, and how well its score tells that nothing does."""

    first: float
    area: float
    never: tuple[float, ...]

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.3f} at {part:.0%}" for share, part in zip(self.never, REFUSED, strict=True))
        return f"hit@1 {self.first:.3f}, answerable AUC {self.area:.3f}, never answered recognised {shares}"


def relation_figures(logits: Array, pairs: Sequence[Pair]) -> RelationFigures:
    """Of a row a pair, a column a relation; for chances give their logarithms."""
    labels = np.array([RELATIONS.index(pair.relation) for pair in pairs])
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    chances, change = shifted[:, 0] / shifted.sum(1), labels == 0
    others = np.sort(chances[~change])[::-1]
    limits = [others[int(share * len(others))] for share in FALSE]
    found = tuple(float((chances[change] > limit).mean()) for limit in limits)
    return RelationFigures(float((logits.argmax(1) == labels).mean()), found)


def asked_pairs(scenes: Sequence[Scene]) -> list[SaidPair]:
    """Every question with every memory of its scene."""
    return [
        SaidPair(Remark(asked.text, QUESTION), memory)
        for scene in scenes
        for asked in scene.questions
        for memory in scene.memories
    ]


def answer_figures(scores: Array, scenes: Sequence[Scene]) -> AnswerFigures:
    """Of a score for each of `asked_pairs`."""
    first, answered, never, start = list[bool](), list[float](), list[float](), 0
    for scene in scenes:
        for asked in scene.questions:
            of_scene = scores[start : start + len(scene.memories)]
            start += len(of_scene)
            (answered if asked.answers else never).append(float(of_scene.max()))
            if asked.answers:
                first.append(int(of_scene.argmax()) in asked.answers)
    limits = np.quantile(answered, REFUSED)
    shares = tuple(float((np.array(never) < limit).mean()) for limit in limits)
    return AnswerFigures(float(np.mean(first)), area(answered, never), shares)


def area(high: Sequence[float], low: Sequence[float]) -> float:
    """The chance that one of `high` is above one of `low`; equal ones count half (area under the ROC curve)."""
    above, below = np.array(high)[:, None], np.array(low)
    return float((above > below).mean() + 0.5 * (above == below).mean())
