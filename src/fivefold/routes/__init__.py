"""Routes: ways to find memories. A new one is one file here and one line in `ROUTES`."""

from __future__ import annotations

from fivefold.routes.associative import Associative
from fivefold.routes.base import Route, Sight
from fivefold.routes.dense import Dense
from fivefold.routes.graph import Graph
from fivefold.routes.lexical import Lexical
from fivefold.routes.signals import Frequency, Recency
from fivefold.routes.temporal import Temporal

ROUTES: dict[str, Route] = {
    "dense": Dense(),
    "lexical": Lexical(),
    "graph": Graph(),
    "temporal": Temporal(),
    "associative": Associative(),
    "recency": Recency(),
    "frequency": Frequency(),
}

__all__ = ["ROUTES", "Route", "Sight"]
