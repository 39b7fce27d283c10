"""What each tool does: the engine's answer as a value, and the same in words within the budget."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fivefold.errors import InvalidInput
from fivefold.mcp import arguments, text
from fivefold.mcp.budget import FENCE, clip, count_fitting, fit_trace
from fivefold.mcp.source_numbers import SourceNumbers
from fivefold.retrieval.prompt import compose
from fivefold.retrieval.prompt_block import Count
from fivefold.service.recipes import recipe_named
from fivefold.service.responses import DeletedNamespace, Feedback, ForgottenMemory, Namespaces
from fivefold.service.session import Action
from fivefold.text.fence import fenced
from fivefold.text.tokens import tokens
from fivefold.values.memory import Memory, Session
from fivefold.values.recall import Recall
from fivefold.values.serialize import Value

MOST_EXAMPLES = 5
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
class ToolResult:
    """A value, and the same in words."""

    value: Value
    text: str
    subject: str | None = None
    """The id of what the call changed."""


def remember(action: Action, numbers: SourceNumbers, request: arguments.Remember) -> ToolResult:
    action.service.limits.check_text(request.content, "content")
    record = {"origin": "assistant", **request.model_dump(exclude={"namespace", "supersedes"}, exclude_none=True)}
    old = request.supersedes
    report = action.engine.remember(**record) if old is None else action.engine.supersede(old, record)
    return ToolResult(report, text.report(report), report.id)


def remember_messages(action: Action, numbers: SourceNumbers, request: arguments.RememberMessages) -> ToolResult:
    for place, message in enumerate(request.messages):
        action.service.limits.check_message(message, f"messages[{place}]")
    report = action.engine.remember_messages(request.messages, session_id=request.session_id)
    return ToolResult(report, text.messages_report(report), request.session_id)


def recall(action: Action, numbers: SourceNumbers, request: arguments.Recall) -> ToolResult:
    action.service.limits.check_question(request.question)
    answer = action.engine.recall(
        request.question,
        action.service.limits.k_for_block(request.k, request.token_budget),
        now=request.now,
        effort=request.effort,
        recent_turns=request.recent_turns,
        session_id=request.session_id,
        min_chance=request.min_chance,
        filter=request.filter,
    )
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


def explain(action: Action, numbers: SourceNumbers, request: arguments.Explain) -> ToolResult:
    action.service.limits.check_k(request.k)
    action.service.limits.check_question(request.question)
    recipe = recipe_named(request.recipe, still=True)
    answer = action.engine.recall(
        request.question, request.k, recipe=recipe, now=request.now, effort=request.effort, filter=request.filter
    )
    numbers.record(action.engine.namespace, answer.id, [hit.memory.id for hit in answer])
    _, message = fit_trace(answer, request.token_budget, lambda cut: text.trace(answer.id, cut))
    return ToolResult(answer, message)


def forget(action: Action, numbers: SourceNumbers, request: arguments.Forget) -> ToolResult:
    forgotten = ForgottenMemory(action.engine.forget(request.id), action.service.erasure())
    return ToolResult(forgotten, text.forget_message(forgotten), forgotten.memory.id)


def used(action: Action, numbers: SourceNumbers, request: arguments.Used) -> ToolResult:
    lists = (numbers.ids(action.engine.namespace, request.recall_id, ids) for ids in (request.used, request.not_used))
    helpful, unhelpful = map(tuple, lists)
    try:
        action.engine.feedback(request.recall_id, used=helpful, not_used=unhelpful)
    except InvalidInput as error:
        if numbers.lost(action.engine.namespace, request.recall_id, (*helpful, *unhelpful)):
            raise InvalidInput(f"{error}; only the process that gave a number knows it, name ids") from None
        raise
    report = Feedback(request.recall_id, helpful, unhelpful)
    return ToolResult(report, text.feedback(report), request.recall_id)


def sessions(action: Action, numbers: SourceNumbers, request: arguments.Sessions) -> ToolResult:
    if request.session_id is not None:
        return _turns(action, request.session_id, request.token_budget)
    action.service.limits.check_page(request.limit)
    page = action.engine.sessions(request.limit, request.cursor)
    count = max(1, count_fitting(map(text.session, page), request.token_budget - text.CLOSING))
    if count < len(page):
        page = action.engine.sessions(count, request.cursor)
    return ToolResult(SessionLog(page.items, page.cursor, (), 0), clip(text.sessions(page), request.token_budget))


def _turns(action: Action, session_id: str, budget: int) -> ToolResult:
    """The latest turns that fit, oldest first."""
    turns = action.engine.turns(session_id)
    count = max(1, count_fitting(map(text.turn, reversed(turns)), budget - text.CLOSING))
    left_out = len(turns) - min(count, len(turns))
    log = SessionLog((), None, tuple(turns[left_out:]), left_out)
    return ToolResult(log, fenced(clip(text.turns(log.turns, left_out), budget - FENCE)))


def namespaces(action: Action, numbers: SourceNumbers, request: arguments.Namespaces) -> ToolResult:
    page = action.service.namespace_page(action.caller, action.service.limits.page, request.cursor)
    count = max(1, count_fitting((item.name for item in page), arguments.BUDGET - text.CLOSING))
    if count < len(page):
        page = action.service.namespace_page(action.caller, count, request.cursor)
    listed = Namespaces(tuple(item.name for item in page), page.cursor)
    return ToolResult(listed, clip(text.namespaces(listed), arguments.BUDGET))


def delete_namespace(action: Action, numbers: SourceNumbers, request: arguments.DeleteNamespace) -> ToolResult:
    name = str(action.session.namespace)
    report = DeletedNamespace(name, action.service.delete_namespace(action.caller, name), action.service.erasure())
    return ToolResult(report, text.deleted_namespace(report))


def stats(action: Action, numbers: SourceNumbers, _: arguments.Stats) -> ToolResult:
    counts = action.service.stats(action.caller, action.engine)
    return ToolResult(counts, text.stats(counts))


def health(action: Action, numbers: SourceNumbers, _: arguments.Health) -> ToolResult:
    """As many examples of each finding as fit."""
    report = action.engine.health(examples=MOST_EXAMPLES)
    messages = (text.health(report, most) for most in range(MOST_EXAMPLES, 0, -1))
    fitting = next((message for message in messages if tokens(message) <= arguments.BUDGET), text.health(report, 0))
    return ToolResult(report, clip(fitting, arguments.BUDGET))
