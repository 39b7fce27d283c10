"""Sessions: the log of conversations."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from fivefold.service.responses import ForgottenSession, Turns
from fivefold.values.memory import Session
from fivefold.values.paging import Page
from fivefold.web.rest.operations import IN, Current, Example, operation

HERE = {"namespace": "default"}
TAG = "sessions"


class Paging(BaseModel):
    """Which page of a list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, description="How many on one page")
    cursor: str | None = Field(None, max_length=2_000, description="Where the page before ended")


@operation(
    "GET",
    f"{IN}/sessions",
    role="reader",
    action="sessions",
    tag=TAG,
    answers=Page[Session],
    example=Example(HERE, {"limit": "2"}),
)
def list_sessions(action: Current, paging: Annotated[Paging, Query()]) -> Page[Session]:
    """The session log, latest first."""
    action.service.limits.check_page(paging.limit)
    return action.engine.sessions(**paging.model_dump())


@operation(
    "GET",
    f"{IN}/sessions/{{id:name}}",
    role="reader",
    action="session",
    tag=TAG,
    answers=Turns,
    example=Example({"namespace": "default", "id": "s01"}),
)
def get_session(action: Current, id: str) -> Turns:
    """A conversation, turn by turn."""
    turns = action.engine.turns(id)
    return Turns(id, tuple(turns))


@operation(
    "DELETE",
    f"{IN}/sessions/{{id:name}}",
    role="writer",
    action="forget session",
    tag=TAG,
    answers=ForgottenSession,
    example=Example({"namespace": "default", "id": "s02"}),
)
def forget_session(action: Current, id: str) -> ForgottenSession:
    """Forget a conversation with all its turns, for good."""
    return ForgottenSession(id, action.engine.forget_session(id), action.service.erasure())
