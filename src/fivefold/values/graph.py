"""The entity graph: entities, the relations between them, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from fivefold.values.serialize import Value

EntityKind = Literal["person", "name", "identifier", "topic"]


EdgeKind = Literal["structural", "semantic", "lifecycle"]
EDGE_KINDS: tuple[EdgeKind, ...] = get_args(EdgeKind)

CO_MENTION = "mentioned with"
"""The relation of two entities that texts only mention together."""


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """A relation between two entities that a text states; lifecycle when it has ended or is said to end (R6)."""

    source: str
    relation: str
    target: str
    kind: EdgeKind = "structural"
    ended: bool = False
    confidence: float = 0.9


@dataclass(frozen=True, slots=True)
class Entity(Value):
    """Someone or something the namespace knows by name."""

    id: int
    name: str
    kind: str
    links: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge(Value):
    """A relation between two entities of the graph; past `valid_to` it counts for less (R6)."""

    id: int
    source: str
    relation: str
    target: str
    kind: EdgeKind
    confidence: float
    count: int
    valid_from: datetime | None
    valid_to: datetime | None
    source_id: int = 0
    target_id: int = 0

    @property
    def is_co_mention(self) -> bool:
        return self.relation == CO_MENTION
