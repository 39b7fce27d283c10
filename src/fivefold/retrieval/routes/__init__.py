"""Routes: ways to find memories. A new one is one class and one line in `ROUTES`."""

from __future__ import annotations

from fivefold.retrieval.protocols import Route, SearchContext
from fivefold.retrieval.routes.late import Late
from fivefold.retrieval.routes.searches import STANDING, Dense, Graph, InWindow, Lexical, QuestionParts, Rules, Turns
from fivefold.values.registry import Registry, members_of

ROUTES = Registry[Route](
    "routes",
    {
        "dense": Dense(),
        "lexical": Lexical(),
        "late": Late(),
        "graph": Graph(),
        "temporal": "fivefold.designs.recall:TEMPORAL",
        "window": InWindow(),
        "turns": Turns(),
        "parts": QuestionParts(),
        STANDING: Rules(),
        "associative": "fivefold.designs.engram:ASSOCIATIVE",
        "recency": "fivefold.designs.ditto:RECENCY",
        "frequency": "fivefold.designs.ditto:FREQUENCY",
    },
    members_of(Route),
)
"""Every route by its name in recipes; a reference loads the design that has it."""

__all__ = ["ROUTES", "Route", "SearchContext"]
