"""What belongs to the time the question asks about: said in it, or naming it, whatever the type."""

from __future__ import annotations

from dataclasses import replace

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit

DECIDES = 4.0
"""How much more a hit weighs where the time alone decides: all of them go on, however unlike the words are."""


class InWindow(BaseRoute):
    """Every memory of the window counts by how well it fits; the other routes rank them."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.window is not None else "the question names no time"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        window, demand = context.query.window, context.query.demand("window")
        assert window is not None
        hits = context.reader.search.within(window.start, window.end, depth, keep)
        decides = demand is not None and demand.decides
        return [replace(hit, factor=DECIDES) for hit in hits] if decides else hits
