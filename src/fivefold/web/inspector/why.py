"""Why: one recall from the question to the answer, every step read off its trace."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.recall import EFFORTS
from fivefold.web.inspector import trace
from fivefold.web.inspector.question import AskedBy, answered
from fivefold.web.inspector.rendering import address, followed, page
from fivefold.web.inspector.shares import cards, kinds_of
from fivefold.web.inspector.visit import Here

router = APIRouter()


@router.get("/why")
def why(request: Request, visit: Here, posed: AskedBy) -> Response:
    """The recipe's noise is left out, so that the explanation can be repeated."""
    found = answered(posed, visit, "explain", still=True)
    answer = found.recall
    told = (
        {}
        if answer is None
        else {
            "stretches": trace.stretches(answer.query),
            "laps": trace.waterfall(answer),
            "kinds": kinds_of(answer.plan),
            "left_out": trace.left_out(answer),
            "dropped": trace.named(answer),
            "cards": cards(answer),
            "runs": {run.route: run for run in answer.routes},
        }
    )
    shown = page(
        request,
        "why.html",
        found.status,
        posed=posed,
        answer=answer,
        wrong=found.wrong,
        settings=visit.engine().settings,
        recipes=known_recipes(),
        efforts=EFFORTS,
        carried=posed.state(),
        **told,
    )
    return followed(request, shown, address("/why", visit.namespace, posed.state()))
