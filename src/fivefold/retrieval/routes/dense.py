"""Nearness in meaning: cosine between the question's vector and the memory's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fivefold.retrieval.routes.base import BaseRoute, SearchContext
from fivefold.stores.queries import Filter
from fivefold.values.field_types import About
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import VectorField


@dataclass(frozen=True, slots=True)
class DenseOptions:
    """Which of a memory's texts is compared (M1)."""

    field: Annotated[VectorField, About("Which text of a memory is compared")] = "full"


class Dense(BaseRoute):
    """Scores are cosines; below zero means unrelated and counts as nothing."""

    encodes = True
    options = DenseOptions

    def finds_sessions(self, options: DenseOptions) -> bool:
        return options.field == "session"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: DenseOptions) -> list[RouteHit]:
        if context.space is None:
            return []
        return context.reader.search.dense(context.space, options.field, context.question_vector(), depth, keep)

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]
