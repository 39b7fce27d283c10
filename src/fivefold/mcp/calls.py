"""What each tool does: the engine's answer as a value, and the same in words within the budget."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fivefold.errors import InvalidInput
from fivefold.mcp import arguments, text
from fivefold.mcp.budget import clip, count_fitting, fit_trace
from fivefold.mcp.source_numbers import SourceNumbers
from fivefold.retrieval.prompt import Count, compose
from fivefold.service.recipes import recipe_named
from fivefold.service.responses import Feedback
from fivefold.service.session import Action
from fivefold.text.tokens import tokens
from fivefold.values.memory import Memory, Session
from fivefold.values.recall import Recall
from fivefold.values.serialize import Value

_SOURCE = re.compile(r"^\[\d+\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SessionLog(Value):
    """Conversations, latest first, or the turns of one of them, oldest first."""

    items: tuple[Session, ...]
    cursor: str | None
    turns: tuple[Memory, ...]
    left_out: int
    """Turns, the earliest of them, that the budget had no room for."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A value, and the same in words."""

    value: Value
    text: str
    subject: str | None = None
    """The id of what was changed."""


def remember(action: Action, numbers: SourceNumbers, asked: arguments.Remember) -> ToolResult:
    action.service.limits.check_text(asked.content, "content")
    record = asked.model_dump(exclude={"namespace", "supersedes"}, exclude_none=True)
    old = asked.supersedes
    report = action.engine.remember(**record) if old is None else action.engine.supersede(old, record)
    return ToolResult(report, text.report(report), report.id)


def recall(action: Action, numbers: SourceNumbers, asked: arguments.Recall) -> ToolResult:
    action.service.limits.check_k(asked.k)
    action.service.limits.check_text(asked.question, "question")
    answer = action.engine.recall(
        asked.question,
        asked.k,
        now=asked.now,
        effort=asked.effort,
        recent_turns=asked.recent_turns,
        session_id=asked.session_id,
    )
    end = f"\n{text.closing(answer.id)}"
    found = compose(answer, asked.token_budget - tokens(end), _counter(answer, asked.ids))
    sources = [source.id for source in found.sources]
    numbers.record(action.engine.namespace, answer.id, sources)
    ids = f"\n{text.id_list(sources)}" if asked.ids else ""
    return ToolResult(found, f"{text.block(found)}{ids}{end}" if sources else text.block(found))


def _counter(answer: Recall, ids: bool) -> Count:
    """Counts tokens; where ids are told, each source costs as much more as the longest of them."""
    if not ids:
        return tokens
    found = [memory.id for memory in (*(hit.memory for hit in answer), *answer.recent)]
    dearest = max((tokens(f"\n[{len(found)}] id {id}") for id in found), default=0)
    return lambda text: tokens(text) + dearest * len(_SOURCE.findall(text))


def explain(action: Action, numbers: SourceNumbers, asked: arguments.Explain) -> ToolResult:
    action.service.limits.check_k(asked.k)
    action.service.limits.check_text(asked.question, "question")
    recipe = recipe_named(asked.recipe, still=True)
    found = action.engine.recall(asked.question, asked.k, recipe=recipe, now=asked.now, effort=asked.effort)
    numbers.record(action.engine.namespace, found.id, [hit.memory.id for hit in found])
    _, words = fit_trace(found, asked.token_budget, lambda cut: text.trace(found.id, cut))
    return ToolResult(found, words)


def forget(action: Action, numbers: SourceNumbers, asked: arguments.Forget) -> ToolResult:
    memory = action.engine.forget(asked.id)
    return ToolResult(memory, text.forget_message(memory), memory.id)


def used(action: Action, numbers: SourceNumbers, asked: arguments.Used) -> ToolResult:
    named = (numbers.ids(action.engine.namespace, asked.recall_id, ids) for ids in (asked.used, asked.not_used))
    taken, left = map(tuple, named)
    try:
        action.engine.feedback(asked.recall_id, used=taken, not_used=left)
    except InvalidInput as error:
        if numbers.lost(action.engine.namespace, asked.recall_id, (*taken, *left)):
            raise InvalidInput(f"{error}; a number is known only to the process that told it, name ids") from None
        raise
    told = Feedback(asked.recall_id, taken, left)
    return ToolResult(told, text.feedback(told), asked.recall_id)


def sessions(action: Action, numbers: SourceNumbers, asked: arguments.Sessions) -> ToolResult:
    if asked.session_id is not None:
        return _turns(action, asked.session_id, asked.token_budget)
    action.service.limits.check_page(asked.limit)
    page = action.engine.sessions(asked.limit, asked.cursor)
    kept = max(1, count_fitting(map(text.session, page), asked.token_budget - text.CLOSING))
    if kept < len(page):
        page = action.engine.sessions(kept, asked.cursor)
    return ToolResult(SessionLog(page.items, page.cursor, (), 0), clip(text.sessions(page), asked.token_budget))


def _turns(action: Action, session_id: str, budget: int) -> ToolResult:
    """The latest turns that fit, told in their order."""
    turns = action.engine.turns(session_id)
    kept = max(1, count_fitting(map(text.turn, reversed(turns)), budget - text.CLOSING))
    left_out = len(turns) - min(kept, len(turns))
    log = SessionLog((), None, tuple(turns[left_out:]), left_out)
    return ToolResult(log, clip(text.turns(log.turns, left_out), budget))


def stats(action: Action, numbers: SourceNumbers, _: arguments.Stats) -> ToolResult:
    held = action.service.stats(action.caller, action.engine)
    return ToolResult(held, text.stats(held))
