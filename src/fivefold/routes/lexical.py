"""Shared words: BM25 over predicate and content (R4)."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.recall import Query, RouteHit
from fivefold.routes.base import Sight
from fivefold.stores.base import Filter

MAX_LEXEMES = 256
"""A question longer than this is searched by its first lexemes; more would only slow it."""


class Lexical:
    """Scores are BM25, unbounded; as a share of 1 they are taken relative to the list's best."""

    encodes = False

    def idle(self, query: Query) -> str | None:
        return None if query.lexemes else "the question has only stop words"

    def search(self, sight: Sight, depth: int) -> list[RouteHit]:
        lexemes = sight.query.lexemes[:MAX_LEXEMES]
        return sight.reader.lexical(lexemes, depth, Filter(sight.query.type_hints))

    def share(self, scores: Sequence[float]) -> list[float]:
        best = max(scores, default=0.0)
        return [max(0.0, score / best) if best > 0 else 0.0 for score in scores]
