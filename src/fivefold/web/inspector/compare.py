"""Compare: one question with several recipes, side by side, with sliders for their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.problems import problem_of
from fivefold.service.session import Session, recipe_named
from fivefold.settings import Settings
from fivefold.values.access import Refused
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import EFFORTS
from fivefold.web.inspector.question import Card, PageQuestion, Question, make_cards, make_legend
from fivefold.web.inspector.rendering import PageSession, address, is_fragment, page

WEIGHTS = "fusion.weights"
"""With the value `fixed`, a recipe that predicts its weights uses those of the sliders."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A route's weight and its range; `locked` says why it cannot be moved."""

    path: str
    route: str
    kind: str
    value: float
    most: float
    locked: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    number: int
    recipe: str
    overrides: Mapping[str, object] = field(default_factory=dict)
    sliders: Sequence[Slider] = ()
    predicts: bool = False
    """True if the recipe predicts its weights from the question by default."""
    recall: Recall | None = None
    cards: Sequence[Card] = ()
    error: str = ""
    status: int = 200

    @property
    def fixed(self) -> bool:
        return self.overrides.get(WEIGHTS) == "fixed"


def answer_side(
    number: int, given: int, recipe: str, params: Mapping[str, str], question: Question, session: Session
) -> Side:
    """The side as the address describes it; parameters of its overrides begin with the number `given` there."""
    try:
        with session.act("recall", audit_success=bool(question.q)) as act:
            base = recipe_named(recipe, still=True)
            overrides = overrides_of(base, given, params)
            changed = load_recipe(base, overrides)
            recall = question.recall(act.engine, session.service.limits, changed) if question.q else None
            settings = act.engine.settings
    except Refused:
        raise
    except FivefoldError as error:
        problem = problem_of(error)
        return Side(number, recipe, error=problem.detail, status=problem.status)
    return Side(
        number,
        recipe,
        overrides,
        make_sliders(base, overrides, recall, settings),
        base.fusion.weights == "learned",
        recall,
        () if recall is None else make_cards(recall),
    )


def overrides_of(recipe: Recipe, number: int, params: Mapping[str, str]) -> dict[str, object]:
    """Weights only, and only those that differ from the recipe's own; weights of another recipe are ignored."""
    overrides: dict[str, object] = {}
    if params.get(f"{number}.recipe", recipe.name) != recipe.name:
        return {}
    if recipe.fusion.weights == "learned":
        if params.get(f"{number}.{WEIGHTS}") != "fixed":
            return {}
        overrides[WEIGHTS] = "fixed"
    for route in recipe.routes:
        path = f"routes.{route.name}.weight"
        text = params.get(f"{number}.{path}", "")
        try:
            if text and (value := float(text)) != route.weight:
                overrides[path] = value
        except ValueError:
            raise InvalidInput(f"{path} is a number, not {text!r}") from None
    return overrides


def make_sliders(
    recipe: Recipe, overrides: Mapping[str, object], recall: Recall | None, settings: Settings
) -> list[Slider]:
    predicted = recipe.fusion.weights == "learned" and WEIGHTS not in overrides
    planned = {} if recall is None else {part.route: part.weight for part in recall.plan.routes}
    sliders = []
    for route in recipe.routes:
        path = f"routes.{route.name}.weight"
        locked = "The weights are predicted from the question." if predicted else ""
        if not predicted and settings.weight(route.name, -1.0) >= 0:
            locked = f"The weight of {route.name} is a setting of the namespace."
        value = planned.get(route.name, route.weight) if locked else overrides.get(path, route.weight)
        most = max(1.0, 2 * route.weight)
        sliders.append(Slider(path, route.name, route.search, round(float(str(value)), 3), most, locked))
    return sliders


router: APIRouter = APIRouter()

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
