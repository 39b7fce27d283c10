"""Compare: one question with two recipes, side by side, with sliders for their weights."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.recall_trace import EFFORTS
from fivefold.web.inspector.cards import make_legend
from fivefold.web.inspector.compare_side import Side, answer_side
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.question import PageQuestion, Question
from fivefold.web.inspector.rendering import address, is_fragment, page

router = APIRouter()


@router.get("/compare")
def compare(
    request: Request, session: PageSession, question: PageQuestion, left: str = "default", right: str = "ditto"
) -> Response:
    params, recipes = dict(request.query_params), (("left", left), ("right", right))
    sides = tuple(answer_side(name, recipe, params, question, session) for name, recipe in recipes)
    plain = tuple(replace(side, overrides={}) for side in sides)
    response = page(
        request,
        "compare.html",
        max(side.status for side in sides),
        question=question,
        sides=sides,
        other_ranks=other_ranks(sides),
        recipes=known_recipes(),
        efforts=EFFORTS,
        legend=make_legend([side.recall for side in sides if side.recall is not None]),
        state=question.state(),
        without_overrides=address("/compare", session.namespace, state_of(question, plain)),
    )
    if is_fragment(request):
        response.headers["HX-Replace-Url"] = address("/compare", session.namespace, state_of(question, sides))
    return response


def state_of(question: Question, sides: tuple[Side, ...]) -> dict[str, object]:
    """The state in the address: the question, both recipes, and only the weights that differ from the recipe's."""
    state = {name: value for name, value in question.state().items() if name != "recipe"}
    state |= {side.name: side.recipe for side in sides}
    return state | {f"{side.name[0]}.{path}": value for side in sides for path, value in side.overrides.items()}


def other_ranks(sides: tuple[Side, ...]) -> dict[str, dict[str, int]]:
    """For each side the ranks of memories on the other."""
    ranks = [{card.hit.memory.id: card.hit.rank for card in side.cards} for side in sides]
    return {sides[0].name: ranks[1], sides[1].name: ranks[0]}
