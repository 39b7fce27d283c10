"""Who and what is related to the question's entities: a walk over the entity graph (R6, R7)."""

from __future__ import annotations

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.settings import Settings
from fivefold.stores.queries import Walk
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit


class Graph(BaseRoute):
    """Scores are products of hop, confidence, freshness and kind of edge, all in 0..1; the note is the path."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.entities else "the question names no entity the namespace knows"

    def describe_limits(self, query: Query, settings: Settings) -> str:
        how = _walk(query, settings)
        return f"within {how.hops} hops, along at most {how.fan_out} edges and {how.per_entity} memories of an entity"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        start, how = roots(context.query, context.settings.sure_entity), _walk(context.query, context.settings)
        return context.reader.graph.walk(start, how, depth, keep)


def _walk(query: Query, settings: Settings) -> Walk:
    """Two hops, or three when the question asks for many (R6)."""
    many_hops = any(cue.kind == "many hops" for cue in query.cues)
    return Walk(query.now, settings.hops_asked if many_hops else settings.hops, fan_out=settings.fan_out)


def roots(query: Query, sure: float) -> list[tuple[int, float]]:
    """Where the walk starts: the sure meaning of a name, or every meaning of an unsure one, by its confidence."""
    confidences: dict[int, float] = {}
    for ref in query.entities:
        for meaning in ref.meanings[:1] if ref.confidence >= sure else ref.meanings:
            confidences[meaning.id] = max(confidences.get(meaning.id, 0.0), meaning.confidence)
    return list(confidences.items())
