"""Who and what is related to the question's entities: a walk over the entity graph (R6, R7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.settings import Settings
from fivefold.stores.records import Walk
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit


@dataclass(frozen=True, slots=True)
class GraphOptions(Options):
    """What a hop, a kind of relation and a relation that is past are worth (R6), and a hit that is hops away (R10)."""

    direct: Annotated[float, Between(0, 1), About("Score of a memory that has the entity itself (R6)")] = 1.0
    one_hop: Annotated[float, Between(0, 1), About("The same one hop away")] = 0.6
    two_hops: Annotated[float, Between(0, 1), About("The same two hops away")] = 0.35
    three_hops: Annotated[float, Between(0, 1), About("The same three hops away")] = 0.15
    structural: Annotated[float, Between(0, 1), About("What a structural relation leaves of it, as works at")] = 1.0
    semantic: Annotated[float, Between(0, 1), About("The same for a semantic relation")] = 0.9
    lifecycle: Annotated[float, Between(0, 1), About("The same for a relation of beginning or end")] = 0.3
    past: Annotated[float, Between(0, 1), About("What a relation leaves of it once it has ended")] = 0.3
    far: Annotated[float, Between(0, 1), About("What the weight is multiplied by from the first hop on (R10)")] = 0.8


class Graph(BaseRoute):
    """Scores are products of hop, confidence, freshness and kind of edge, all in 0..1; the note is the path."""

    options = GraphOptions

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.entities else "the question names no entity the namespace knows"

    def describe_limits(self, query: Query, settings: Settings) -> str:
        how = _walk(query, settings, GraphOptions())
        return f"within {how.hops} hops, along at most {how.fan_out} edges and {how.per_entity} memories of an entity"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: GraphOptions) -> list[RouteHit]:
        start = roots(context.query, context.settings.sure_entity)
        how = _walk(context.query, context.settings, options)
        return context.reader.graph.walk(start, how, depth, keep)


def _walk(query: Query, settings: Settings, by: GraphOptions) -> Walk:
    """Two hops, or three when the question asks for many (R6); how many is a setting of the namespace."""
    many_hops = any(cue.kind == "many hops" for cue in query.cues)
    return Walk(
        query.now,
        settings.hops_asked if many_hops else settings.hops,
        (by.direct, by.one_hop, by.two_hops, by.three_hops),
        settings.fan_out,
        priors={"structural": by.structural, "semantic": by.semantic, "lifecycle": by.lifecycle},
        expired=by.past,
        far=by.far,
    )


def roots(query: Query, sure: float) -> list[tuple[int, float]]:
    """Where the walk starts: the sure meaning of a name, or every meaning of an unsure one, by its confidence."""
    confidences: dict[int, float] = {}
    for ref in query.entities:
        for meaning in ref.meanings[:1] if ref.confidence >= sure else ref.meanings:
            confidences[meaning.id] = max(confidences.get(meaning.id, 0.0), meaning.confidence)
    return list(confidences.items())
