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
from fivefold.web.inspector.confirmations import confirmation, redirect
from fivefold.web.inspector.neighbourhood import MOST_EDGES, RelationReader, connect, find_neighbourhood, find_user
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import page
from fivefold.writing.graph import Graph

PAGE = 40
"""Entities in the list where none is chosen."""

MOST_MEMORIES = 20
"""Memories on the page of an entity that they mention."""

CHANGES = {
    "rename": ("change entity", "renamed"),
    "alias": ("change entity", "aliased"),
    "merge": ("merge entities", "merged"),
}
"""By the name of a form: the action in the audit log, and the word for the confirmation."""

router = APIRouter()

Id = Annotated[int, Query(ge=0, lt=LARGEST)]
Name = Annotated[str, Form(max_length=1_000)]


@router.get("/graph")
def graph(
    request: Request,
    session: PageSession,
    entity: Annotated[int | None, Query(ge=0, lt=LARGEST)] = None,
    name: Annotated[str, Query(max_length=1_000)] = "",
    cursor: Annotated[str, Query(max_length=4_000)] = "",
    done: str = "",
) -> Response:
    """The chosen entity with its neighbourhood; without one, the most mentioned ones or those with that name."""
    if entity is None:
        return _list_page(request, session, name.strip(), cursor)
    with session.act("entity", subject=str(entity)) as act:
        return _entity_page(request, session, act.engine.graph.entity(entity), done=confirmation(done))


def _list_page(request: Request, session: Session, name: str, cursor: str) -> Response:
    error = ""
    with session.act("entities") as act:
        graph = act.engine.graph
        try:
            entities = graph.entities(name or None, PAGE, cursor or None)
        except InvalidInput as problem:
            entities, error = graph.entities(limit=PAGE), str(problem)
    if name and len(entities) == 1:
        return redirect(session, "/graph", entity=entities[0].id)
    return page(
        request,
        "graph.html",
        422 if error else 200,
        chosen=None,
        name=name,
        entities=entities,
        error=error,
        cursor=cursor,
        done="",
        neighbourhood=connect(RelationReader(graph, utc_now()), entities, None if name or cursor else find_user(graph)),
    )


@router.post("/graph/rename")
def rename(request: Request, session: PageSession, entity: Id, name: Name = "") -> Response:
    return _change(request, session, entity, "rename", name, lambda graph: graph.rename(entity, name))


@router.post("/graph/alias")
def alias(request: Request, session: PageSession, entity: Id, name: Name = "") -> Response:
    return _change(request, session, entity, "alias", name, lambda graph: graph.alias(entity, name))


@router.post("/graph/merge")
def merge(request: Request, session: PageSession, entity: Id, name: Name = "") -> Response:
    """Merges the entity with that name into this one; an id where several have the name."""
    other = int(name) if name.strip().isdecimal() else name
    return _change(request, session, entity, "merge", name, lambda graph: graph.merge(entity, other))


def _change(
    request: Request, session: Session, entity: int, form: str, name: str, change: Callable[[Graph], Entity]
) -> Response:
    """Make the change, or show the entity again with the text of the form and the error."""
    action, done = CHANGES[form]
    try:
        with session.act(action, "writer", str(entity)) as act:
            act.engine.graph.entity(entity)
            change(act.engine.graph)
    except (InvalidInput, NotFound) as error:
        chosen = session.engine().graph.entity(entity)
        return _entity_page(request, session, chosen, 422, names={form: name}, errors={form: str(error)})
    return redirect(session, "/graph", entity=entity, done=done)


def _entity_page(
    request: Request,
    session: Session,
    chosen: Entity,
    status: int = 200,
    done: str = "",
    names: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
) -> Response:
    graph = session.engine().graph
    relations = RelationReader(graph, utc_now())
    return page(
        request,
        "graph.html",
        status,
        chosen=chosen,
        name="",
        error="",
        done=done,
        relations=relations.of(chosen.id),
        most_relations=MOST_EDGES,
        memories=graph.memories(chosen.id, MOST_MEMORIES),
        most_memories=MOST_MEMORIES,
        names={"rename": chosen.name, "alias": "", "merge": "", **(names or {})},
        errors=errors or {},
        neighbourhood=find_neighbourhood(relations, chosen),
    )
