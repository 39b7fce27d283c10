"""Nearness in meaning: cosine between the question's vector and the memory's."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.recall import Query, RouteHit
from fivefold.routes.base import Sight
from fivefold.stores.base import Filter


class Dense:
    """Scores are cosines; below zero means unrelated and counts as nothing."""

    encodes = True

    def idle(self, query: Query) -> str | None:
        return None

    def search(self, sight: Sight, depth: int) -> list[RouteHit]:
        return sight.reader.dense("full", sight.question_vector(), depth, Filter(sight.query.type_hints))

    def share(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]
