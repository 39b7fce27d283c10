"""Learn: thumbs become feedback; the page shows what the namespace learned from it, and how its words drift."""

from __future__ import annotations

from math import exp
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.adaptation import MAX_OFFSET_SPREAD, Adaptation
from fivefold.learning.training import MIN_RECALLS
from fivefold.web.inspector.login import local_path
from fivefold.web.inspector.rendering import PageSession, confirmation, is_fragment, page, redirect

router: APIRouter = APIRouter()

Text = Annotated[str, Form(max_length=1_000)]

SIGNALS = (("similarity", "dense"), ("recency", "recency"), ("frequency", "frequency"))
"""The three weights that feedback corrects, each with the colour of its bars."""


class Shift(NamedTuple):
    """The factor of a predicted weight; `share` goes from −1, a third, over 0, no change, to 1, three times."""

    name: str
    kind: str
    factor: float
    share: float


@router.get("/learn")
def learn(request: Request, session: PageSession, done: str = "") -> Response:
    with session.act("learned") as act:
        engine = act.engine
        stats, learned = session.service.stats(session.caller, engine), engine.learned()
        feedback_count = engine.feedback_count()
    return page(
        request,
        "learn.html",
        stats=stats,
        learned=learned,
        shifts=make_shifts(learned.weights),
        least=MIN_RECALLS,
        feedback_count=feedback_count,
        settings=engine.settings,
        done=confirmation(done),
        good=done != "not-trained",
    )


@router.post("/learn/thumb")
def thumb(
    request: Request,
    session: PageSession,
    recall: Text = "",
    memory: Text = "",
    thumb: Annotated[Literal["up", "down"], Form()] = "up",
    back: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """One hit of a recall was useful, or not; the last thumb counts."""
    error = ""
    try:
        with session.act("used", "writer", memory or None) as act:
            up, down = ([memory], []) if thumb == "up" else ([], [memory])
            act.engine.feedback(recall, used=up, not_used=down)
    except (InvalidInput, NotFound) as problem:
        if not is_fragment(request):
            raise
        error = str(problem)
    if not is_fragment(request):
        return RedirectResponse(local_path(back or "/learn"), 303)
    return page(request, "learn_thumb.html", recall=recall, memory=memory, thumb=thumb, back=back, error=error)


@router.post("/learn/train")
def train(session: PageSession) -> Response:
    with session.act("train", "admin") as act:
        verdict = act.engine.train_reranker()
    return redirect(session, "/learn", done="trained" if verdict.on else "not-trained")


@router.post("/learn/unlearn")
def unlearn(session: PageSession) -> Response:
    with session.act("unlearn", "admin") as act:
        act.engine.unlearn()
    return redirect(session, "/learn", done="unlearned")


def make_shifts(weights: Adaptation) -> list[Shift]:
    """The correction as far as it is trusted."""
    return [
        Shift(name, kind, exp(weights.trust * offset), weights.trust * offset / MAX_OFFSET_SPREAD)
        for (name, kind), offset in zip(SIGNALS, weights.offsets, strict=True)
    ]
