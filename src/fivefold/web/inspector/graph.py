"""Graph: the entities and their relations, as a list, and as a picture that a script draws from the same data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput, NotFound
from fivefold.service.session import Session
from fivefold.values.graph import Entity
from fivefold.values.paging import LARGEST
from fivefold.values.times import utc_now
from fivefold.web.inspector.acting import DONE, acting, onward
from fivefold.web.inspector.neighbourhood import MOST_EDGES, RelationReader, connect, find_neighbourhood
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.visit import Here
from fivefold.writing.graph import Graph

LISTED = 40
"""Entities listed where none is chosen."""

SPOKEN = 20
"""Memories shown that speak of an entity."""

router = APIRouter()

Word = Annotated[str, Query(max_length=1_000)]
Key = Annotated[int, Query(ge=0, lt=LARGEST)]
Typed = Annotated[str, Form(max_length=1_000)]


@router.get("/graph")
def graph(
    request: Request,
    visit: Here,
    entity: Annotated[int | None, Query(ge=0, lt=LARGEST)] = None,
    name: Word = "",
    cursor: Annotated[str, Query(max_length=4_000)] = "",
    done: str = "",
) -> Response:
    """The chosen entity with what is around it; without one, the most mentioned ones or those of that name."""
    if entity is None:
        return _several(request, visit, name.strip(), cursor)
    with acting(visit, "entity", [str(entity)]) as engine:
        return _shown(request, visit, engine.graph.entity(entity), done=DONE.get(done, ""))


def _several(request: Request, visit: Session, name: str, cursor: str) -> Response:
    error = ""
    with acting(visit, "entities") as engine:
        try:
            found = engine.graph.entities(name or None, LISTED, cursor or None)
        except InvalidInput as fault:
            found, error = engine.graph.entities(limit=LISTED), str(fault)
    if name and len(found) == 1:
        return onward(visit, "/graph", entity=found[0].id)
    return page(
        request,
        "graph.html",
        422 if error else 200,
        chosen=None,
        name=name,
        found=found,
        error=error,
        cursor=cursor,
        done="",
        neighbourhood=connect(RelationReader(engine.graph, utc_now()), found),
    )


@router.post("/graph/rename")
def rename(request: Request, visit: Here, entity: Key, name: Typed = "") -> Response:
    return _change(request, visit, entity, "rename", name, lambda known: known.rename(entity, name))


@router.post("/graph/alias")
def alias(request: Request, visit: Here, entity: Key, name: Typed = "") -> Response:
    return _change(request, visit, entity, "alias", name, lambda known: known.alias(entity, name))


@router.post("/graph/merge")
def merge(request: Request, visit: Here, entity: Key, name: Typed = "") -> Response:
    """The entity named was this one; its name, or its id where several have the name."""
    gone = int(name) if name.strip().isdecimal() else name
    return _change(request, visit, entity, "merge", name, lambda known: known.merge(entity, gone))


CHANGED = {"rename": "renamed", "alias": "aliased", "merge": "merged"}
ACTIONS = {"rename": "change entity", "alias": "change entity", "merge": "merge entities"}


def _change(
    request: Request, visit: Session, entity: int, what: str, typed: str, change: Callable[[Graph], Entity]
) -> Response:
    """Make the change, or show the entity again with what was typed and what is wrong with it."""
    try:
        with acting(visit, ACTIONS[what], [str(entity)], "writer") as engine:
            engine.graph.entity(entity)
            change(engine.graph)
    except (InvalidInput, NotFound) as error:
        chosen = visit.engine().graph.entity(entity)
        return _shown(request, visit, chosen, 422, typed={what: typed}, faults={what: str(error)})
    return onward(visit, "/graph", entity=entity, done=CHANGED[what])


def _shown(
    request: Request,
    visit: Session,
    chosen: Entity,
    status: int = 200,
    done: str = "",
    typed: dict[str, str] | None = None,
    faults: dict[str, str] | None = None,
) -> Response:
    engine = visit.engine()
    relations = RelationReader(engine.graph, utc_now())
    return page(
        request,
        "graph.html",
        status,
        chosen=chosen,
        name="",
        error="",
        done=done,
        own=relations.of(chosen.id),
        memories=engine.graph.memories(chosen.id, SPOKEN),
        spoken=SPOKEN,
        most=MOST_EDGES,
        typed={"rename": chosen.name, "alias": "", "merge": "", **(typed or {})},
        faults=faults or {},
        neighbourhood=find_neighbourhood(relations, chosen),
    )
