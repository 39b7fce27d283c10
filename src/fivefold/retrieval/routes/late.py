"""The route of late interaction: what the other routes found, ranked again token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fivefold.errors import FivefoldError
from fivefold.retrieval.routes.base import BaseRoute, SearchContext
from fivefold.retrieval.routes.late_scores import late_scores
from fivefold.settings import Settings
from fivefold.values.field_types import About, Between
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit

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
