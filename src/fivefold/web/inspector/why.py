"""Why: one recall from the question to the answer, every step read off its trace."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import EFFORTS
from fivefold.web.inspector import trace_view
from fivefold.web.inspector.cards import make_cards
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.question import PageQuestion, answer_question
from fivefold.web.inspector.rendering import address, page, push_address

router = APIRouter()


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
        "pieces": trace_view.split_question(recall.query),
        "timings": trace_view.make_waterfall(recall),
        "kinds": recall.plan.kinds(),
        "dropped_counts": trace_view.count_dropped(recall),
        "dropped": dropped[: trace_view.MOST_DROPPED],
        "dropped_in_all": len(dropped),
        "cards": make_cards(recall),
        "runs": {run.route: run for run in recall.routes},
    }
