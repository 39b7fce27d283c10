"""What an entity is, as far as the graph tells: who lives somewhere is a person, and where is a place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from fivefold.values.graph import Edge, Entity

ShownKind = Literal["user", "person", "place", "organisation", "identifier", "topic", "other"]
SHOWN_KINDS: tuple[ShownKind, ...] = get_args(ShownKind)
"""In the order of the legend; each has its colour."""

USER = "user"
"""The name under which the graph has the person whose memory it is."""

_ENDS: dict[str, tuple[ShownKind | None, ShownKind | None]] = {
    "lives in": ("person", "place"),
    "located in": (None, "place"),
    "works at": ("person", "organisation"),
    "founded": ("person", "organisation"),
    "part of": ("organisation", "organisation"),
    "member of": ("person", "organisation"),
    "reports to": ("person", "person"),
    "married to": ("person", "person"),
    "is called": ("person", "person"),
    "works on": ("person", None),
    "owns": ("person", None),
    "leads": ("person", None),
}
"""What a relation says of its source and of its target. A role, as in "sister of", is between persons."""


def kind_of(entity: Entity, edges: Iterable[Edge]) -> ShownKind:
    """By its name, by the kind it is stored with, or by the first relation that tells."""
    if entity.name.casefold() == USER:
        return "user"
    if entity.kind in ("person", "identifier", "topic"):
        return entity.kind  # type: ignore[return-value]
    return next((kind for edge in edges if (kind := _kind_by(edge, entity.id)) is not None), "other")


def _kind_by(edge: Edge, key: int) -> ShownKind | None:
    role: tuple[ShownKind | None, ...] = ("person", "person") if edge.relation.endswith(" of") else (None, None)
    source, target = _ENDS.get(edge.relation, role)
    return source if edge.source_id == key else target
