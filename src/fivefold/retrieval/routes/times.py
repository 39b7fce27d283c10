"""The turns of the running conversation, or of the one before it: no search, the turns themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.retrieval.understand.windows import conversations
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit

# What happened in the window the question asks about: a range over event times, events only (R8).


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


# What belongs to the time the question asks about: said in it, or naming it, whatever the type.

DECIDES = 4.0
"""How much more a hit weighs where the time alone decides: all of them go on, however unlike the words are."""


class InWindow(BaseRoute):
    """Every memory of the window counts by how well it fits; the other routes rank them."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.window is not None else "the question names no time"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        window, demand = context.query.window, context.query.demand("window")
        assert window is not None
        hits = context.reader.search.within(window.start, window.end, depth, keep)
        decides = demand is not None and demand.decides
        return [replace(hit, factor=DECIDES) for hit in hits] if decides else hits


class Turns(BaseRoute):
    """The latest turn first: 1 for it, then 1/2, 1/3, …"""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        asked = query.demand("just now", "last time")
        return None if asked is not None else "the question asks for no turns of a conversation"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        demand = context.query.demand("just now", "last time")
        assert demand is not None
        found = conversations(context.reader, context.query.now)
        session = found.last if demand.kind == "last time" else found.running or found.last
        if session is None:
            return []
        turns = context.reader.sessions.turns(session.id)
        turns = [turn for turn in turns if turn.event_at <= context.query.now and keep.matches(turn)]
        factor = DECIDES if demand.decides else 1.0
        return [RouteHit(turn.row, 1 / place, factor=factor) for place, turn in enumerate(turns[: -depth - 1 : -1], 1)]
