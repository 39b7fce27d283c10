"""Nearness in meaning: cosine between the question's vector and the memory's."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.recall import Query, RouteHit
from fivefold.routes.base import Sight
from fivefold.settings import Settings
from fivefold.stores.base import Filter


class Dense:
    """Scores are cosines; below zero means unrelated and counts as nothing."""

    encodes = True

    def unable(self, query: Query) -> str | None:
        return None

    def idle(self, query: Query) -> str | None:
        return None

    def bound(self, query: Query, settings: Settings) -> str:
        return ""

    def search(self, sight: Sight, depth: int, keep: Filter) -> list[RouteHit]:
        if sight.space is None:
            return []
        return sight.reader.dense(sight.space, "full", sight.question_vector(), depth, keep)

    def share(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]
