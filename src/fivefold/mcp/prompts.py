"""Prompts a person can choose in a client: recall before answering, and keep what matters of a talk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from fivefold.mcp import text as texts
from fivefold.mcp.arguments import BUDGET
from fivefold.mcp.transport import Transport

if TYPE_CHECKING:
    from fivefold.retrieval.prompt import Context
    from fivefold.service.session import Action

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
