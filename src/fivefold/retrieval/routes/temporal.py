"""What happened in the window the question asks about: a range over event times, events only (R8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit

SPECULATIVE = 0.5
"""What a hit weighs when the question only hints at a recent time without naming one (R10)."""


class Temporal(BaseRoute):
    """Every event of the window counts the same; the other routes rank them. Its type is fixed (R9)."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        if query.window is None and not any(cue.kind == "recent" for cue in query.cues):
            return "the question names no time"
        return None

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        window = context.query.window
        if window is not None:
            return context.reader.search.temporal(window.start, window.end, depth, keep)
        start = context.query.now - timedelta(days=context.settings.recent_days)
        hits = context.reader.search.temporal(start, context.query.now, depth, keep)
        return [replace(hit, factor=SPECULATIVE) for hit in hits]
