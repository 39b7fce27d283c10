"""What happened in the window the question asks about: a range over event times, events only (R8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fivefold.retrieval.routes.base import Options, SearchContext, Searching
from fivefold.stores.queries import Filter
from fivefold.values.query import Query
from fivefold.values.recall import RouteHit

SPECULATIVE = 0.5
"""What a hit weighs when the question only hints at a recent time without naming one (R10)."""


class Temporal(Searching):
    """Every event of the window counts alike; the other routes tell them apart. Its type is fixed (R9)."""

    def unable(self, query: Query) -> str | None:
        if query.window is None and not any(cue.kind == "recent" for cue in query.cues):
            return "the question names no time"
        return None

    def search(self, search: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        window = search.query.window
        if window is not None:
            return search.reader.temporal(window.start, window.end, depth)
        start = search.query.now - timedelta(days=search.settings.recent_days)
        return [replace(hit, factor=SPECULATIVE) for hit in search.reader.temporal(start, search.query.now, depth)]
