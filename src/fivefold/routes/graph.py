"""Who and what is related to the question's entities: a walk over the entity graph (R6, R7)."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.recall import Query, RouteHit
from fivefold.routes.base import Sight
from fivefold.stores.base import Filter, Walk


class Graph:
    """Scores are products of hop, confidence, freshness and kind of edge, all in 0..1; the note is the path."""

    encodes = False

    def unable(self, query: Query) -> str | None:
        return None if query.entities else "the question names no entity the namespace knows"

    def idle(self, query: Query) -> str | None:
        return None

    def search(self, sight: Sight, depth: int, keep: Filter) -> list[RouteHit]:
        settings, query = sight.settings, sight.query
        asked = any(cue.kind == "many hops" for cue in query.cues)
        how = Walk(query.now, settings.hops_asked if asked else settings.hops, fan_out=settings.fan_out)
        return sight.reader.walk(roots(query, settings.sure_entity), how, depth)

    def share(self, scores: Sequence[float]) -> list[float]:
        return list(scores)


def roots(query: Query, sure: float) -> list[tuple[int, float]]:
    """Where the walk starts: the sure meaning of a name, or every meaning of an unsure one, by its confidence."""
    found: dict[int, float] = {}
    for ref in query.entities:
        meant = ref.meanings[:1] if ref.confidence >= sure else ref.meanings
        for meaning in meant:
            found[meaning.id] = max(found.get(meaning.id, 0.0), meaning.confidence)
    return list(found.items())
