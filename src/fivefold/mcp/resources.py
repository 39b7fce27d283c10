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
from fivefold.mcp.arguments import BUDGET
from fivefold.mcp.text import turns_of
from fivefold.mcp.transport import Transport
from fivefold.text.display import escaped, quote_line, quote_name
from fivefold.values.explain import SHOWN_TEXT
from fivefold.values.validate import shorten

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.retrieval.prompt import Context
    from fivefold.service.session import Action
    from fivefold.values.memory import Memory, Session


MEMORY = UriTemplate.parse("fivefold://{namespace}/memories/{id}")
SESSION = UriTemplate.parse("fivefold://{namespace}/sessions/{id}")
HEALTH = UriTemplate.parse("fivefold://{namespace}/health")

PAGE_SIZE = 50
"""The number of memories on one page of the list."""

SESSIONS = 20
"""The number of latest conversations at the head of the list."""

TURNS = 1_000
"""The most turns of a conversation; the last ones are returned."""

EXAMPLES = 3
"""Memories that the report of a namespace's health names for each of its findings."""

JSON = "application/json"


def list_templates() -> list[types.ResourceTemplate]:
    return [
        types.ResourceTemplate(
            name="memory",
            title="A memory",
            uri_template=str(MEMORY),
            description="One memory with all its fields; namespace and id percent-encoded",
            mime_type=JSON,
        ),
        types.ResourceTemplate(
            name="session",
            title="A conversation",
            uri_template=str(SESSION),
            description="The last 1,000 turns of a conversation, oldest first; namespace and id percent-encoded",
            mime_type=JSON,
        ),
        types.ResourceTemplate(
            name="health",
            title="Health of a namespace",
            uri_template=str(HEALTH),
            description="What is expired, stale, never used, said twice, contradicted or a secret, and what to do",
            mime_type=JSON,
        ),
    ]


def list_resources(transport: Transport, request: Any, cursor: str | None) -> types.ListResourcesResult:
    """The latest conversations and memories of the usual namespace; the cursor goes on through older memories."""
    with transport.session(request, None).act("list") as action:
        engine = action.engine
        page = engine.memories(cursor=cursor, limit=PAGE_SIZE)
        sessions = engine.sessions(limit=SESSIONS) if cursor is None else ()
        resources = [
            *(_session(engine.namespace, session) for session in sessions),
            *(_memory(memory) for memory in page),
        ]
    return types.ListResourcesResult(resources=resources, next_cursor=page.cursor)


def read_resource(transport: Transport, request: Any, uri: str) -> types.ReadResourceResult:
    found = (read(transport, request, uri) for read in (_memory_at, _session_at, _health_at))
    text = next(filter(None, found), None)
    if text is None:
        known = f"{MEMORY}, {SESSION} and {HEALTH}"
        raise InvalidInput(f"there is no resource {uri[:100]!r}; their addresses look like {known}")
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=JSON, text=text)])


def _memory_at(transport: Transport, request: Any, uri: str) -> str | None:
    if (match := MEMORY.match(uri)) is None:
        return None
    namespace, id = str(match["namespace"]), str(match["id"])
    with transport.session(request, namespace).act("get", subject=id) as action:
        return _json(action.engine.get(id).to_dict())


def _session_at(transport: Transport, request: Any, uri: str) -> str | None:
    if (match := SESSION.match(uri)) is None:
        return None
    namespace, id = str(match["namespace"]), str(match["id"])
    with transport.session(request, namespace).act("session", subject=id) as action:
        return _json([turn.to_dict() for turn in _last_turns(action.engine, id)])


def _health_at(transport: Transport, request: Any, uri: str) -> str | None:
    if (match := HEALTH.match(uri)) is None:
        return None
    with transport.session(request, str(match["namespace"])).act("health") as action:
        return _json(action.engine.health(examples=EXAMPLES).to_dict())


def _last_turns(engine: Engine, id: str) -> list[Memory]:
    """Oldest first, and no more than fit into an answer: a conversation may go on for years."""
    turns = engine.last_turns(id, TURNS)
    if not turns:
        raise NotFound(f"namespace {engine.namespace!r} has no session {id!r}")
    return turns


def _json(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


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
"he" or "it", dates instead of "tomorrow". Give speaker, and event_at where the time is known. If a statement corrects \
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

    def definition(self) -> types.Prompt:
        return types.Prompt(
            name=self.name, title=self.title, description=self.description, arguments=[*self.arguments, NAMESPACE]
        )


def list_prompts() -> list[types.Prompt]:
    return [prompt.definition() for prompt in PROMPTS.values()]


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
        context = _context(action, transport, question)
    return ANSWER.format(
        block=texts.block(context), question=question, recall_id=context.recall_id, where=_where(values)
    )


def _context(action: Action, transport: Transport, question: str) -> Context:
    action.service.limits.check_question(question)
    engine = action.engine
    context = engine.context(question, action.service.limits.k_for_block(None, BUDGET), token_budget=BUDGET)
    transport.source_numbers.record(engine.namespace, context.recall_id, [source.id for source in context.sources])
    return context


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
