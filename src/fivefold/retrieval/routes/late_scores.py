"""Late interaction: how near each word of the question comes to a word of the memory, weighted and added up.

Every token of the question looks for its nearest among the tokens of a passage. A text of many passages has more
chances to be near by accident, so its best passage is lowered by what the best of that many strangers would gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.models.token_vectors import best_matches
from fivefold.retrieval.best_passage import lucky_gain
from fivefold.retrieval.routes.base import SearchContext
from fivefold.stores.protocol import VectorSpace
from fivefold.values.reading import QuestionReading
from fivefold.values.vectors import Matrix

PASSAGES = 4
"""How many passages of a long text are compared token by token: those whose vectors are nearest."""

SPREAD = 0.07
"""The standard deviation of the score over passages that have nothing to do with a question, as measured."""


@dataclass(frozen=True, slots=True)
class LateScore:
    """A memory's score, and the passage that it comes from."""

    score: float
    part: int
    parts: int
    tokens: bytes


def late_scores(context: SearchContext, rows: Sequence[int]) -> dict[int, LateScore]:
    """The scores of the memories that have token vectors."""
    if context.space is None or not context.space.tokens or not rows:
        return {}
    question = context.question_read()
    long = context.reader.search.passage_vectors(context.space, rows)
    parts = [(row, part) for row in rows for part in _nearest_parts(long.get(row), question)]
    return _scored(parts, long, question, context.space, context)


def _scored(
    parts: Sequence[tuple[int, int]],
    long: Mapping[int, Matrix],
    question: QuestionReading,
    space: VectorSpace,
    context: SearchContext,
) -> dict[int, LateScore]:
    tokens = context.reader.search.token_vectors(space, parts)
    present = [part for part in parts if part in tokens]
    scores = (best_matches(question.tokens, [tokens[part] for part in present]) @ question.weights).tolist()
    best: dict[int, LateScore] = {}
    for (row, part), score in zip(present, scores, strict=True):
        count = len(long[row]) if row in long else 1
        lowered = score - lucky_gain(count, SPREAD)
        if row not in best or lowered > best[row].score:
            best[row] = LateScore(lowered, part, count, tokens[row, part])
    return best


def _nearest_parts(vectors: Matrix | None, question: QuestionReading) -> list[int]:
    if vectors is None:
        return [0]
    order: list[int] = np.argsort(-(vectors @ question.vector), kind="stable")[:PASSAGES].tolist()
    return order
