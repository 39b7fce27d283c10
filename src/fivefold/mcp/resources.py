"""Memories, conversations and the health of a namespace as resources, which a client may read without a question."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.uri_template import UriTemplate

from fivefold.errors import InvalidInput, NotFound
from fivefold.mcp.text import turns_of
from fivefold.mcp.transport import Transport
from fivefold.text.display import escaped
from fivefold.text.fence import quote_line, quote_name
from fivefold.values.explain import SHOWN_TEXT
from fivefold.values.shorten import shorten

if TYPE_CHECKING:
    from fivefold.engine import Engine
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
