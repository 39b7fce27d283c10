"""Memories, conversations and the health of a namespace as resources, which a client may read without a question."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from fivefold.errors import InvalidInput, NotFound
from fivefold.mcp import text as texts
from fivefold.mcp.arguments import DEFAULT_TOKEN_BUDGET
from fivefold.mcp.text import turns_of
from fivefold.mcp.transport import Transport
from fivefold.text.display import escaped, quote_line, quote_name
from fivefold.values.explain import SHOWN_TEXT
from fivefold.values.validate import shorten

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.values.memory import Memory, Session
    from fivefold.values.serialize import Json


MEMORY = UriTemplate.parse("fivefold://{namespace}/memories/{id}")
SESSION = UriTemplate.parse("fivefold://{namespace}/sessions/{id}")
HEALTH = UriTemplate.parse("fivefold://{namespace}/health")
KNOWN = UriTemplate.parse("fivefold://{namespace}/known/{id}")
RECAP = UriTemplate.parse("fivefold://{namespace}/sessions/{id}/recap")

PAGE_SIZE = 50
"""The number of memories on one page of the list."""

LISTED_SESSIONS = 20
"""The number of latest conversations at the head of the list."""

MAX_TURNS = 1_000
"""The most turns of a conversation; the last ones are returned."""

FINDING_EXAMPLES = 3
"""Memories that the report of a namespace's health names for each of its findings."""

JSON = "application/json"


TEMPLATES = (
    (MEMORY, "memory", "A memory", "One memory with all its fields; namespace and id percent-encoded"),
    (
        SESSION,
        "session",
        "A conversation",
        "The last 1,000 turns of a conversation, oldest first; namespace and id percent-encoded",
    ),
    (
        HEALTH,
        "health",
        "Health of a namespace",
        "Expired, stale, unused, repeated, contradicted and secret memories, and what to do",
    ),
    (
        KNOWN,
        "known",
        "Known facts",
        "The id profile, agenda or changes is about the user; any other name gives the known facts about it",
    ),
    (RECAP, "recap", "Recap of a conversation", "Its decisions, facts, promises and open questions"),
)


def list_templates() -> list[types.ResourceTemplate]:
    return [
        types.ResourceTemplate(name=name, title=title, uri_template=str(uri), description=description, mime_type=JSON)
        for uri, name, title, description in TEMPLATES
    ]


def list_resources(transport: Transport, request: Any, cursor: str | None) -> types.ListResourcesResult:
    """The latest conversations and memories of the usual namespace; the cursor goes on through older memories."""
    with transport.session(request, None).act("list") as action:
        engine = action.engine
        page = engine.memories(cursor=cursor, limit=PAGE_SIZE)
        sessions = engine.sessions(limit=LISTED_SESSIONS) if cursor is None else ()
        resources = [_session(engine.namespace, session) for session in sessions] + list(map(_memory, page))
    return types.ListResourcesResult(resources=resources, next_cursor=page.cursor)


def read_resource(transport: Transport, request: Any, uri: str) -> types.ReadResourceResult:
    for template, action_name, read in READERS:
        if (match := template.match(uri)) is not None:
            id = str(match["id"]) if "id" in match else None
            session = transport.session(request, str(match["namespace"]))
            with session.act(action_name, subject=id) as action:
                text = escaped(json.dumps(read(action.engine, id or ""), ensure_ascii=False))
            return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=JSON, text=text)])
    known = ", ".join(str(template) for template, *_ in TEMPLATES)
    raise InvalidInput(f"there is no resource {uri[:100]!r}; their addresses look like {known}")


def _last_turns(engine: Engine, id: str) -> list[Json]:
    """Oldest first, and no more than fit into an answer: a conversation may go on for years."""
    turns = engine.last_turns(id, MAX_TURNS)
    if not turns:
        raise NotFound(f"namespace {engine.namespace!r} has no session {id!r}")
    return [turn.to_dict() for turn in turns]


def _known(engine: Engine, id: str) -> Json:
    if id == "agenda":
        return engine.agenda().to_dict()
    if id == "changes":
        return engine.changes().to_dict()
    return engine.profile("user" if id == "profile" else id, token_budget=DEFAULT_TOKEN_BUDGET).to_dict()


READERS: tuple[tuple[UriTemplate, str, Callable[[Engine, str], object]], ...] = (
    (MEMORY, "get", lambda engine, id: engine.get(id).to_dict()),
    (SESSION, "session", _last_turns),
    (HEALTH, "health", lambda engine, _: engine.health(examples=FINDING_EXAMPLES).to_dict()),
    (KNOWN, "profile", _known),
    (RECAP, "recap", lambda engine, id: engine.recap(id).to_dict()),
)
"""Each address with the action in the audit log."""


def _memory(memory: Memory) -> types.Resource:
    return types.Resource(
        name=memory.id,
        title=shorten(quote_line(memory.content), SHOWN_TEXT),
        uri=MEMORY.expand({"namespace": memory.namespace, "id": memory.id}),
        description=f"{memory.type}, {memory.event_at:%d %b %Y}"
        + (f", {quote_name(memory.speaker)}" if memory.speaker else ""),
        mime_type=JSON,
    )


def _session(namespace: str, session: Session) -> types.Resource:
    return types.Resource(
        name=session.id,
        title=f"Conversation {quote_line(session.id)}",
        uri=SESSION.expand({"namespace": namespace, "id": session.id}),
        description=f"{turns_of(session)}, {session.started_at:%d %b %Y} to {session.ended_at:%d %b %Y}",
        mime_type=JSON,
    )


NAMESPACE = types.PromptArgument(name="namespace", description="The namespace; leave out for the usual one")

ANSWER = """\
{block}

Question: {question}

Answer from them where they help, and say when they do not. Name the numbers of the sources you rely on. If something \
is missing, call the tool recall with a more exact question{where}. Then call used with recall_id {recall_id} and \
the numbers of the sources that helped."""

KEEP = """\
Go through our conversation so far{about} and keep what will matter in a later one: what I prefer, facts about me, my \
people and my work, decisions and their reasons, dates and plans, corrections of what was known before.

For each, call the tool remember once{where}, with one statement that can be understood by itself: names instead of \
"he" or "it", dates instead of "tomorrow". Give speaker, and event_at if the time is known. If a statement corrects \
an older one, first call recall with ids, and give the id of the old one as supersedes.

Leave out small talk, secrets such as passwords, and what anyone could look up. At the end, list what you kept."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt, and what makes its text."""

    name: str
    title: str
    description: str
    arguments: tuple[types.PromptArgument, ...]
    text: Callable[[Transport, Any, Mapping[str, str]], str]


def list_prompts() -> list[types.Prompt]:
    return [
        types.Prompt(name=name, title=one.title, description=one.description, arguments=[*one.arguments, NAMESPACE])
        for name, one in PROMPTS.items()
    ]


def get_prompt(transport: Transport, request: Any, name: str, values: Mapping[str, str]) -> types.GetPromptResult:
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name[:50]!r}; there are {', '.join(PROMPTS)}")
    known = [argument.name for argument in (*prompt.arguments, NAMESPACE)]
    for argument in prompt.arguments:
        if argument.required and not values.get(argument.name):
            raise MCPError(types.INVALID_PARAMS, f"{argument.name} is missing: {argument.description}")
    if unknown := sorted(set(values) - set(known)):
        raise MCPError(types.INVALID_PARAMS, f"there is no argument {unknown[0][:50]!r}; known are {', '.join(known)}")
    content = types.TextContent(text=prompt.text(transport, request, values))
    return types.GetPromptResult(
        description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
    )


def answer(transport: Transport, request: Any, values: Mapping[str, str]) -> str:
    question = values["question"]
    with transport.session(request, values.get("namespace")).act("context") as action:
        limits, engine = action.service.limits, action.engine
        limits.check_question(question)
        context = engine.context(
            question, limits.k_for_block(None, DEFAULT_TOKEN_BUDGET), token_budget=DEFAULT_TOKEN_BUDGET
        )
        transport.source_numbers.record(engine.namespace, context.recall_id, [source.id for source in context.sources])
    return ANSWER.format(
        block=texts.block(context), question=question, recall_id=context.recall_id, where=_where(values)
    )


def keep(_: Transport, __: Any, values: Mapping[str, str]) -> str:
    about = f", as far as it is about {values['about']}," if values.get("about") else ""
    return KEEP.format(about=about, where=_where(values))


def _where(values: Mapping[str, str]) -> str:
    return f" in namespace {values['namespace']!r}" if values.get("namespace") else ""


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "recall-before-answering",
            "Recall before answering",
            "Recalls what is known about a question and asks for an answer from it",
            (types.PromptArgument(name="question", description="The question to answer", required=True),),
            answer,
        ),
        Prompt(
            "remember-this-talk",
            "Remember what matters",
            "Has the model keep what matters of the conversation so far",
            (types.PromptArgument(name="about", description="Only what is about this"),),
            keep,
        ),
    )
}
