"""Routes: ways to find memories. A new one is one file here and one line in `_BUILTIN`."""

from __future__ import annotations

from fivefold.retrieval.routes.associative import Associative
from fivefold.retrieval.routes.base import Route, SearchContext
from fivefold.retrieval.routes.graph import Graph
from fivefold.retrieval.routes.late import Late
from fivefold.retrieval.routes.searches import Dense, Lexical, Parts
from fivefold.retrieval.routes.signals import Frequency, Recency
from fivefold.retrieval.routes.standing import STANDING, Standing
from fivefold.retrieval.routes.times import InWindow, Temporal, Turns
from fivefold.values.registry import Registry, members_of

_BUILTIN: dict[str, Route] = {
    "dense": Dense(),
    "lexical": Lexical(),
    "late": Late(),
    "graph": Graph(),
    "temporal": Temporal(),
    "window": InWindow(),
    "turns": Turns(),
    "parts": Parts(),
    STANDING: Standing(),
    "associative": Associative(),
    "recency": Recency(),
    "frequency": Frequency(),
}

ROUTES = Registry("routes", _BUILTIN, members_of(Route))

__all__ = ["ROUTES", "Route", "SearchContext"]
