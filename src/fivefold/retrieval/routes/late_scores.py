"""Late interaction: how near each word of the question comes to a word of the memory, weighted and added up.

Every token of the question looks for its nearest among the tokens of a passage. A text of many passages has more
chances to be near by accident, so its best passage is lowered by what the best of that many strangers would gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.models.token_vectors import best_matches
from fivefold.retrieval.best_passage import lucky_gain
from fivefold.retrieval.routes.base import LatePassage, SearchContext
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
    known = context.late_passages
    _read_passages([row for row in rows if row not in known], known, question, context.space, context)
    present = [(row, passage) for row in rows for passage in known[row]]
    tokens = [passage.tokens for _, passage in present]
    scores = (best_matches(question.tokens, tokens) @ question.weights).tolist()
    best: dict[int, LateScore] = {}
    for (row, passage), score in zip(present, scores, strict=True):
        lowered = score - lucky_gain(passage.parts, SPREAD)
        if row not in best or lowered > best[row].score:
            best[row] = LateScore(lowered, passage.part, passage.parts, passage.tokens)
    return best


def _read_passages(
    rows: Sequence[int],
    known: dict[int, list[LatePassage]],
    question: QuestionReading,
    space: VectorSpace,
    context: SearchContext,
) -> None:
    """Add what is stored of the nearest passages of each memory; a memory without token vectors has none."""
    if not rows:
        return
    long = context.reader.search.passage_vectors(space, rows)
    parts = [(row, part) for row in rows for part in _nearest_parts(long.get(row), question)]
    tokens = context.reader.search.token_vectors(space, parts)
    known.update((row, []) for row in rows)
    for row, part in parts:
        if (row, part) in tokens:
            known[row].append(LatePassage(part, len(long[row]) if row in long else 1, tokens[row, part]))


def _nearest_parts(vectors: Matrix | None, question: QuestionReading) -> list[int]:
    if vectors is None:
        return [0]
    order: list[int] = np.argsort(-(vectors @ question.vector), kind="stable")[:PASSAGES].tolist()
    return order
