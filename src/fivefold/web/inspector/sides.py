"""One side of a comparison: a recipe, the weights one may move, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fivefold.engine import Engine
from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.recipe import Recipe, RouteSpec
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.service.recipes import recipe_named
from fivefold.service.session import Session
from fivefold.settings import Settings
from fivefold.values.access import Refused
from fivefold.values.recall import Recall
from fivefold.web.inspector.acting import acting
from fivefold.web.inspector.question import Posed
from fivefold.web.inspector.shares import Card, cards
from fivefold.web.problems import problem_of

BY_HAND = "fusion.weights"
"""Set to `fixed`, a recipe that predicts its weights takes them as they are given."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A route's weight, and how far it may be moved; `locked` says why it may not."""

    path: str
    route: str
    kind: str
    value: float
    most: float
    locked: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    recipe: str
    overrides: Mapping[str, object] = field(default_factory=dict)
    sliders: Sequence[Slider] = ()
    predicts: bool = False
    """Whether the recipe reads its weights out of the question unless told otherwise."""
    answer: Recall | None = None
    cards: Sequence[Card] = ()
    wrong: str = ""
    status: int = 200

    @property
    def by_hand(self) -> bool:
        return self.overrides.get(BY_HAND) == "fixed"


def side_of(name: str, recipe: str, given: Mapping[str, str], posed: Posed, visit: Session) -> Side:
    """What the address says of this side; its overrides begin with the first letter of its name."""
    try:
        with acting(visit, "recall", noted=bool(posed.q)) as engine:
            chosen = recipe_named(recipe, still=True)
            overrides = overrides_of(chosen, name[0], given)
            answer = posed.recalled(engine, visit.service.limits, load_recipe(chosen, overrides)) if posed.q else None
    except Refused:
        raise
    except FivefoldError as error:
        found = problem_of(error)[0]
        return Side(name, recipe, wrong=found.detail, status=found.status)
    return Side(
        name,
        recipe,
        overrides,
        sliders(chosen, overrides, answer, engine),
        chosen.fusion.weights == "learned",
        answer,
        () if answer is None else cards(answer),
    )


def overrides_of(recipe: Recipe, letter: str, given: Mapping[str, str]) -> dict[str, object]:
    """Weights only, and only those that differ from the recipe's own; sliders of another recipe are passed over."""
    overrides: dict[str, object] = {}
    if recipe.fusion.weights == "learned":
        if given.get(f"{letter}.{BY_HAND}") != "fixed":
            return {}
        overrides[BY_HAND] = "fixed"
    for route in recipe.routes:
        path = f"routes.{route.name}.weight"
        text = given.get(f"{letter}.{path}", "")
        if text and (value := _number(text, path)) != route.weight:
            overrides[path] = value
    return overrides


def sliders(recipe: Recipe, overrides: Mapping[str, object], answer: Recall | None, engine: Engine) -> list[Slider]:
    predicted = recipe.fusion.weights == "learned" and BY_HAND not in overrides
    planned = {} if answer is None else {part.route: part.weight for part in answer.plan.routes}
    made = []
    for route in recipe.routes:
        path = f"routes.{route.name}.weight"
        locked = "The weights are predicted from the question." if predicted else _by_settings(route, engine.settings)
        value = planned.get(route.name, route.weight) if locked else overrides.get(path, route.weight)
        most = max(1.0, 2 * route.weight)
        made.append(Slider(path, route.name, route.search, round(float(str(value)), 3), most, locked))
    return made


def _by_settings(route: RouteSpec, settings: Settings) -> str:
    held = settings.weight(route.name, -1.0)
    return f"The weight of {route.name} is set by the namespace." if held >= 0 else ""


def _number(text: str, path: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{path} is a number, not {text!r}") from None
