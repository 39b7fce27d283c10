"""The server as a whole: which namespaces and recipes there are, who asks, what was noted, whether it is well."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from fivefold.retrieval.recipe import STAGED
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.responses import Health, Namespace, Readiness, RecipeInBrief, Who
from fivefold.values.access import AuditEntry
from fivefold.values.paging import Page
from fivefold.version import VERSION
from fivefold.web.auth import service_of
from fivefold.web.rest.bodies import Name
from fivefold.web.rest.operations import Current, Example, ValueResponse, operation
from fivefold.web.rest.sessions import Paging

TAG = "server"
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


@operation("GET", "/v1/key", role="reader", action="key", tag=TAG, answers=Who)
def who_am_i(action: Current) -> Who:
    """Who asks, and what they may do."""
    return Who(action.caller.key_id, action.caller.role, action.caller.namespaces)


@operation(
    "GET",
    "/v1/audit",
    role="admin",
    action="audit",
    tag=TAG,
    answers=Page[AuditEntry],
    example=Example({}, {"limit": "2"}),
)
def audit(action: Current, filters: Annotated[AuditFilters, Query()]) -> Page[AuditEntry]:
    """Who did what, latest first, in the namespaces that the key reaches."""
    action.service.limits.check_page(filters.limit)
    return action.service.audit.entries(
        filters.limit, filters.cursor, filters.namespace, filters.key_id, caller=action.caller
    )


@operation("GET", "/v1/recipes", role="reader", action="recipes", tag=TAG, answers=Page[RecipeInBrief])
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
