"""Which entities and relations the picture of the graph shows; the browser draws it (static/graph.js)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fivefold.values.graph import Edge, Entity
from fivefold.web.inspector.rendering import address, plural, shorten
from fivefold.writing.graph import Graph

MOST_ENTITIES = 20
"""Entities in the picture, so that it stays readable; the script draws fewer on a phone."""

MOST_EDGES = 200
"""Relations read of one entity, surest first."""

FEW = 6
"""With fewer neighbours than this, the picture shows theirs too."""

FURTHER = 4
"""The most further neighbours of each neighbour."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the graph, and whether it has ended."""

    edge: Edge
    ended: bool

    @property
    def stated(self) -> bool:
        """Whether a text states it; otherwise the two are only mentioned together."""
        return not self.edge.is_co_mention

    @property
    def ends(self) -> tuple[int, int]:
        return self.edge.source_id, self.edge.target_id


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entities, best first, and the relations between them; the chosen entity, if any, is the first."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    chosen: bool = False
    left_out: int = 0
    """Neighbours of the chosen entity beyond `MOST_ENTITIES`."""

    def to_json(self, namespace: str) -> str:
        """What the script draws; a relation names its entities by their place in the list."""
        places = {entity.id: place for place, entity in enumerate(self.entities)}
        entities = [
            {
                "name": shorten(entity.name, 80),
                "label": f"{shorten(entity.name, 80)}, {plural(entity.links, 'mention', 'mentions')}",
                "mentions": max(0, entity.links),
                "href": address("/graph", namespace, {"entity": entity.id}),
                "chosen": self.chosen and place == 0,
            }
            for place, entity in enumerate(self.entities)
        ]
        relations = [
            {
                "source": places[item.edge.source_id],
                "target": places[item.edge.target_id],
                "name": shorten(item.edge.relation, 80),
                "stated": item.stated,
                "ended": item.ended,
                "count": item.edge.count,
            }
            for item in self.relations
        ]
        return json.dumps({"entities": entities, "relations": relations, "left_out": self.left_out})


class RelationReader:
    """Reads relations from the graph, those of an entity once."""

    def __init__(self, graph: Graph, now: datetime) -> None:
        self.graph = graph
        self._now = now
        self._known: dict[int, list[Relation]] = {}

    def of(self, entity: int) -> list[Relation]:
        """The relations of an entity: stated ones first, of these the current ones, surest first."""
        if entity not in self._known:
            relations = [Relation(edge, self._has_ended(edge)) for edge in self.graph.edges(entity, MOST_EDGES)]
            self._known[entity] = sorted(relations, key=_order)
        return self._known[entity]

    def _has_ended(self, edge: Edge) -> bool:
        return edge.valid_to is not None and edge.valid_to <= self._now


def find_neighbourhood(reader: RelationReader, chosen: Entity) -> Neighbourhood:
    """The chosen entity with its neighbours; where it has few, also some of theirs."""
    own = reader.of(chosen.id)
    near = _other_ends(own, {chosen.id})
    others = near[: MOST_ENTITIES - 1]
    by_neighbour = {key: reader.of(key) for key in others}
    if len(others) < FEW:
        seen = {chosen.id, *others}
        others += dict.fromkeys(key for each in by_neighbour.values() for key in _other_ends(each, seen)[:FURTHER])
    entities = (chosen, *reader.graph.entities_by_id(others[: MOST_ENTITIES - 1]))
    relations = {item.edge.id: item for each in (own, *by_neighbour.values()) for item in each}
    left_out = max(0, len(near) - MOST_ENTITIES + 1)
    return Neighbourhood(entities, _between(relations.values(), entities), True, left_out)


def connect(reader: RelationReader, entities: Sequence[Entity]) -> Neighbourhood:
    """The first of these entities that have a relation to another of them."""
    first = entities[: 2 * MOST_ENTITIES]
    relations = {item.edge.id: item for entity in first for item in reader.of(entity.id)}
    related = _related(_related(first, relations.values())[:MOST_ENTITIES], relations.values())
    return Neighbourhood(tuple(related), _between(relations.values(), related))


def _other_ends(relations: Iterable[Relation], seen: set[int]) -> list[int]:
    """The entities of these relations that are not `seen`, in the order of the relations."""
    return [key for key in dict.fromkeys(key for item in relations for key in item.ends) if key not in seen]


def _related(entities: Sequence[Entity], relations: Iterable[Relation]) -> list[Entity]:
    ends = {key for item in _between(relations, entities) for key in item.ends}
    return [entity for entity in entities if entity.id in ends]


def _between(relations: Iterable[Relation], entities: Sequence[Entity]) -> tuple[Relation, ...]:
    """The relations between these entities; co-mentions of a pair are left out where a text states a relation."""
    ids = {entity.id for entity in entities}
    inside = [item for item in relations if ids.issuperset(item.ends) and item.edge.source_id != item.edge.target_id]
    stated = {frozenset(item.ends) for item in inside if item.stated}
    return tuple(sorted((item for item in inside if item.stated or frozenset(item.ends) not in stated), key=_order))


def _order(item: Relation) -> tuple[bool, bool, float, int]:
    return not item.stated, item.ended, -item.edge.confidence, item.edge.id
