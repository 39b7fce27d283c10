"""Standing instructions and preferences that apply to a request, whatever the words of the request are."""

from __future__ import annotations

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit

STANDING = "standing"
"""The name of the route in recipes and traces."""


class Standing(BaseRoute):
    """Compares the request with the sentences that state a preference or an instruction, not with whole messages."""

    encodes = True

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        asked = query.demand("request", "suggestion")
        return None if asked is not None else "the question is not a request"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        if context.space is None:
            return []
        return context.reader.search.dense(context.space, "preferences", context.question_vector(), depth, keep)
