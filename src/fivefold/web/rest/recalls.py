"""Questions: recall, explain, plan, understand, context, and feedback on what came back."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar, Final

from fastapi import Query as QueryParameters
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fivefold.retrieval.prompt import Context
from fivefold.service import responses
from fivefold.service.responses import ForgottenSession, Turns
from fivefold.service.session import Action, recipe_named
from fivefold.text.display import harmless
from fivefold.values.memory import Session
from fivefold.values.query import Query
from fivefold.values.recall import Recall, RecallSummary
from fivefold.values.recall_trace import Plan
from fivefold.values.reports import Page
from fivefold.web.rest.bodies import (
    ContextBody,
    FeedbackBody,
    PageLimit,
    PlanBody,
    Question,
    RankedQuestion,
    RecallBody,
    TracedBody,
)
from fivefold.web.rest.operations import JSON, Current, ValueResponse, operation

recall_operation: Final = partial(operation, tag="recall")
sessions_operation: Final = partial(operation, tag="sessions")

TEXT = "text/plain"
EXAMPLE_REQUEST = {"question": "what's my badge ID?", "now": "2025-12-20T09:00:00Z"}


@recall_operation("POST /recall", "reader", "recall", body={**EXAMPLE_REQUEST, "k": 1, "recipe": "lexical"})
def recall(action: Current, body: TracedBody) -> RecallSummary | Recall:
    """The memories that answer a question best; `trace` adds the evidence."""
    answer = action.engine.recall(**_arguments(action, body))
    return answer if body.trace else answer.brief


@recall_operation(
    "POST /explain",
    "reader",
    "explain",
    body={**EXAMPLE_REQUEST, "k": 1, "recipe": "lexical"},
    gives=(JSON, TEXT),
    answers=Recall,
)
def explain(action: Current, request: Request, body: RecallBody) -> Response:
    """A repeatable recall without noise; as text if `Accept: text/plain` asks for it."""
    answer = action.engine.recall(**_arguments(action, body, still=True))
    if prefers_text(request.headers.get("accept", "")):
        return PlainTextResponse(harmless(answer.explain()) + "\n")
    return ValueResponse(answer)


@recall_operation("POST /plan", "reader", "plan", body={**EXAMPLE_REQUEST, "k": 3})
def plan(action: Current, body: PlanBody) -> Plan:
    """The plan of a recall, without running it."""
    return action.engine.plan(**_arguments(action, body))


@recall_operation(
    "POST /understand", "reader", "understand", body={**EXAMPLE_REQUEST, "question": "what did Daniel say last week?"}
)
def understand(action: Current, body: Question) -> Query:
    """The question as the engine reads it: entities, time window, intent."""
    body.check(action.service.limits)
    return action.engine.understand(**body.model_dump())


@recall_operation("POST /context", "reader", "context", body={**EXAMPLE_REQUEST, "k": 3, "token_budget": 200})
def context(action: Current, body: ContextBody) -> Context:
    """A ready block of text for a prompt, with its sources, cut to a budget of tokens."""
    k = action.service.limits.k_for_block(body.k, body.token_budget)
    return action.engine.context(**{**_arguments(action, body), "k": k}, token_budget=body.token_budget)


@recall_operation("POST /feedback", "writer", "used", body={"recall_id": "{recall_id}", "used": ["s01.03"]})
def feedback(action: Current, body: FeedbackBody) -> responses.Feedback:
    """Say which memories of a recall were used, and which were of no use; the namespace learns from it."""
    action.engine.feedback(body.recall_id, used=body.used, not_used=body.not_used)
    return responses.Feedback(body.recall_id, tuple(body.used), tuple(body.not_used))


def _arguments(action: Action, body: RankedQuestion, still: bool = False) -> dict[str, Any]:
    body.check(action.service.limits)
    fields = body.model_dump(exclude={"overrides", "recipe", "token_budget", "trace"})
    return {**fields, "recipe": recipe_named(body.recipe, body.overrides, still)}


def prefers_text(accept: str) -> bool:
    """True if the client prefers text/plain to JSON."""
    weights = {part.partition(";")[0].strip(): _weight(part) for part in accept.split(",")}
    return weights.get(TEXT, 0) > max(weights.get(JSON, 0), weights.get("*/*", 0), weights.get("application/*", 0))


def _weight(part: str) -> float:
    _, _, weight = part.partition("q=")
    try:
        return float(weight) if weight else 1.0
    except ValueError:
        return 0.0


class Paging(BaseModel):
    """A page of a list."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    limit: PageLimit = 50
    cursor: str | None = Field(None, max_length=2_000, description="Where the page before ended")


@sessions_operation("GET /sessions", "reader", "sessions", query={"limit": "2"})
def list_sessions(action: Current, paging: Annotated[Paging, QueryParameters()]) -> Page[Session]:
    """The session log, latest first."""
    action.service.limits.check_page(paging.limit)
    return action.engine.sessions(**paging.model_dump())


@sessions_operation("GET /sessions/{id:name}", "reader", "session", id="s01")
def get_session(action: Current, id: str) -> Turns:
    """A conversation, turn by turn."""
    turns = action.engine.turns(id)
    return Turns(id, tuple(turns))


@sessions_operation("DELETE /sessions/{id:name}", "writer", "forget session", id="s02")
def forget_session(action: Current, id: str) -> ForgottenSession:
    """Forget a conversation with all its turns, for good."""
    return ForgottenSession(id, action.engine.forget_session(id), action.service.erasure())
