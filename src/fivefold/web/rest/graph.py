"""The entity graph: look entities up, put them right by hand, relate them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from fivefold.errors import InvalidInput
from fivefold.service.responses import RemovedEdge
from fivefold.values.graph import Edge, Entity
from fivefold.values.memory import Memory
from fivefold.values.paging import LARGEST, Page
from fivefold.web.rest.bodies import EdgeBody, EntityBody, EntityChanges, MergeBody, SplitBody
from fivefold.web.rest.operations import IN, JSON, Current, Example, operation
from fivefold.web.rest.sessions import Paging

HERE = {"namespace": "default"}
ONE = {"namespace": "default", "id": "1"}
TAG = "graph"
Id = Annotated[int, Path(ge=0, lt=LARGEST)]


class EntityFilters(Paging):
    """Which entities are listed."""

    name: str | None = Field(None, max_length=200, description="A name or an alias it has")


@operation(
    "GET",
    f"{IN}/entities",
    role="reader",
    action="entities",
    tag=TAG,
    answers=Page[Entity],
    example=Example(HERE, {"limit": "2"}),
)
def list_entities(action: Current, filters: Annotated[EntityFilters, Query()]) -> Page[Entity]:
    """Entities, the most mentioned first, or those under one name."""
    action.service.limits.check_page(filters.limit)
    return action.engine.graph.entities(**filters.model_dump())


@operation(
    "POST",
    f"{IN}/entities",
    role="writer",
    action="add entity",
    tag=TAG,
    answers=Entity,
    status=201,
    takes=JSON,
    example=Example(HERE, body={"name": "Harbour Street", "aliases": ["the old flat"]}),
)
def add_entity(action: Current, body: EntityBody) -> Entity:
    """An entity made by hand; it stays even when nothing mentions it."""
    return action.engine.graph.add(**body.model_dump())


@operation(
    "GET", f"{IN}/entities/{{id:name}}", role="reader", action="entity", tag=TAG, answers=Entity, example=Example(ONE)
)
def get_entity(action: Current, id: Id) -> Entity:
    """One entity."""
    return action.engine.graph.entity(id)


@operation(
    "PATCH",
    f"{IN}/entities/{{id:name}}",
    role="writer",
    action="change entity",
    tag=TAG,
    answers=Entity,
    takes=JSON,
    example=Example(ONE, body={"alias": "M."}),
)
def change_entity(action: Current, id: Id, body: EntityChanges) -> Entity:
    """Rename an entity, or give it one more name."""
    if (body.name is None) == (body.alias is None):
        raise InvalidInput("give either a new name or one more alias")
    graph = action.engine.graph
    return graph.rename(id, body.name) if body.name is not None else graph.alias(id, str(body.alias))


@operation(
    "GET",
    f"{IN}/entities/{{id:name}}/edges",
    role="reader",
    action="edges",
    tag=TAG,
    answers=Page[Edge],
    example=Example(ONE, {"limit": "2"}),
)
def entity_edges(action: Current, id: Id, paging: Annotated[Paging, Query()]) -> Page[Edge]:
    """The relations of an entity, surest first."""
    action.service.limits.check_page(paging.limit)
    return action.engine.graph.edges(id, **paging.model_dump())


@operation(
    "GET",
    f"{IN}/entities/{{id:name}}/memories",
    role="reader",
    action="entity",
    tag=TAG,
    answers=Page[Memory],
    example=Example(ONE, {"limit": "1"}),
)
def entity_memories(action: Current, id: Id, paging: Annotated[Paging, Query()]) -> Page[Memory]:
    """What speaks of an entity, latest first."""
    action.service.limits.check_page(paging.limit)
    return action.engine.graph.memories(id, **paging.model_dump())


@operation(
    "POST",
    f"{IN}/entities/{{id:name}}/merge",
    role="writer",
    action="merge entities",
    tag=TAG,
    answers=Entity,
    takes=JSON,
    example=Example(ONE, body={"gone": 3}),
)
def merge_entities(action: Current, id: Id, body: MergeBody) -> Entity:
    """Two entities were one: links, aliases and relations of the other move over."""
    return action.engine.graph.merge(id, body.gone)


@operation(
    "POST",
    f"{IN}/entities/{{id:name}}/split",
    role="writer",
    action="split entity",
    tag=TAG,
    answers=Entity,
    status=201,
    takes=JSON,
    example=Example(ONE, body={"name": "Maya the cat", "memories": ["s01.01"]}),
)
def split_entity(action: Current, id: Id, body: SplitBody) -> Entity:
    """One entity was two: these memories speak of the other one."""
    return action.engine.graph.split(id, body.name, body.memories)


@operation(
    "POST",
    f"{IN}/edges",
    role="writer",
    action="relate",
    tag=TAG,
    answers=Edge,
    status=201,
    takes=JSON,
    example=Example(HERE, body={"source": 1, "relation": "works with", "target": 2}),
)
def add_edge(action: Current, body: EdgeBody) -> Edge:
    """A relation made by hand, or a known one changed."""
    return action.engine.graph.relate(**body.model_dump())


@operation(
    "DELETE",
    f"{IN}/edges/{{id:name}}",
    role="writer",
    action="unrelate",
    tag=TAG,
    answers=RemovedEdge,
    example=Example(ONE),
)
def remove_edge(action: Current, id: Id) -> RemovedEdge:
    """Take a relation away."""
    action.engine.graph.unrelate(id)
    return RemovedEdge(id)
