"""Standing instructions and preferences that apply to a request, whatever the words of the request are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import VectorField

STANDING = "standing"
"""The name of the route in recipes and traces."""

INTO_POOL = 4.0
"""How much more a hit weighs in fusion: all of them go on, however unlike their words are."""


class Standing(BaseRoute):
    """Compares the request with the sentences that state a preference or an instruction, not with whole messages."""

    encodes = True

    def vector_fields(self, options: Options) -> tuple[VectorField, ...]:
        return ("preferences",)

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        asked = query.demand("request", "suggestion")
        return None if asked is not None else "the question is not a request"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        if context.space is None:
            return []
        hits = context.reader.search.dense(context.space, "preferences", context.question_vector(), depth, keep)
        return [replace(hit, factor=INTO_POOL) for hit in hits]
