"""The tools: what each is for, who may call it, what it takes and what it returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import mcp_types as types

from fivefold.errors import InvalidInput
from fivefold.mcp import arguments, text
from fivefold.mcp.arguments import Arguments, checked, schema
from fivefold.mcp.text import FENCE, clip, count_fitting, fit_trace
from fivefold.mcp.transport import SourceNumbers, Transport
from fivefold.retrieval.prompt import Context, compose
from fivefold.retrieval.prompt_block import Count
from fivefold.service.responses import DeletedNamespace, Feedback, ForgottenMemory, Namespaces
from fivefold.service.session import Action, recipe_named
from fivefold.text.display import fenced, harmless
from fivefold.text.passages import tokens
from fivefold.values.access import Role
from fivefold.values.fields import schema_of
from fivefold.values.known import Agenda, Changes, Fact, Profile, Recap
from fivefold.values.memory import Memory, Session
from fivefold.values.recall import Recall
from fivefold.values.reports import HealthReport, Report, Stats
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc
from fivefold.values.validate import checked_name

MAX_EXAMPLES = 5
"""Memories that each finding of a namespace's health names."""

_SOURCE = re.compile(r"^\[\d+\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SessionLog(Value):
    """Conversations, latest first, or the turns of one of them, oldest first."""

    items: tuple[Session, ...]
    cursor: str | None
    turns: tuple[Memory, ...]
    left_out: int
    """The number of earliest turns that do not fit into the budget."""


@dataclass(frozen=True, slots=True)
class KnownFacts(Value):
    """The lines of a view of the known facts, by the name of its part."""

    what: arguments.View
    parts: Mapping[str, tuple[Fact, ...]]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A value, and the same in words."""

    value: Value
    text: str
    subject: str | None = None
    """The id of what the call changed."""


Run = Callable[[Action, SourceNumbers, Any], ToolResult]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. The audit log uses its name, unless its arguments name a more exact action."""

    name: str
    title: str
    description: str
    role: Role
    takes: type[Arguments]
    gives: type[Value]
    run: Run
    destructive: bool
    idempotent: bool

    @property
    def reads(self) -> bool:
        return self.role == "reader"

    def definition(self, structured: bool = False) -> types.Tool:
        """The tool's definition for a client. The schema of the value is long, and included only if the value is sent
        too."""
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


TOOLS: dict[str, Tool] = {}


def tool(
    title: str, role: Role, gives: type[Value], *, destructive: bool = False, idempotent: bool = True
) -> Callable[[Run], Run]:
    """Registers a function as the tool of its name; a model reads its docstring as the description."""

    def register(run: Run) -> Run:
        name, description = run.__name__, " ".join((run.__doc__ or "").split())
        takes = get_type_hints(run)["request"]
        TOOLS[name] = Tool(name, title, description, role, takes, gives, run, destructive, idempotent)
        return run

    return register


@tool("Remember", "writer", Report, idempotent=False)
def remember(action: Action, numbers: SourceNumbers, request: arguments.Remember) -> ToolResult:
    """Store one statement for good: a preference, fact, decision, date or correction that will matter in a later
    conversation. Call it once for each statement. Store no secrets, and nothing that can be looked up in files at
    hand. A known text is not stored twice, and a newer statement about the same thing supersedes the older one.
    """
    action.service.limits.check_text(request.content, "content")
    record = {"origin": "assistant", **request.model_dump(exclude={"namespace", "supersedes"}, exclude_none=True)}
    old = request.supersedes
    report = action.engine.remember(**record) if old is None else action.engine.supersede(old, record)
    return ToolResult(report, text.report(report), report.id)


@tool("Remember messages", "writer", Report)
def remember_messages(action: Action, numbers: SourceNumbers, request: arguments.RememberMessages) -> ToolResult:
    """Store messages of a conversation as they were sent, as turns of a session. Call it to keep a whole talk; for a
    single statement use remember. Known messages are not stored again.
    """
    for place, message in enumerate(request.messages):
        action.service.limits.check_message(message, f"messages[{place}]")
    report = action.engine.remember_messages(request.messages, session_id=request.session_id)
    return ToolResult(report, text.messages_report(report), request.session_id)


@tool("Recall", "reader", Context)
def recall(action: Action, numbers: SourceNumbers, request: arguments.Recall) -> ToolResult:
    """Find what is remembered about a question. Call it before answering anything that may depend on the user, their
    work or earlier conversations. Gives a block of numbered sources with dates and speakers, oldest first, and a
    recall_id. Ask in full sentences and name people, things and times; one question a call.
    """
    limits = action.service.limits
    limits.check_question(request.question)
    options = request.model_dump(exclude={"namespace", "token_budget", "k", "ids"})
    answer = action.engine.recall(k=limits.k_for_block(request.k, request.token_budget), **options)
    end = f"\n{text.closing(answer.id)}"
    budget, count, settings = request.token_budget - tokens(end), _counter(answer, request.ids), action.engine.settings
    context = compose(answer, budget, count, settings.zone, settings.unlikely_memories)
    sources = [source.id for source in context.sources]
    numbers.record(action.engine.namespace, answer.id, sources)
    ids = f"\n{text.id_list(sources)}" if request.ids else ""
    return ToolResult(context, f"{text.block(context)}{ids}{end}" if sources else text.block(context))


def _counter(answer: Recall, ids: bool) -> Count:
    """Counts tokens; if ids are listed, each source also costs as much as the longest id line."""
    if not ids:
        return tokens
    known_ids = [memory.id for memory in (*(hit.memory for hit in answer), *answer.recent)]
    longest = max((tokens(f"\n[{len(known_ids)}] id {id}") for id in known_ids), default=0)
    return lambda text: tokens(text) + longest * len(_SOURCE.findall(text))


@tool("Explain a recall", "reader", Recall)
def explain(action: Action, numbers: SourceNumbers, request: arguments.Explain) -> ToolResult:
    """Show how an answer is found: how the question was read, what each search route found, and the arithmetic behind
    each score. Call it when a recall missed something or brought something odd; to answer use recall.
    """
    action.service.limits.check_k(request.k)
    action.service.limits.check_question(request.question)
    recipe = recipe_named(request.recipe, still=True)
    answer = action.engine.recall(
        request.question, request.k, recipe=recipe, now=request.now, effort=request.effort, filter=request.filter
    )
    numbers.record(action.engine.namespace, answer.id, [hit.memory.id for hit in answer])
    _, message = fit_trace(answer, request.token_budget, lambda cut: text.trace(answer.id, cut))
    return ToolResult(answer, message)


@tool("Forget", "writer", ForgottenMemory, destructive=True)
def forget(action: Action, numbers: SourceNumbers, request: arguments.Forget) -> ToolResult:
    """Remove one memory and everything derived from it, for good. Call it only when the user wants something forgotten;
    to correct a memory call remember, with supersedes if needed.
    """
    forgotten = ForgottenMemory(action.engine.forget(request.id), action.service.erasure())
    return ToolResult(forgotten, text.forget_message(forgotten), forgotten.memory.id)


@tool("Tell what helped", "writer", Feedback)
def used(action: Action, numbers: SourceNumbers, request: arguments.Feedback) -> ToolResult:
    """Say which sources of a recall you relied on in your answer, and which were of no use. Call it after the answer;
    later recalls get better by it.
    """
    lists = (numbers.ids(action.engine.namespace, request.recall_id, ids) for ids in (request.used, request.not_used))
    helpful, unhelpful = map(tuple, lists)
    try:
        action.engine.feedback(request.recall_id, used=helpful, not_used=unhelpful)
    except InvalidInput as error:
        if numbers.lost(action.engine.namespace, request.recall_id, (*helpful, *unhelpful)):
            raise InvalidInput(f"{error}; only the process that gave a number knows it; use ids") from None
        raise
    report = Feedback(request.recall_id, helpful, unhelpful)
    return ToolResult(report, text.feedback(report), request.recall_id)


@tool("Conversations", "reader", SessionLog)
def sessions(action: Action, numbers: SourceNumbers, request: arguments.Sessions) -> ToolResult:
    """List earlier conversations, latest first, or read the turns of one of them. Call it when the user asks what was
    talked about and when; to find a statement, use recall.
    """
    if request.session_id is not None:
        return _turns(action, request.session_id, request.token_budget)
    action.service.limits.check_page(request.limit)
    page = action.engine.sessions(request.limit, request.cursor)
    count = max(1, count_fitting(map(text.session, page), request.token_budget - text.CLOSING_TOKENS))
    if count < len(page):
        page = action.engine.sessions(count, request.cursor)
    return ToolResult(SessionLog(page.items, page.cursor, (), 0), clip(text.sessions(page), request.token_budget))


def _turns(action: Action, session_id: str, budget: int) -> ToolResult:
    """The latest turns that fit, oldest first."""
    turns = action.engine.turns(session_id)
    count = max(1, count_fitting(map(text.turn, reversed(turns)), budget - text.CLOSING_TOKENS))
    left_out = len(turns) - min(count, len(turns))
    log = SessionLog((), None, tuple(turns[left_out:]), left_out)
    return ToolResult(log, fenced(clip(text.turns(log.turns, left_out), budget - FENCE)))


@tool("Known facts", "reader", KnownFacts)
def known(action: Action, numbers: SourceNumbers, request: arguments.Known) -> ToolResult:
    """Sum up what is known of the user or another, what is coming, how something changed, what is new, or a
    conversation. Call it when a talk begins.
    """
    room = arguments.DEFAULT_TOKEN_BUDGET - FENCE
    engine, parts = action.engine, {}
    about = checked_name(request.of, "of") if request.of else ""
    if since := request.since or None:
        as_utc(since, "since")
    view: Profile | Agenda | Changes | Recap | None = None
    if request.what == "profile":
        view = engine.profile(about or "user", token_budget=room)
        parts = {"facts": view.facts, "earlier": view.earlier}
    elif request.what == "agenda":
        view = engine.agenda(since)
        parts = {"facts": view.facts, "moved": view.moved}
    elif request.what == "changes":
        view = engine.changes(since)
        parts = {"new": view.new, "replaced": view.replaced, "ended": view.ended}
    elif not about:
        raise InvalidInput(f"is missing: {arguments.OF}", field="of")
    elif request.what == "recap":
        view = engine.recap(about)
        parts = {name: getattr(view, name) for name in ("decisions", "facts", "promises", "questions")}
    else:
        action.service.limits.check_question(about)
        parts = {"facts": engine.history(about).facts}
    told = (f"{fact.since:%Y-%m-%d} {fact.text}" for fact in parts.get("facts", ()))
    lines = "\n".join(told) if view is None else str(view)
    shown = fenced(text.first_lines(harmless(lines), room)) if lines else "Nothing yet."
    return ToolResult(KnownFacts(request.what, parts), shown)


@tool("What is remembered", "reader", Stats)
def stats(action: Action, numbers: SourceNumbers, request: arguments.Stats) -> ToolResult:
    """Count what the namespace holds: memories by kind, conversations, entities, the time they span."""
    counts = action.service.stats(action.caller, action.engine)
    return ToolResult(counts, text.stats(counts))


@tool("What to look after", "reader", HealthReport)
def health(action: Action, numbers: SourceNumbers, request: arguments.Health) -> ToolResult:
    """Find what is expired, stale, never used, said twice, contradicted or a secret, with ids and what to do. Ask the
    user before you forget anything.
    """
    report = action.engine.health(examples=MAX_EXAMPLES)
    messages = (text.health(report, most) for most in range(MAX_EXAMPLES, 0, -1))
    fitting = next(
        (message for message in messages if tokens(message) <= arguments.DEFAULT_TOKEN_BUDGET), text.health(report, 0)
    )
    return ToolResult(report, clip(fitting, arguments.DEFAULT_TOKEN_BUDGET))


@tool("Namespaces", "reader", Namespaces)
def namespaces(action: Action, numbers: SourceNumbers, request: arguments.Namespaces) -> ToolResult:
    """List the namespaces you may use, by name. Each has memories of its own."""
    page = action.service.namespace_page(action.caller, action.service.limits.page, request.cursor)
    count = max(1, count_fitting((item.name for item in page), arguments.DEFAULT_TOKEN_BUDGET - text.CLOSING_TOKENS))
    if count < len(page):
        page = action.service.namespace_page(action.caller, count, request.cursor)
    listed = Namespaces(tuple(item.name for item in page), page.cursor)
    return ToolResult(listed, clip(text.namespaces(listed), arguments.DEFAULT_TOKEN_BUDGET))


@tool("Delete a namespace", "admin", DeletedNamespace, destructive=True)
def delete_namespace(action: Action, numbers: SourceNumbers, request: arguments.DeleteNamespace) -> ToolResult:
    """Delete a namespace with all its memories, for good. Call it only when the user names the namespace and asks for
    that.
    """
    name = str(action.session.namespace)
    report = DeletedNamespace(name, action.service.delete_namespace(action.caller, name), action.service.erasure())
    return ToolResult(report, text.deleted_namespace(report))
