"""Plain data into frozen dataclasses: what fits is taken, what does not is named with its field."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fivefold.errors import InvalidInput
from fivefold.retrieval.plan import RecallRequest
from fivefold.retrieval.recipe import FusionSpec, Recipe, RouteSpec
from fivefold.retrieval.recipe_file import parse_recipe
from fivefold.settings import Settings
from fivefold.stores.postgres.dsn import Options
from fivefold.values.fields import Between, build, data_of, fields_of, schema_of_type
from fivefold.values.memory import KINDS, Record, record_of
from fivefold.values.validate import MAX_NAME, MAX_TAGS


@dataclass(frozen=True, slots=True)
class Inner:
    curve: Literal["flat", "steep"] = "flat"
    length: Annotated[float | None, Between(0, 10)] = None


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    depth: Annotated[int, Between(1, 9)] = 5
    weight: Annotated[float, Between(0, 2)] = 1.0
    on: bool = True
    tags: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)
    by: Mapping[Literal["a", "b"], Inner] = field(default_factory=dict)
    free: Any = None


def test_every_kind_of_field_is_built() -> None:
    made = build(
        Outer,
        {
            "name": "x",
            "depth": 9,
            "weight": 2,
            "on": False,
            "tags": ["p", "q"],
            "shares": {"why": 1},
            "inner": {"curve": "steep", "length": 3},
            "by": {"a": {"length": None}},
            "free": [1],
        },
        "here",
    )
    assert made == Outer("x", 9, 2.0, False, ("p", "q"), {"why": 1.0}, Inner("steep", 3.0), {"a": Inner()}, [1])
    assert isinstance(made.weight, float)
    assert isinstance(made.inner.length, float)


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({}, "here.name is missing"),
        ({"name": "x", "deep": 1}, "here: unknown field 'deep'; known are by, depth, free"),
        ({"name": 3}, "here.name must be text, not 3"),
        ({"name": "x", "depth": 2.5}, "here.depth must be a whole number from 1 to 9, not 2.5"),
        ({"name": "x", "depth": True}, "here.depth must be a whole number from 1 to 9, not True"),
        ({"name": "x", "depth": 10}, "here.depth must be a whole number from 1 to 9, not 10"),
        ({"name": "x", "weight": "much"}, "here.weight must be a number from 0 to 2, not 'much'"),
        ({"name": "x", "weight": True}, "here.weight must be a number from 0 to 2, not True"),
        ({"name": "x", "weight": float("nan")}, "here.weight must be a number from 0 to 2, not nan"),
        ({"name": "x", "weight": float("inf")}, "here.weight must be a number from 0 to 2, not inf"),
        ({"name": "x", "weight": -0.1}, "here.weight must be a number from 0 to 2, not -0.1"),
        ({"name": "x", "on": 1}, "here.on must be true or false, not 1"),
        ({"name": "x", "tags": "p"}, "here.tags must be a list of texts"),
        ({"name": "x", "tags": ["p", 2]}, "here.tags[1] must be text, not 2"),
        ({"name": "x", "shares": [1]}, "here.shares must be a table, not [1]"),
        ({"name": "x", "shares": {"why": "much"}}, "here.shares.why must be a number, not 'much'"),
        ({"name": "x", "inner": 3}, "here.inner must be a table, not 3"),
        ({"name": "x", "inner": {"curve": "round"}}, "here.inner.curve 'round' is unknown; it is one of flat, steep"),
        ({"name": "x", "inner": {"length": 11}}, "here.inner.length must be a number from 0 to 10, not 11"),
        ({"name": "x", "inner": {"long": 1}}, "here.inner: unknown field 'long'"),
        ({"name": "x", "by": {"c": {}}}, "here.by 'c' is unknown; it is one of a, b"),
        ({"name": "x", "by": {"a": {"curve": 1}}}, "here.by.a.curve 1 is unknown"),
        ([1], "here must be a table, not [1]"),
    ],
)
def test_a_mistake_is_named_with_its_field(given_: Any, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build(Outer, given_, "here")
    assert str(caught.value).startswith(told)


def test_a_number_too_large_for_a_float_is_a_clear_error() -> None:
    with pytest.raises(InvalidInput, match=r"here\.weight"):
        build(Outer, {"name": "x", "weight": 10**400}, "here")


inners = st.builds(Inner, st.sampled_from(["flat", "steep"]), st.none() | st.floats(0, 10))
outers = st.builds(
    Outer,
    st.text(max_size=5),
    st.integers(1, 9),
    st.floats(0, 2),
    st.booleans(),
    st.lists(st.text(max_size=3), max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=3), st.floats(-9, 9), max_size=3),
    inners,
    st.dictionaries(st.sampled_from(["a", "b"]), inners),
    st.none(),
)


@given(value=outers)
def test_data_of_a_value_builds_it_again(value: Outer) -> None:
    assert build(Outer, data_of(value), "here") == value


def test_data_shows_what_differs_from_the_defaults() -> None:
    assert data_of(Inner()) == {}
    assert data_of(Inner("steep")) == {"curve": "steep"}
    assert data_of(Inner(length=2.0)) == {"length": 2.0}


# the declaration itself


def test_a_declared_field_says_type_range_default_and_meaning() -> None:
    importance = fields_of(Record)["importance"]
    assert (importance.type, importance.optional, importance.required, importance.default) == (float, True, False, None)
    assert (importance.low, importance.high) == (0, 1)
    assert importance.description.startswith("Its importance")
    assert importance.description.endswith("; default: read from the wording")
    assert fields_of(Record)["kind"].choices == KINDS
    assert (fields_of(Record)["speaker"].max_length, fields_of(Record)["tags"].max_length) == (MAX_NAME, MAX_TAGS)
    assert "notes" not in fields_of(Record)


@pytest.mark.parametrize("kind", [Record, Settings, RecallRequest, Recipe, RouteSpec, FusionSpec, Options])
def test_every_declared_field_has_a_meaning(kind: type[Any]) -> None:
    unsaid = {name for name, spec in fields_of(kind).items() if not spec.about}
    assert unsaid <= {"options", "name"}


@pytest.mark.parametrize("name", list(fields_of(Record)))
def test_the_schema_of_a_field_is_one_and_carries_its_limits(name: str) -> None:
    spec = fields_of(Record)[name]
    Draft202012Validator.check_schema(schema_of_type(spec.hint))
    assert schema_of_type(spec.hint)["description"] == spec.about
    bare = schema_of_type(spec.hint).get("anyOf", [schema_of_type(spec.hint)])[0]
    assert (bare.get("minimum"), bare.get("maximum")) == (spec.low, spec.high)
    assert bare.get("maxLength", bare.get("maxItems")) == spec.max_length


@pytest.mark.parametrize("value", [0, 0.5, 1, 2, -1, "0.5", True, None, float("nan")])
def test_check_and_schema_agree_on_a_share(value: Any) -> None:
    spec = fields_of(Record)["importance"]
    fits = Draft202012Validator(schema_of_type(spec.hint)).is_valid(value)
    try:
        spec.check(value)
    except InvalidInput:
        assert not fits or value != value  # noqa: PLR0124 - JSON has no NaN
    else:
        assert fits


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        ({"content": "x", "importance": 2}, "importance", "must be a number from 0 to 1, not 2"),
        ({"content": "x", "tags": ["a", ""]}, "tags[1]", "is empty; give it at least one visible character"),
        ({"content": "x", "event_at": "soon"}, "event_at", "'soon' is not an ISO 8601 time"),
        ({"content": "x", "mood": 1}, "mood", "unknown field 'mood'"),
        ({"content": "x", "valid_from": "2025-02-01", "valid_to": "2025-01-01"}, "valid_to", "lies before"),
    ],
)
def test_an_error_carries_its_field_and_reason(data: dict[str, object], field: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        record_of(data)
    error = caught.value.within("line 3")
    for said in (caught.value, error, pickle.loads(pickle.dumps(error))):
        assert said.field == field
        assert said.reason.startswith(reason)
    assert str(error) == f"line 3: {caught.value}"


def test_the_field_of_a_recipe_is_its_path() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_recipe("own", {"routes": [{"name": "dense", "depth": 0}]})
    assert caught.value.field == "routes[0].depth"


def test_a_number_with_very_many_digits_is_a_clear_error() -> None:
    with pytest.raises(InvalidInput, match="importance must be a number from 0 to 1"):
        record_of({"content": "x", "importance": 10**5_000})
