"""Ask: a question, and the memories that answer it as cards that show what they earned their place by."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fivefold.engine import Engine
from fivefold.memory import Memory
from fivefold.recall import EFFORTS
from fivefold.recipe import known_recipes
from fivefold.serve.page.question import AskedBy, answered
from fivefold.serve.page.rendering import address, followed, page
from fivefold.serve.page.shares import cards, legend
from fivefold.serve.page.visit import Here

router = APIRouter()


@router.get("/ask")
def ask(request: Request, visit: Here, posed: AskedBy) -> Response:
    engine = visit.engine()
    found = answered(posed, engine, visit.service.limits)
    answer, here = found.recall, address("/ask", visit.namespace, posed.state())
    shown = page(
        request, "ask.html", found.status, posed=posed, answer=answer, wrong=found.wrong, settings=engine.settings,
        cards=[] if answer is None else cards(answer), legend=[] if answer is None else legend([answer]),
        held=visit.service.stats(visit.caller, engine) if answer is None else None, recipes=known_recipes(),
        efforts=EFFORTS, carried=posed.state(), back=here,
    )  # fmt: skip
    return followed(request, shown, here)


@router.get("/ask/beside")
def beside(request: Request, visit: Here, id: Annotated[str, Query()]) -> Response:
    """The turns just before and after a memory in its session."""
    engine = visit.engine()
    return page(request, "ask_beside.html", turns=_around(engine, engine.get(id)))


def _around(engine: Engine, memory: Memory) -> list[Memory]:
    if memory.session_id is None or memory.kind == "session":
        return []
    turns = engine.turns(memory.session_id)
    at = next((i for i, turn in enumerate(turns) if turn.id == memory.id), None)
    return [] if at is None else [turn for turn in turns[max(0, at - 1) : at + 2] if turn.id != memory.id]
