"""Why: one recall from the question to the answer, every step read off its trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.query import Query
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import EFFORTS
from fivefold.web.inspector.question import PageQuestion, answer_question, make_cards
from fivefold.web.inspector.rendering import PageSession, address, page, push_address

Mark = Literal["", "entity", "window", "cue"]

MAX_DROPPED = 1_000
"""Dropped candidates in the list; the page says how many there are in all."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the question, and everything that was read from it."""

    text: str
    mark: Mark = ""
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimingBar:
    """One row of the waterfall, in percent of the whole; a route lies inside the stage that runs the routes."""

    name: str
    start: float
    width: float
    ms: float
    kind: str
    route: bool = False


def split_question(query: Query) -> list[Piece]:
    """The question, split at the beginning and end of each reading, so that readings may overlap."""
    spans = [(start, end, what, _mark(query, start, what)) for start, end, what in query.spans()]
    cuts = sorted({0, len(query.text), *(edge for start, end, _, _ in spans for edge in (start, end))})
    pieces = []
    for start, end in pairwise(cuts):
        over = [(what, mark) for first, last, what, mark in spans if first <= start and end <= last]
        readings = tuple(dict.fromkeys(what for what, _ in over))
        pieces.append(Piece(query.text[start:end], over[0][1] if over else "", readings))
    return pieces


def _mark(query: Query, start: int, what: str) -> Mark:
    if any(ref.start == start and ref.name == what for ref in query.entities):
        return "entity"
    demanded = any(demand.start == start and demand.kind == what for demand in query.demands)
    return "cue" if demanded or any(what == f"{cue.kind}: {cue.value}" for cue in query.cues) else "window"


def make_waterfall(recall: Recall) -> Iterator[TimingBar]:
    """The stages one after the other, and under `retrieve` the routes, which run in parallel."""
    scale = 100 / (sum(timing.ms for timing in recall.timings) or 1.0)
    kinds, start = recall.plan.kinds(), 0.0
    for timing in recall.timings:
        yield TimingBar(timing.stage, start * scale, timing.ms * scale, timing.ms, "accent")
        if timing.stage == "retrieve":
            for run in recall.routes:
                if run.status != "skipped":
                    width = min(run.ms * scale, 100 - start * scale)
                    yield TimingBar(run.route, start * scale, width, run.ms, kinds[run.route], route=True)
        start += timing.ms


router: APIRouter = APIRouter()


@router.get("/why")
def why(request: Request, session: PageSession, question: PageQuestion) -> Response:
    """The recall leaves the recipe's noise out, so that the explanation can be repeated."""
    answer = answer_question(question, session, "explain", noise=False)
    response = page(
        request,
        "why.html",
        answer.status,
        question=question,
        recall=answer.recall,
        error=answer.error,
        settings=session.engine().settings,
        recipes=known_recipes(),
        efforts=EFFORTS,
        state=question.state(),
        **({} if answer.recall is None else _trace(answer.recall)),
    )
    return push_address(request, response, address("/why", session.namespace, question.state()))


def _trace(recall: Recall) -> dict[str, object]:
    dropped = [item for item in recall.candidates if item.rank is None]
    return {
        "pieces": split_question(recall.query),
        "timings": list(make_waterfall(recall)),
        "kinds": recall.plan.kinds(),
        "dropped_counts": list(Counter(item.stage for item in dropped).items()),
        "dropped": dropped[:MAX_DROPPED],
        "dropped_in_all": len(dropped),
        "cards": make_cards(recall),
        "runs": {run.route: run for run in recall.routes},
    }
