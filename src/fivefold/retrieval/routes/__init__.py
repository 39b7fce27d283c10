"""Routes: ways to find memories. A new one is one file here and one line in `ROUTES`."""

from __future__ import annotations

from fivefold.retrieval.routes.associative import Associative
from fivefold.retrieval.routes.base import Route, SearchContext
from fivefold.retrieval.routes.dense import Dense
from fivefold.retrieval.routes.graph import Graph
from fivefold.retrieval.routes.lexical import Lexical
from fivefold.retrieval.routes.signals import Frequency, Recency
from fivefold.retrieval.routes.temporal import Temporal

ROUTES: dict[str, Route] = {
    "dense": Dense(),
    "lexical": Lexical(),
    "graph": Graph(),
    "temporal": Temporal(),
    "associative": Associative(),
    "recency": Recency(),
    "frequency": Frequency(),
}

__all__ = ["ROUTES", "Route", "SearchContext"]
