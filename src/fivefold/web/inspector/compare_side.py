"""One side of a comparison: a recipe, sliders for its weights, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.recipe import Recipe, RouteSpec
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.service.problems import problem_of
from fivefold.service.recipes import recipe_named
from fivefold.service.session import Session
from fivefold.settings import Settings
from fivefold.values.access import Refused
from fivefold.values.recall import Recall
from fivefold.web.inspector.cards import Card, make_cards
from fivefold.web.inspector.question import Question

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
    """Whether the recipe predicts its weights from the question by default."""
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
        if text and (value := _number(text, path)) != route.weight:
            overrides[path] = value
    return overrides


def make_sliders(
    recipe: Recipe, overrides: Mapping[str, object], recall: Recall | None, settings: Settings
) -> list[Slider]:
    predicted = recipe.fusion.weights == "learned" and WEIGHTS not in overrides
    planned = {} if recall is None else {part.route: part.weight for part in recall.plan.routes}
    sliders = []
    for route in recipe.routes:
        path = f"routes.{route.name}.weight"
        locked = "The weights are predicted from the question." if predicted else _locked_by_settings(route, settings)
        value = planned.get(route.name, route.weight) if locked else overrides.get(path, route.weight)
        most = max(1.0, 2 * route.weight)
        sliders.append(Slider(path, route.name, route.search, round(float(str(value)), 3), most, locked))
    return sliders


def _locked_by_settings(route: RouteSpec, settings: Settings) -> str:
    weight = settings.weight(route.name, -1.0)
    return f"The weight of {route.name} is a setting of the namespace." if weight >= 0 else ""


def _number(text: str, path: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{path} is a number, not {text!r}") from None
