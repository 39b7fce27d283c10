"""The route of late interaction: what the other routes found, ranked again token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fivefold.errors import FivefoldError
from fivefold.models.token_vectors import best_matches
from fivefold.retrieval.best_passage import lucky_gain
from fivefold.retrieval.routes.base import BaseRoute, LatePassage, SearchContext
from fivefold.settings import Settings
from fivefold.stores.interface import VectorSpace
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import Matrix, QuestionReading

# Late interaction: how near each word of the question comes to a word of the memory, weighted and added up.

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


REPLACED = 40
"""Of how many of the best candidates the successors are looked for."""


@dataclass(frozen=True, slots=True)
class LateOptions:
    """An answer is often the turn next to the one that shares the question's words."""

    next_turns: Annotated[
        int, Between(0, 4_096), About("How many of the best candidates bring the turns before and after them along")
    ] = 0


class Late(BaseRoute):
    """A score is a weighted mean of cosines: of each token of the question with its nearest in the memory."""

    encodes = True
    rescores = True
    options = LateOptions

    def unavailable(self, context: SearchContext) -> str | None:
        if context.space is None or not context.space.tokens:
            return "the namespace has no token vectors"
        return None

    def describe_limits(self, query: Query, settings: Settings) -> str:
        return "of what the other routes found"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: LateOptions) -> list[RouteHit]:
        if isinstance(context.question, FivefoldError):
            raise context.question
        rows = list(context.candidates[:depth])
        pairs = context.reader.sessions.neighbours(rows[: options.next_turns]) if options.next_turns else {}
        beside = [row for pair in pairs.values() for row in pair if row is not None]
        further = [row for row in dict.fromkeys([*beside, *_stand_ins(rows, context)]) if row not in set(rows)]
        rows += _matching(further, context, keep)
        ranked = sorted(late_scores(context, rows).items(), key=lambda item: (-item[1].score, item[0]))
        return [RouteHit(row, found.score, part=found.part) for row, found in ranked]

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]


def _matching(rows: list[int], context: SearchContext, keep: Filter) -> list[int]:
    """Those of the rows whose memories pass the filter."""
    if not keep or not rows:
        return rows
    memories = context.reader.memories.fetch(rows)
    return [row for row in rows if row in memories and keep.matches(memories[row])]


def _stand_ins(rows: Sequence[int], context: SearchContext) -> list[int]:
    """What replaced the best candidates, where the present is asked for, and what they replaced for the past."""
    query = context.query
    now, past = query.demand("current") is not None, query.demand("past") is not None
    if not (now or past):
        return []
    best = set(rows[:REPLACED])
    links = context.reader.memories.successions(list(best))
    newer = [link.newer for link in links if now and link.older in best]
    return newer + [link.older for link in links if past and link.newer in best]
