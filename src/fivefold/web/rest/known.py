"""The known facts without a question, and corrections of a line in its place."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Query
from pydantic import Field

from fivefold.retrieval.browse import History
from fivefold.service.responses import Moment, Name, Text
from fivefold.values.known import Agenda, Changes, Profile, Recap
from fivefold.values.memory import Memory
from fivefold.values.reports import Report
from fivefold.values.validate import MAX_NAME, MAX_TEXT, MAX_TOKENS
from fivefold.web.rest.bodies import Body, PageLimit
from fivefold.web.rest.operations import Current, operation

known_operation = partial(operation, tag="known")

Secrets = Annotated[bool, Query(description="Show passwords, keys and card numbers")]


@known_operation("GET /profile", "reader", "profile", query={"token_budget": "200"})
def profile(
    action: Current,
    about: Annotated[Name, Query(description="The user, or the name of a person, a place or a project")] = "user",
    token_budget: Annotated[int, Query(ge=1, le=MAX_TOKENS, description="Maximum number of tokens")] = 600,
    now: Annotated[Moment | None, Query(description="As of this time; now if left out")] = None,
    secrets: Secrets = False,
) -> Profile:
    """The known facts about the user, or about a person, place or project; each line has its sources."""
    action.service.limits.k_for_block(None, token_budget)
    return action.engine.profile(about, token_budget=token_budget, now=now, secrets=secrets)


@known_operation("GET /agenda", "reader", "agenda", query={"start": "2025-06-01T00:00:00Z", "limit": "3"})
def agenda(
    action: Current,
    start: Annotated[Moment | None, Query(description="From this time on; now if left out")] = None,
    end: Annotated[Moment | None, Query(description="Before this time")] = None,
    limit: Annotated[PageLimit, Query(description="Maximum number of entries, the next ones first")] = 50,
    secrets: Secrets = False,
) -> Agenda:
    """The dated facts ahead, by day, and overdue tasks."""
    action.service.limits.check_page(limit)
    return action.engine.agenda(start, end, limit=limit, secrets=secrets)


@known_operation("GET /history", "reader", "history", query={"of": "where do I live?"})
def history(
    action: Current,
    of: Annotated[Text, Query(min_length=1, max_length=MAX_NAME, description="A question, or the id of a memory")],
) -> History:
    """The earlier and later answers to a question, or the earlier and later versions of a memory."""
    action.service.limits.check_question(of)
    return action.engine.history(of)


@known_operation("GET /changes", "reader", "changes", query={"since": "2025-11-01T00:00:00Z"})
def changes(
    action: Current,
    since: Annotated[Moment | None, Query(description="Since this time; left out, the latest session began")] = None,
    secrets: Secrets = False,
) -> Changes:
    """The facts that are new, that replaced others, and that ended."""
    return action.engine.changes(since, secrets=secrets)


@known_operation("GET /sessions/{id:name}/recap", "reader", "recap", id="s01")
def recap(action: Current, id: str, secrets: Secrets = False) -> Recap:
    """The results of a session: its decisions, facts, promises and open questions."""
    return action.engine.recap(id, secrets=secrets)


class Correction(Body):
    """A line of a memory, and what it should say."""

    line: Text = Field(min_length=1, max_length=MAX_TEXT, description="The line as a profile shows it")
    to: Text = Field(min_length=1, max_length=MAX_TEXT, description="The new text")


@known_operation(
    "POST /memories/{id:name}/correct",
    "writer",
    "supersede",
    id="s01.07",
    body={"line": "I can't stand them in mails", "to": "I can't stand them at all"},
    status=201,
)
def correct_memory(action: Current, id: str, body: Correction) -> Report:
    """Correct a line at its source: a memory with the new words replaces the old one. Forget the new one to undo it."""
    action.service.limits.check_text(body.to, "to")
    return action.engine.correct(id, body.line, body.to)


@known_operation("POST /memories/{id:name}/hide", "writer", "update", id="s01.01")
def hide_memory(
    action: Current, id: str, hidden: Annotated[bool, Query(description="False shows it again")] = True
) -> Memory:
    """Hide a memory from profiles, agendas, changes and recaps."""
    return action.engine.hide(id, hidden)
