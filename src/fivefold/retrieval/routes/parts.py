"""The parts of a question searched one by one, so that none is crowded out by another."""

from __future__ import annotations

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.settings import Settings
from fivefold.text.lexemes import lexemes
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit


class Parts(BaseRoute):
    """The best of each part by BM25, the parts in turn: 1 for the first of each, then 1/2, 1/3, …"""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.parts else "the question has one part"

    def describe_limits(self, query: Query, settings: Settings) -> str:
        return "of each of " + ", ".join(repr(part) for part in query.parts)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        best: dict[int, RouteHit] = {}
        for part in context.query.parts:
            for place, hit in enumerate(context.reader.search.lexical(lexemes(part), depth, keep), 1):
                if hit.row not in best or 1 / place > best[hit.row].score:
                    best[hit.row] = RouteHit(hit.row, 1 / place, note=f"for {part!r}")
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.row))[:depth]
