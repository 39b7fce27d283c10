"""What each tool does: the engine's answer as a value, and the same in words within the budget."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.mcp import arguments
from fivefold.mcp import text as shown
from fivefold.mcp.budget import clipped, explained, fitting
from fivefold.mcp.source_numbers import Numbers
from fivefold.retrieval.prompt import Count, compose
from fivefold.service.limits import Limits
from fivefold.service.recipes import recipe_named
from fivefold.service.responses import Feedback
from fivefold.service.service import Service
from fivefold.text.tokens import tokens
from fivefold.values.access import Caller
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
class Answer:
    """A value, and the same in words."""

    value: Value
    text: str
    subject: str | None = None
    """The id of what was changed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tool works: on a namespace, within the limits of the server."""

    engine: Engine
    service: Service
    caller: Caller
    numbers: Numbers

    @property
    def limits(self) -> Limits:
        return self.service.limits


def remember(at: Place, asked: arguments.Remember) -> Answer:
    at.limits.check_text(asked.content, "content")
    record = asked.model_dump(exclude={"namespace", "supersedes"}, exclude_none=True)
    old = asked.supersedes
    report = at.engine.remember(**record) if old is None else at.engine.supersede(old, record)
    return Answer(report, shown.report(report), report.id)


def recall(at: Place, asked: arguments.Recall) -> Answer:
    at.limits.check_k(asked.k)
    at.limits.check_text(asked.question, "question")
    answer = at.engine.recall(
        asked.question,
        asked.k,
        now=asked.now,
        effort=asked.effort,
        recent_turns=asked.recent_turns,
        session_id=asked.session_id,
    )
    end = f"\n{shown.closing(answer.id)}"
    found = compose(answer, asked.token_budget - tokens(end), _counter(answer, asked.ids))
    sources = [source.id for source in found.sources]
    at.numbers.tell(at.engine.namespace, answer.id, sources)
    ids = f"\n{shown.numbered(sources)}" if asked.ids else ""
    return Answer(found, f"{shown.block(found)}{ids}{end}" if sources else shown.block(found))


def _counter(answer: Recall, ids: bool) -> Count:
    """Counts tokens; where ids are told, each source costs as much more as the longest of them."""
    if not ids:
        return tokens
    found = [memory.id for memory in (*(hit.memory for hit in answer), *answer.recent)]
    dearest = max((tokens(f"\n[{len(found)}] id {id}") for id in found), default=0)
    return lambda text: tokens(text) + dearest * len(_SOURCE.findall(text))


def explain(at: Place, asked: arguments.Explain) -> Answer:
    at.limits.check_k(asked.k)
    at.limits.check_text(asked.question, "question")
    recipe = recipe_named(asked.recipe, still=True)
    found = at.engine.recall(asked.question, asked.k, recipe, asked.now, effort=asked.effort)
    at.numbers.tell(at.engine.namespace, found.id, [hit.memory.id for hit in found])
    _, text = explained(found, asked.token_budget, lambda cut: shown.trace(found.id, cut))
    return Answer(found, text)


def forget(at: Place, asked: arguments.Forget) -> Answer:
    memory = at.engine.forget(asked.id)
    return Answer(memory, shown.forgotten(memory), memory.id)


def used(at: Place, asked: arguments.Used) -> Answer:
    named = (at.numbers.ids(at.engine.namespace, asked.recall_id, ids) for ids in (asked.used, asked.not_used))
    taken, left = map(tuple, named)
    try:
        at.engine.feedback(asked.recall_id, used=taken, not_used=left)
    except InvalidInput as error:
        if at.numbers.lost(at.engine.namespace, asked.recall_id, (*taken, *left)):
            raise InvalidInput(f"{error}; a number is known only to the process that told it, name ids") from None
        raise
    told = Feedback(asked.recall_id, taken, left)
    return Answer(told, shown.feedback(told), asked.recall_id)


def sessions(at: Place, asked: arguments.Sessions) -> Answer:
    if asked.session_id is not None:
        return _turns(at, asked.session_id, asked.token_budget)
    at.limits.check_page(asked.limit)
    page = at.engine.sessions(asked.limit, asked.cursor)
    kept = max(1, fitting(map(shown.session, page), asked.token_budget - shown.CLOSING))
    if kept < len(page):
        page = at.engine.sessions(kept, asked.cursor)
    return Answer(SessionLog(page.items, page.cursor, (), 0), clipped(shown.sessions(page), asked.token_budget))


def _turns(at: Place, session_id: str, budget: int) -> Answer:
    """The latest turns that fit, told in their order."""
    turns = at.engine.turns(session_id)
    kept = max(1, fitting(map(shown.turn, reversed(turns)), budget - shown.CLOSING))
    left_out = len(turns) - min(kept, len(turns))
    log = SessionLog((), None, tuple(turns[left_out:]), left_out)
    return Answer(log, clipped(shown.turns(log.turns, left_out), budget))


def stats(at: Place, _: arguments.Stats) -> Answer:
    held = at.service.stats(at.caller, at.engine)
    return Answer(held, shown.stats(held))
