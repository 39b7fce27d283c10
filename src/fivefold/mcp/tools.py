"""The tools: what each is for, who may call it, what it takes and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from fivefold.mcp import arguments, calls
from fivefold.mcp.arguments import Arguments, checked, schema
from fivefold.mcp.calls import SessionLog, ToolResult
from fivefold.mcp.source_numbers import SourceNumbers
from fivefold.mcp.transport import Transport
from fivefold.retrieval.prompt import Context
from fivefold.service.responses import DeletedNamespace, Feedback, ForgottenMemory, Namespaces
from fivefold.service.session import Action
from fivefold.values.access import Role
from fivefold.values.health import HealthReport
from fivefold.values.recall import Recall
from fivefold.values.reports import Report, Stats
from fivefold.values.schema import schema_of
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. The audit log uses its name, unless its arguments name a more exact action."""

    name: str
    title: str
    description: str
    role: Role
    takes: type[Arguments]
    gives: type[Value]
    run: Callable[[Action, SourceNumbers, Any], ToolResult]
    destructive: bool = False
    idempotent: bool = True

    @property
    def reads(self) -> bool:
        return self.role == "reader"

    def definition(self, structured: bool = False) -> types.Tool:
        """What a client is told. The schema of the value is long, and only there where the value is sent too."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema(self.takes),
            output_schema=schema_of(self.gives) if structured else None,
            annotations=types.ToolAnnotations(
                read_only_hint=self.reads,
                destructive_hint=None if self.reads else self.destructive,
                idempotent_hint=None if self.reads else self.idempotent,
                open_world_hint=False,
            ),
        )

    def answer(self, transport: Transport, request: Any, values: dict[str, Any] | None) -> ToolResult:
        """Do it, if the caller may, and note it; runs in a thread."""
        request_arguments = checked(self.takes, values)
        session = transport.session(request, request_arguments.namespace)
        with session.act(request_arguments.action or self.name, self.role, request_arguments.subject) as action:
            answer = self.run(action, transport.source_numbers, request_arguments)
            action.subject = request_arguments.subject or answer.subject
        return answer


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "remember",
            "Remember",
            "Store one statement for good: a preference, fact, decision, date or correction that will matter in a "
            "later conversation. Call it once for each statement. Store no secrets, and nothing that can be looked up "
            "in files at hand. A known text is not stored twice, and a newer statement about the same thing supersedes "
            "the older one.",
            "writer",
            arguments.Remember,
            Report,
            calls.remember,
            idempotent=False,
        ),
        Tool(
            "remember_messages",
            "Remember messages",
            "Store messages of a conversation as they were sent, as turns of a session. Call it to keep a whole talk; "
            "for a single statement use remember. What is stored already is not stored again.",
            "writer",
            arguments.RememberMessages,
            Report,
            calls.remember_messages,
        ),
        Tool(
            "recall",
            "Recall",
            "Find what is remembered about a question. Call it before answering anything that may depend on the user, "
            "their work or earlier conversations. Gives a block of numbered sources with dates and speakers, oldest "
            "first, and a recall_id. Ask in full sentences and name people, things and times; one question a call.",
            "reader",
            arguments.Recall,
            Context,
            calls.recall,
        ),
        Tool(
            "explain",
            "Explain a recall",
            "Show how an answer is found: how the question was read, what each search route found, and the arithmetic "
            "behind each score. Call it when a recall missed something or brought something odd; to answer use recall.",
            "reader",
            arguments.Explain,
            Recall,
            calls.explain,
        ),
        Tool(
            "forget",
            "Forget",
            "Remove one memory and everything derived from it, for good. Call it only when the user wants something "
            "forgotten; to correct a memory call remember, with supersedes where needed.",
            "writer",
            arguments.Forget,
            ForgottenMemory,
            calls.forget,
            destructive=True,
        ),
        Tool(
            "used",
            "Tell what helped",
            "Say which sources of a recall you relied on in your answer, and which were of no use. Call it after the "
            "answer; later recalls get better by it.",
            "writer",
            arguments.Used,
            Feedback,
            calls.used,
        ),
        Tool(
            "sessions",
            "Conversations",
            "List earlier conversations, latest first, or read the turns of one of them. Call it when the user asks "
            "what was talked about and when; to find a statement, use recall.",
            "reader",
            arguments.Sessions,
            SessionLog,
            calls.sessions,
        ),
        Tool(
            "stats",
            "What is remembered",
            "Count what the namespace holds: memories by kind, conversations, entities, the time they span.",
            "reader",
            arguments.Stats,
            Stats,
            calls.stats,
        ),
        Tool(
            "health",
            "What to look after",
            "Find what is expired, stale, never used, said twice, contradicted or a secret, with ids and what to do. "
            "Ask the user before you forget anything.",
            "reader",
            arguments.Health,
            HealthReport,
            calls.health,
        ),
        Tool(
            "namespaces",
            "Namespaces",
            "List the namespaces you may use, by name. Each has memories of its own.",
            "reader",
            arguments.Namespaces,
            Namespaces,
            calls.namespaces,
        ),
        Tool(
            "delete_namespace",
            "Delete a namespace",
            "Delete a namespace with all its memories, for good. Call it only when the user names the namespace and "
            "asks for that.",
            "admin",
            arguments.DeleteNamespace,
            DeletedNamespace,
            calls.delete_namespace,
            destructive=True,
        ),
    )
}
