"""Compare: one question with several recipes, side by side, with sliders for their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.recall_trace import EFFORTS
from fivefold.web.inspector.cards import make_legend
from fivefold.web.inspector.compare_side import Side, answer_side
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.question import PageQuestion, Question
from fivefold.web.inspector.rendering import address, is_fragment, page

router = APIRouter()

RECIPES = ("default", "ditto", "memsense", "five-stage", "engram", "recall")
"""The recipes on the page unless the address names others: ours and those of the five source systems (N2)."""

MAX_RECIPES = 24


@router.get("/compare")
def compare(
    request: Request,
    session: PageSession,
    question: PageQuestion,
    recipes: Annotated[tuple[str, ...], Query()] = RECIPES,
    further: str = "",
) -> Response:
    """A recipe may be there twice, to compare it with itself under other weights; one without a name is left out."""
    named = [(number, name) for number, name in enumerate((*recipes, further), 1) if name]
    if len(named) > MAX_RECIPES:
        raise InvalidInput(f"compare at most {MAX_RECIPES} recipes at a time, not {len(named)}")
    params = dict(request.query_params)
    sides = [
        answer_side(number, given, recipe, params, question, session) for number, (given, recipe) in enumerate(named, 1)
    ]
    plain = [replace(side, overrides={}) for side in sides]
    response = page(
        request,
        "compare.html",
        max((side.status for side in sides), default=200),
        question=question,
        sides=sides,
        places=places_of(sides),
        recipes=known_recipes(),
        efforts=EFFORTS,
        legend=make_legend([side.recall for side in sides if side.recall is not None]),
        state=question.state(),
        without_overrides=address("/compare", session.namespace, state_of(question, plain)),
    )
    if is_fragment(request):
        response.headers["HX-Replace-Url"] = address("/compare", session.namespace, state_of(question, sides))
    return response


def state_of(question: Question, sides: Sequence[Side]) -> dict[str, object]:
    """The state in the address: the question, the recipes, and only the weights that differ from the recipe's."""
    state = {name: value for name, value in question.state().items() if name != "recipe"}
    named = [side.recipe for side in sides]
    state |= {} if named == list(RECIPES) else {"recipes": named}
    return state | {f"{side.number}.{path}": value for side in sides for path, value in side.overrides.items()}


def places_of(sides: Sequence[Side]) -> dict[str, list[tuple[int, str, int]]]:
    """For each memory the sides that have it: number, recipe, and its rank there."""
    places: dict[str, list[tuple[int, str, int]]] = {}
    for side in sides:
        for card in side.cards:
            places.setdefault(card.hit.memory.id, []).append((side.number, side.recipe, card.hit.rank))
    return places
