"""The turns of the running conversation, or of the one before it: no search, the turns themselves."""

from __future__ import annotations

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.retrieval.routes.window import DECIDES
from fivefold.retrieval.understand.conversations import conversations
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit


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
