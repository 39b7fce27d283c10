"""A namespace as a whole: settings, what it holds, what it has learned, all of it out and in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Body, Depends, Query
from fastapi import Path as PathParameter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.learning.training import LearnedFromUse
from fivefold.retrieval.recipe import GROUPS
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.responses import (
    DeletedNamespace,
    Health,
    Name,
    Namespace,
    Readiness,
    RecipeInBrief,
    RemovedEdge,
    Unlearned,
    Who,
)
from fivefold.settings import Settings
from fivefold.transfer.jsonl import objects
from fivefold.values.access import AuditEntry
from fivefold.values.entities import Edge, Entity
from fivefold.values.memory import TEXT_FIELDS, Memory
from fivefold.values.reports import MAX_PLACE, Page, Report, Stats
from fivefold.values.validate import MAX_CONTENT
from fivefold.version import VERSION
from fivefold.web.auth import service_of
from fivefold.web.connections import LINES, export_of
from fivefold.web.rest.bodies import EdgeBody, EntityBody, EntityChanges, MergeBody, SplitBody, whole_numbers
from fivefold.web.rest.operations import Current, ValueResponse, operation
from fivefold.web.rest.recalls import Paging

graph_operation: Final = partial(operation, tag="graph")
namespaces_operation: Final = partial(operation, tag="namespaces")
server_operation: Final = partial(operation, tag="server")


@namespaces_operation("DELETE /v1/namespaces/{namespace:name}", "admin", "delete_namespace", namespace="trial")
def delete_namespace(action: Current) -> DeletedNamespace:
    """Delete a namespace with everything in it, for good. Keys and the audit log stay."""
    name = str(action.session.namespace)
    return DeletedNamespace(name, action.service.delete_namespace(action.caller, name), action.service.erasure())


@namespaces_operation("GET /settings", "reader", "settings")
def get_settings(action: Current) -> Settings:
    """The namespace's settings, with defaults for all others."""
    return action.engine.settings


@namespaces_operation("PATCH /settings", "admin", "configure", body={"timezone": "Europe/London", "recent_turns": 4})
def change_settings(action: Current, body: Annotated[dict[str, Any], Body()]) -> Settings:
    """Change settings; null restores a default."""
    return action.engine.configure(**whole_numbers(body))


@namespaces_operation("GET /stats", "reader", "stats")
def stats(action: Current) -> Stats:
    """The contents of the namespace."""
    return action.service.stats(action.caller, action.engine)


@namespaces_operation("GET /learned", "reader", "learned")
def learned(action: Current) -> LearnedFromUse:
    """Everything the namespace has learned from use so far, and its current weight."""
    return action.engine.learned()


@namespaces_operation("DELETE /learned", "admin", "unlearn")
def unlearn(action: Current) -> Unlearned:
    """Reset everything learned from use; the feedback stays."""
    action.engine.unlearn()
    return Unlearned(action.engine.namespace)


@namespaces_operation("GET /export", "reader", "export", gives=(LINES,), answers=None)
def export(action: Current) -> Response:
    """Every memory of the namespace, one JSON object a line, oldest first."""
    return export_of(action.engine)


async def lines_of(request: Request) -> Path:
    path: Path = request.state.lines
    return path


@namespaces_operation(
    "POST /import", "writer", "import", body='{"content": "The gas meter is behind the stairs"}\n', takes=LINES
)
def import_(action: Current, lines: Annotated[Path, Depends(lines_of)]) -> Report:
    """Read memories as JSON lines: an export, or records with at least a content. The same lines again add nothing.

    Every line is checked before any is stored.
    """
    limits = action.service.limits
    try:
        for number, data in objects(lines) if limits.text_chars < MAX_CONTENT else ():
            for name in TEXT_FIELDS:
                if isinstance(text := data.get(name), str):
                    limits.check_text(text, f"line {number}: {name}")
        return action.engine.import_jsonl(lines)
    except InvalidFile as error:
        raise (error.renamed("") if error.place else InvalidInput(f"the body {error.fault}")) from None


READ_ONLY = (
    "the store can only be read: its disk was full when the server started, or its file is read-only; "
    "make room or give the right to write, then start the server again"
)


class AuditFilters(Paging):
    """Filters of the audit log."""

    namespace: Name | None = Field(None, description="Of this namespace")
    key_id: Name | None = Field(None, description="Of this key")


@namespaces_operation("GET /v1/namespaces", "reader", "namespaces")
def list_namespaces(action: Current, paging: Annotated[Paging, Query()]) -> Page[Namespace]:
    """The namespaces that exist and that the key reaches, by name."""
    action.service.limits.check_page(paging.limit)
    return action.service.namespace_page(action.caller, paging.limit, paging.cursor)


@server_operation("GET /v1/key", "reader", "key")
def who_am_i(action: Current) -> Who:
    """The caller and its rights."""
    return Who(action.caller.key_id, action.caller.role, action.caller.namespaces)


@server_operation("GET /v1/audit", "admin", "audit", query={"limit": "2"})
def audit(action: Current, filters: Annotated[AuditFilters, Query()]) -> Page[AuditEntry]:
    """The audit log, latest first, in the namespaces that the key reaches."""
    action.service.limits.check_page(filters.limit)
    return action.service.audit.entries(
        filters.limit, filters.cursor, filters.namespace, filters.key_id, caller=action.caller
    )


@server_operation("GET /v1/recipes", "reader", "recipes")
def list_recipes(action: Current) -> Page[RecipeInBrief]:
    """The recipes a recall can name."""
    recipes = [load_recipe(name) for name in known_recipes()]
    return Page(
        tuple(
            RecipeInBrief(
                name=one.name,
                summary=one.summary,
                routes=tuple(route.name for route in one.routes),
                fusion=one.fusion.method,
                stages=sum(len(getattr(one, group)) for group in GROUPS),
            )
            for one in recipes
        )
    )


async def health() -> Response:
    """The process runs."""
    # A coroutine needs no thread, so that requests that wait for the store do not block it.
    return ValueResponse(Health("ok", VERSION))


def ready(request: Request) -> Response:
    """The store answers, and is in the form this version writes."""
    store = service_of(request).engines.store
    store.keys.has_any()
    return ValueResponse(Readiness("read-only", READ_ONLY) if store.keys.read_only else Readiness("ok"))


Id = Annotated[int, PathParameter(ge=0, lt=MAX_PLACE)]


class EntityFilters(Paging):
    """Filters of the list of entities."""

    name: str | None = Field(None, max_length=200, description="A name or an alias it has")


@graph_operation("GET /entities", "reader", "entities", query={"limit": "2"})
def list_entities(action: Current, filters: Annotated[EntityFilters, Query()]) -> Page[Entity]:
    """Entities, the most frequent first, or the entities with a name."""
    action.service.limits.check_page(filters.limit)
    return action.engine.graph.entities(**filters.model_dump())


@graph_operation(
    "POST /entities", "writer", "add entity", body={"name": "Harbour Street", "aliases": ["the old flat"]}, status=201
)
def add_entity(action: Current, body: EntityBody) -> Entity:
    """Add an entity by hand; it stays even if no memory mentions it."""
    return action.engine.graph.add(**body.model_dump())


@graph_operation("GET /entities/{id:name}", "reader", "entity", id="1")
def get_entity(action: Current, id: Id) -> Entity:
    """One entity."""
    return action.engine.graph.entity(id)


@graph_operation("PATCH /entities/{id:name}", "writer", "change entity", id="1", body={"alias": "M."})
def change_entity(action: Current, id: Id, body: EntityChanges) -> Entity:
    """Rename an entity, or add an alias."""
    if (body.name is None) == (body.alias is None):
        raise InvalidInput("give either a new name or one more alias")
    graph = action.engine.graph
    return graph.rename(id, body.name) if body.name is not None else graph.alias(id, str(body.alias))


@graph_operation("GET /entities/{id:name}/edges", "reader", "edges", id="1", query={"limit": "2"})
def entity_edges(action: Current, id: Id, paging: Annotated[Paging, Query()]) -> Page[Edge]:
    """The relations of an entity, surest first."""
    action.service.limits.check_page(paging.limit)
    return action.engine.graph.edges(id, **paging.model_dump())


@graph_operation("GET /entities/{id:name}/memories", "reader", "entity", id="1", query={"limit": "1"})
def entity_memories(action: Current, id: Id, paging: Annotated[Paging, Query()]) -> Page[Memory]:
    """The memories that mention an entity, latest first."""
    action.service.limits.check_page(paging.limit)
    return action.engine.graph.memories(id, **paging.model_dump())


@graph_operation("POST /entities/{id:name}/merge", "writer", "merge entities", id="1", body={"gone": 3})
def merge_entities(action: Current, id: Id, body: MergeBody) -> Entity:
    """Merge two entities: links, aliases and relations of the other move over."""
    return action.engine.graph.merge(id, body.gone)


@graph_operation(
    "POST /entities/{id:name}/split",
    "writer",
    "split entity",
    id="1",
    body={"name": "Maya the cat", "memories": ["s01.01"]},
    status=201,
)
def split_entity(action: Current, id: Id, body: SplitBody) -> Entity:
    """Split one entity into two: these memories are about the other one."""
    return action.engine.graph.split(id, body.name, body.memories)


@graph_operation(
    "POST /edges", "writer", "relate", body={"source": 1, "relation": "works with", "target": 2}, status=201
)
def add_edge(action: Current, body: EdgeBody) -> Edge:
    """Add a relation by hand, or change an existing one."""
    return action.engine.graph.relate(**body.model_dump())


@graph_operation("DELETE /edges/{id:name}", "writer", "unrelate", id="1")
def remove_edge(action: Current, id: Id) -> RemovedEdge:
    """Remove a relation."""
    action.engine.graph.unrelate(id)
    return RemovedEdge(id)
