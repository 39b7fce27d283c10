"""A namespace as a whole: settings, what it holds, what it has learned, all of it out and in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Depends, Query
from fastapi import Path as PathParameter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.learning.training import LearnedFromUse
from fivefold.retrieval.recipe import STAGED
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.limits import Limits
from fivefold.service.responses import (
    DeletedNamespace,
    Health,
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
from fivefold.values.reports import LARGEST, Page, Report, Stats
from fivefold.values.validate import MAX_CONTENT
from fivefold.version import VERSION
from fivefold.web.auth import service_of
from fivefold.web.connections import LINES, export_of
from fivefold.web.rest.bodies import EdgeBody, EntityBody, EntityChanges, MergeBody, Name, SplitBody
from fivefold.web.rest.operations import IN, JSON, Current, Example, ValueResponse, operation
from fivefold.web.rest.recalls import Paging

HERE = {"namespace": "default"}
TAG = "namespaces"


@operation(
    "DELETE",
    IN,
    role="admin",
    action="delete_namespace",
    tag=TAG,
    answers=DeletedNamespace,
    example=Example({"namespace": "trial"}),
)
def delete_namespace(action: Current) -> DeletedNamespace:
    """Delete a namespace with everything in it, for good. Keys and the audit log stay."""
    name = str(action.session.namespace)
    return DeletedNamespace(name, action.service.delete_namespace(action.caller, name), action.service.erasure())


@operation("GET", f"{IN}/settings", role="reader", action="settings", tag=TAG, answers=Settings, example=Example(HERE))
def get_settings(action: Current) -> Settings:
    """The namespace's settings, defaults where nothing is set."""
    return action.engine.settings


@operation(
    "PATCH",
    f"{IN}/settings",
    role="admin",
    action="configure",
    tag=TAG,
    answers=Settings,
    takes=JSON,
    example=Example(HERE, body={"timezone": "Europe/London", "recent_turns": 4}),
)
def change_settings(action: Current, body: Annotated[dict[str, Any], Body()]) -> Settings:
    """Change settings; null brings a default back."""
    return action.engine.configure(**body)


@operation("GET", f"{IN}/stats", role="reader", action="stats", tag=TAG, answers=Stats, example=Example(HERE))
def stats(action: Current) -> Stats:
    """What the namespace holds."""
    return action.service.stats(action.caller, action.engine)


@operation(
    "GET", f"{IN}/learned", role="reader", action="learned", tag=TAG, answers=LearnedFromUse, example=Example(HERE)
)
def learned(action: Current) -> LearnedFromUse:
    """What the namespace has learned from use so far, and how far it counts."""
    return action.engine.learned()


@operation("DELETE", f"{IN}/learned", role="admin", action="unlearn", tag=TAG, answers=Unlearned, example=Example(HERE))
def unlearn(action: Current) -> Unlearned:
    """Forget what was learned from use; the feedback stays."""
    action.engine.unlearn()
    return Unlearned(action.engine.namespace)


@operation(
    "GET", f"{IN}/export", role="reader", action="export", tag=TAG, answers=None, gives=(LINES,), example=Example(HERE)
)
def export(action: Current) -> Response:
    """Every memory of the namespace, one JSON object a line, oldest first."""
    return export_of(action.engine)


async def lines_of(request: Request) -> Path:
    path: Path = request.state.lines
    return path


@operation(
    "POST",
    f"{IN}/import",
    role="writer",
    action="import",
    tag=TAG,
    answers=Report,
    takes=LINES,
    example=Example(HERE, body='{"content": "The gas meter is behind the stairs"}\n'),
)
def import_(action: Current, lines: Annotated[Path, Depends(lines_of)]) -> Report:
    """Read memories as JSON lines: an export, or records with at least a content. The same lines again add nothing.

    Every line is checked before any is stored.
    """
    try:
        _check_texts(lines, action.service.limits)
        return action.engine.import_jsonl(lines)
    except InvalidFile as error:
        raise (error.renamed("") if error.place else InvalidInput(f"the body {error.fault}")) from None


def _check_texts(lines: Path, limits: Limits) -> None:
    """No text longer than the server takes, where it takes less than the library."""
    if limits.text_chars >= MAX_CONTENT:
        return
    for number, data in objects(lines):
        for name in TEXT_FIELDS:
            if isinstance(text := data.get(name), str):
                limits.check_text(text, f"line {number}: {name}")


# The server as a whole: which namespaces and recipes there are, who asks, what was noted, whether it is well.

SERVER_TAG = "server"
READ_ONLY = (
    "the store can only be read: its disk was full when the server started, or its file is read-only; "
    "make room or give the right to write, then start the server again"
)


class AuditFilters(Paging):
    """Which notes are listed."""

    namespace: Name | None = Field(None, description="Of this namespace")
    key_id: Name | None = Field(None, description="Of this key")


@operation("GET", "/v1/namespaces", role="reader", action="namespaces", tag="namespaces", answers=Page[Namespace])
def list_namespaces(action: Current, paging: Annotated[Paging, Query()]) -> Page[Namespace]:
    """The namespaces that exist and that the key reaches, by name."""
    action.service.limits.check_page(paging.limit)
    return action.service.namespace_page(action.caller, paging.limit, paging.cursor)


@operation("GET", "/v1/key", role="reader", action="key", tag=SERVER_TAG, answers=Who)
def who_am_i(action: Current) -> Who:
    """Who asks, and what they may do."""
    return Who(action.caller.key_id, action.caller.role, action.caller.namespaces)


@operation(
    "GET",
    "/v1/audit",
    role="admin",
    action="audit",
    tag=SERVER_TAG,
    answers=Page[AuditEntry],
    example=Example({}, {"limit": "2"}),
)
def audit(action: Current, filters: Annotated[AuditFilters, Query()]) -> Page[AuditEntry]:
    """Who did what, latest first, in the namespaces that the key reaches."""
    action.service.limits.check_page(filters.limit)
    return action.service.audit.entries(
        filters.limit, filters.cursor, filters.namespace, filters.key_id, caller=action.caller
    )


@operation("GET", "/v1/recipes", role="reader", action="recipes", tag=SERVER_TAG, answers=Page[RecipeInBrief])
def list_recipes(action: Current) -> Page[RecipeInBrief]:
    """The recipes a recall can name."""
    return Page(tuple(_brief(name) for name in known_recipes()))


def _brief(name: str) -> RecipeInBrief:
    recipe = load_recipe(name)
    stages = sum(len(getattr(recipe, group)) for group in STAGED)
    return RecipeInBrief(name, recipe.summary, tuple(r.name for r in recipe.routes), recipe.fusion.method, stages)


async def health() -> Response:
    """The process runs."""
    # A coroutine needs no thread, so that requests that wait for the store do not block it.
    return ValueResponse(Health("ok", VERSION))


def ready(request: Request) -> Response:
    """The store answers, and is in the form this version writes."""
    store = service_of(request).engines.store
    store.keys.has_any()
    return ValueResponse(Readiness("read-only", READ_ONLY) if store.keys.read_only else Readiness("ok"))


# The entity graph: look entities up, put them right by hand, relate them.

ONE = {"namespace": "default", "id": "1"}
GRAPH_TAG = "graph"
Id = Annotated[int, PathParameter(ge=0, lt=LARGEST)]


class EntityFilters(Paging):
    """Which entities are listed."""

    name: str | None = Field(None, max_length=200, description="A name or an alias it has")


@operation(
    "GET",
    f"{IN}/entities",
    role="reader",
    action="entities",
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
    answers=Entity,
    status=201,
    takes=JSON,
    example=Example(HERE, body={"name": "Harbour Street", "aliases": ["the old flat"]}),
)
def add_entity(action: Current, body: EntityBody) -> Entity:
    """An entity made by hand; it stays even when nothing mentions it."""
    return action.engine.graph.add(**body.model_dump())


@operation(
    "GET",
    f"{IN}/entities/{{id:name}}",
    role="reader",
    action="entity",
    tag=GRAPH_TAG,
    answers=Entity,
    example=Example(ONE),
)
def get_entity(action: Current, id: Id) -> Entity:
    """One entity."""
    return action.engine.graph.entity(id)


@operation(
    "PATCH",
    f"{IN}/entities/{{id:name}}",
    role="writer",
    action="change entity",
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
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
    tag=GRAPH_TAG,
    answers=RemovedEdge,
    example=Example(ONE),
)
def remove_edge(action: Current, id: Id) -> RemovedEdge:
    """Take a relation away."""
    action.engine.graph.unrelate(id)
    return RemovedEdge(id)
