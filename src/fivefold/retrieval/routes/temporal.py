"""What happened in the window the question asks about: a range over event times, events only (R8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.values.field_types import About, Between
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit


@dataclass(frozen=True, slots=True)
class TemporalOptions(Options):
    """Which events belong to the window."""

    named: Annotated[bool, About("Whether an event counts too that was said at another time and names the window")] = (
        False
    )
    hinted: Annotated[
        float, Between(0, 1), About("What the weight is multiplied by where a recent time is only hinted at (R10)")
    ] = 0.5


class Temporal(BaseRoute):
    """Every event of the window counts the same; the other routes rank them. Its type is fixed (R9)."""

    options = TemporalOptions

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        if query.window is None and not any(cue.kind == "recent" for cue in query.cues):
            return "the question names no time"
        return None

    def search(self, context: SearchContext, depth: int, keep: Filter, options: TemporalOptions) -> list[RouteHit]:
        window = context.query.window
        if window is not None:
            return context.reader.search.temporal(window.start, window.end, depth, keep, named=options.named)
        start = context.query.now - timedelta(days=context.settings.recent_days)
        hits = context.reader.search.temporal(start, context.query.now, depth, keep)
        return [replace(hit, factor=options.hinted) for hit in hits]
