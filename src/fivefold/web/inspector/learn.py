"""Learn: thumbs become feedback; the page shows what the namespace learned from it, and how its words drift."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.adaptation import BOUND, Adaptation
from fivefold.learning.training import LEAST
from fivefold.web.inspector.acting import DONE, acting, onward
from fivefold.web.inspector.login import local
from fivefold.web.inspector.rendering import is_fragment, page
from fivefold.web.inspector.visit import Here

router = APIRouter()

Typed = Annotated[str, Form(max_length=1_000)]

SIGNALS = (("similarity", "dense"), ("recency", "recency"), ("frequency", "frequency"))
"""The three weights that are corrected, each with the colour of its bars."""


@dataclass(frozen=True, slots=True)
class Shift:
    """What a predicted weight is multiplied by; `share` from −1, a third, over 0, as predicted, to 1, three times."""

    name: str
    kind: str
    factor: float
    share: float


@router.get("/learn")
def learn(request: Request, visit: Here, done: str = "") -> Response:
    with acting(visit, "learned") as engine:
        held, learned = visit.service.stats(visit.caller, engine), engine.learned()
        heard = engine.store.reader(engine.namespace).feedback_count()
    return page(
        request,
        "learn.html",
        held=held,
        learned=learned,
        shifts=shifts(learned.weights),
        least=LEAST,
        heard=heard,
        settings=engine.settings,
        done=DONE.get(done, ""),
        good=done != "untaught",
    )


@router.post("/learn/thumb")
def thumb(
    request: Request,
    visit: Here,
    recall: Typed = "",
    memory: Typed = "",
    thumb: Annotated[Literal["up", "down"], Form()] = "up",
    back: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """One hit of a recall was of use, or of none; the last thumb counts."""
    fault = ""
    try:
        with acting(visit, "used", [memory], "writer") as engine:
            engine.feedback(
                recall, used=[memory] if thumb == "up" else [], not_used=[memory] if thumb == "down" else []
            )
    except (InvalidInput, NotFound) as error:
        if not is_fragment(request):
            raise
        fault = str(error)
    if not is_fragment(request):
        return RedirectResponse(local(back or "/learn"), 303)
    return page(request, "learn_thumb.html", recall=recall, memory=memory, thumb=thumb, back=back, fault=fault)


@router.post("/learn/train")
def train(visit: Here) -> Response:
    with acting(visit, "train", role="admin") as engine:
        verdict = engine.train_reranker()
    return onward(visit, "/learn", done="taught" if verdict.on else "untaught")


@router.post("/learn/unlearn")
def unlearn(visit: Here) -> Response:
    with acting(visit, "unlearn", role="admin") as engine:
        engine.unlearn()
    return onward(visit, "/learn", done="unlearned")


def shifts(found: Adaptation) -> list[Shift]:
    """The correction as far as it counts."""
    return [
        Shift(name, kind, exp(found.trust * offset), found.trust * offset / BOUND)
        for (name, kind), offset in zip(SIGNALS, found.offsets, strict=True)
    ]
