"""Changes of a recipe from Python: what they change, what they leave, and that no value breaks anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import METHODS, recipe_data
from fivefold.retrieval.recipe_file import known_recipes, load_recipe, override, parse_recipe, without_part
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from tests.retrieval.test_pipeline import lawful


def test_changes_from_python(sample_engine: Engine) -> None:
    recipe = load_recipe("memsense", {"fusion.k": 30, "routes.lexical.weight": 0.5, "boosts.session_first.on": False})
    assert recipe.fusion.k == 30.0
    assert next(route.weight for route in recipe.routes if route.name == "lexical") == 0.5
    assert "boosts.session_first" not in recipe.parts()
    assert load_recipe("memsense").fusion.k == 15.0
    plain = {"fusion.k": 30, "boosts.decay.on": False, "rerank.cross_encoder.on": False}
    answer = sample_engine.recall("badge", recipe="five-stage", overrides=plain)
    assert answer[0].score == pytest.approx(sum(1 / (30 + rank) for rank in answer[0].routes.values()))


def test_changes_of_nested_constants() -> None:
    recipe = load_recipe("five-stage", {"boosts.decay.types.procedure.curve": "none", "unit": "turn"})
    assert recipe.unit == "turn"
    by = recipe.boosts[0].constants
    assert by.types["procedure"].curve == "none"
    assert (by.all.curve, by.all.half_life_days) == ("exponential", 90.0)
    louder = load_recipe("engram", {"routes.graph.by_intent.who": 3})
    graph = next(route for route in louder.routes if route.name == "graph")
    assert (graph.by_intent["who"], graph.by_intent["why"]) == (3.0, 1.5)


def test_a_change_of_one_constant_leaves_the_others_beside_it() -> None:
    by = load_recipe("five-stage", {"boosts.decay.all.curve": "gaussian"}).boosts[0].constants
    assert (by.all.curve, by.all.half_life_days) == ("gaussian", 90.0)


def test_a_change_of_a_changed_recipe_keeps_the_first() -> None:
    recipe = override(load_recipe("dense", {"fusion.pool": 7}), {"routes.dense.depth": 9})
    assert (recipe.fusion.pool, recipe.routes[0].depth) == (7, 9)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "routes.sparse.weight",
            "'routes.sparse.weight' changes nothing in recipe 'dense'; its parts are routes.dense",
        ),
        ("routes.dense", "'routes.dense' changes nothing in recipe 'dense'"),
        ("routes", "'routes' changes nothing in recipe 'dense'"),
        ("boosts.decay.on", "'boosts.decay.on' changes nothing in recipe 'dense'"),
        ("fusion", "'fusion' changes nothing; a change begins with routes.NAME, fusion, boosts.NAME"),
        ("name", "'name' changes nothing"),
        ("unit.of", "'unit.of' changes nothing"),
        ("", "'' changes nothing"),
        ("fusion.depth", "recipe 'dense': fusion: unknown field 'depth'"),
        ("fusion.method.of", "'fusion.method.of': 'method' is no table"),
        ("routes.dense.ids.first", "recipe 'dense': routes[0].ids must be a list of texts"),
    ],
)
def test_a_path_that_changes_nothing_says_so(path: str, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_recipe("dense", {path: 1})
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("fusion.weights", "learned", 'learned needs fusion.method = "composite"'),
        ("routes.dense.name", "a\nb", "holds a line break"),
        ("routes.dense.name", "x\ud800", "half a surrogate pair"),
        ("routes.dense.name", "x" * 300, "300 characters"),
        ("routes.dense.name", "", "is empty"),
        ("routes.dense.name", "a.b", "must be a name without dots"),
    ],
)
def test_a_change_that_no_recall_could_follow_is_refused(path: str, value: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        load_recipe("dense", {path: value})


def test_without_a_part_that_is_not_there() -> None:
    with pytest.raises(InvalidInput, match=r"'boosts\.decay\.on' changes nothing in recipe 'dense'"):
        without_part(load_recipe("dense"), "boosts.decay")


values = (
    st.none()
    | st.booleans()
    | st.integers(-5, 200)
    | st.sampled_from([10**30, -(10**400)])
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=4)
    | st.sampled_from([*ROUTES, *STAGES, *METHODS, "turn", "session", "linear", "sessions", "full"])
    | st.lists(st.integers() | st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)


FIELDS = (
    "on weight depth typed search name ids field of curve half_life_days by_intent.why by_intent all.curve all "
    "types.fact.floor lam pool sigma reach x.y"
).split()
OTHERS = "fusion.k fusion.method fusion.store fusion.pool fusion.ids unit optimize summary x".split()


def _paths(recipe: fivefold.Recipe) -> list[str]:
    """Every place of a recipe that a change may name, and some that it may not."""
    return [*(f"{part}.{name}" for part in recipe.parts() for name in FIELDS), *OTHERS]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(known_recipes()), chance=st.data())
def test_a_change_gives_a_recipe_or_a_clear_error(name: str, chance: st.DataObject) -> None:
    changes: dict[str, Any] = chance.draw(
        st.dictionaries(st.sampled_from(_paths(load_recipe(name))), values, min_size=1, max_size=3)
    )
    try:
        recipe = load_recipe(name, changes)
    except InvalidInput:
        return
    assert parse_recipe(name, recipe_data(recipe)) == recipe


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(known_recipes()),
    unit=st.sampled_from(["memory", "turn", "session"]),
    k=st.integers(1, 20),
    depth=st.integers(1, 300),
    weight=st.floats(0, 5),
    pool=st.integers(1, 200),
)
def test_any_valid_change_answers_by_the_law(
    sample_engine: Engine, name: str, unit: str, k: int, depth: int, weight: float, pool: int
) -> None:
    first = load_recipe(name).routes[0].name
    changes = {f"routes.{first}.depth": depth, f"routes.{first}.weight": weight, "fusion.pool": pool, "unit": unit}
    answer = sample_engine.recall("Who works with Sarah on the Kestrel?", k=k, recipe=name, overrides=changes)
    assert not answer.degraded
    assert len(answer) <= k
    lawful(answer)
