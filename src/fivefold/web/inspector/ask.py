"""Ask: a question, and the memories that answer it as cards with the parts of their scores."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.recall_trace import EFFORTS
from fivefold.web.inspector.memories import neighbours_of
from fivefold.web.inspector.question import PageQuestion, answer_question, make_cards, make_legend
from fivefold.web.inspector.rendering import PageSession, address, page, push_address

router = APIRouter()


@router.get("/ask")
def ask(request: Request, session: PageSession, question: PageQuestion) -> Response:
    answer = answer_question(question, session, "recall")
    recall, here, stats = answer.recall, address("/ask", session.namespace, question.state()), None
    if not question.q:
        with session.act("stats") as act:
            stats = session.service.stats(session.caller, act.engine)
    response = page(
        request,
        "ask.html",
        answer.status,
        question=question,
        recall=recall,
        error=answer.error,
        cards=[] if recall is None else make_cards(recall),
        legend=[] if recall is None else make_legend([recall]),
        settings=session.engine().settings,
        stats=stats,
        recipes=known_recipes(),
        efforts=EFFORTS,
        state=question.state(),
        back=here,
    )
    return push_address(request, response, here)


@router.get("/ask/context")
def context(request: Request, session: PageSession, id: Annotated[str, Query()]) -> Response:
    """The turns before and after a memory in its session."""
    with session.act("get", subject=id) as act:
        turns = neighbours_of(act.engine, act.engine.get(id))
    return page(request, "ask_context.html", turns=[turn for turn in turns if turn is not None])
