"""Compare: one question by two recipes, side by side, their weights at hand."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.values.recall import EFFORTS
from fivefold.web.inspector.question import AskedBy, Posed
from fivefold.web.inspector.rendering import address, is_fragment, page
from fivefold.web.inspector.shares import legend
from fivefold.web.inspector.sides import Side, side_of
from fivefold.web.inspector.visit import Here

router = APIRouter()


@router.get("/compare")
def compare(request: Request, visit: Here, posed: AskedBy, left: str = "default", right: str = "ditto") -> Response:
    given = dict(request.query_params)
    sides = tuple(side_of(name, recipe, given, posed, visit) for name, recipe in (("left", left), ("right", right)))
    here = address("/compare", visit.namespace, state(posed, sides))
    answers = [side.answer for side in sides if side.answer is not None]
    plain = tuple(replace(side, overrides={}) for side in sides)
    shown = page(
        request,
        "compare.html",
        max(side.status for side in sides),
        posed=posed,
        sides=sides,
        joined=joined(sides),
        recipes=known_recipes(),
        efforts=EFFORTS,
        legend=legend(answers),
        carried=posed.state(),
        unchanged=address("/compare", visit.namespace, state(posed, plain)),
    )
    if is_fragment(request):
        shown.headers["HX-Replace-Url"] = here
    return shown


def state(posed: Posed, sides: tuple[Side, ...]) -> dict[str, object]:
    """What the address says: the question, both recipes, and only the weights that were changed."""
    told = {name: value for name, value in posed.state().items() if name != "recipe"}
    told |= {side.name: side.recipe for side in sides}
    return told | {f"{side.name[0]}.{path}": value for side in sides for path, value in side.overrides.items()}


def joined(sides: tuple[Side, ...]) -> dict[str, dict[str, int]]:
    """For each side the rank that its memories have on the other."""
    ranks = [{card.hit.memory.id: card.hit.rank for card in side.cards} for side in sides]
    return {sides[0].name: ranks[1], sides[1].name: ranks[0]}
