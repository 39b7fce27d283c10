"""What happened in the window the question asks about: a range over event times, events only (R8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fivefold.retrieval.routes.base import Options, Searching, Sight
from fivefold.stores.protocol import Filter
from fivefold.values.recall import Query, RouteHit

SPECULATIVE = 0.5
"""What a hit weighs when the question only hints at a recent time without naming one (R10)."""


class Temporal(Searching):
    """Every event of the window counts alike; the other routes tell them apart. Its type is fixed (R9)."""

    def unable(self, query: Query) -> str | None:
        if query.window is None and not any(cue.kind == "recent" for cue in query.cues):
            return "the question names no time"
        return None

    def search(self, sight: Sight, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        window = sight.query.window
        if window is not None:
            return sight.reader.temporal(window.start, window.end, depth)
        start = sight.query.now - timedelta(days=sight.settings.recent_days)
        return [replace(hit, factor=SPECULATIVE) for hit in sight.reader.temporal(start, sight.query.now, depth)]
