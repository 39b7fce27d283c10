"""Ask: a question, and the memories that answer it as cards that show what they earned their place by."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.service.session import Session
from fivefold.values.recall import EFFORTS
from fivefold.values.reports import Stats
from fivefold.web.inspector.acting import acting
from fivefold.web.inspector.memory import around
from fivefold.web.inspector.question import AskedBy, answered
from fivefold.web.inspector.rendering import address, followed, page
from fivefold.web.inspector.shares import cards, legend
from fivefold.web.inspector.visit import Here

router = APIRouter()


@router.get("/ask")
def ask(request: Request, visit: Here, posed: AskedBy) -> Response:
    found = answered(posed, visit, "recall")
    answer, here = found.recall, address("/ask", visit.namespace, posed.state())
    shown = page(
        request,
        "ask.html",
        found.status,
        posed=posed,
        answer=answer,
        wrong=found.wrong,
        cards=[] if answer is None else cards(answer),
        legend=[] if answer is None else legend([answer]),
        settings=visit.engine().settings,
        held=None if posed.q else _held(visit),
        recipes=known_recipes(),
        efforts=EFFORTS,
        carried=posed.state(),
        back=here,
    )
    return followed(request, shown, here)


@router.get("/ask/beside")
def beside(request: Request, visit: Here, id: Annotated[str, Query()]) -> Response:
    """The turns just before and after a memory in its session."""
    with acting(visit, "get", [id]) as engine:
        turns = around(engine, engine.get(id))
    return page(request, "ask_beside.html", turns=[turn for turn in turns if turn is not None])


def _held(visit: Session) -> Stats:
    with acting(visit, "stats") as engine:
        return visit.service.stats(visit.caller, engine)
