"""The route of late interaction: the memories nearest by vector or by words, ranked token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fivefold.retrieval.routes.base import BaseRoute, SearchContext
from fivefold.retrieval.routes.late_scores import late_scores
from fivefold.retrieval.routes.lexical import words
from fivefold.stores.queries import Filter
from fivefold.values.recall_trace import RouteHit


class Late(BaseRoute):
    """Its candidates are the best `depth` of dense and of lexical search; a score is a weighted mean of cosines."""

    encodes = True

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Any) -> list[RouteHit]:
        if context.space is None:
            return []
        search = context.reader.search
        near = search.dense(context.space, "full", context.question_vector(), depth, keep)
        worded = search.lexical(words(context.query), depth, keep)
        scores = late_scores(context, list(dict.fromkeys(hit.row for hit in (*near, *worded))))
        if not scores:
            return [replace(hit, note="by its vector: it has no token vectors") for hit in near]
        ranked = sorted(scores.items(), key=lambda item: (-item[1].score, item[0]))
        return [RouteHit(row, found.score, part=found.part) for row, found in ranked[:depth]]

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]
