from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.values.entities import Extraction, Mention, Statement
from fivefold.values.reports import Report
from fivefold.values.serialize import Value, hidden, plain

jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@dataclass(frozen=True, slots=True)
class Leaf(Value):
    name: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Value):
    title: str
    leaves: tuple[Leaf, ...] = ()
    extra: Any = None
    row: int = hidden(default=7)


def test_fields_keep_their_order_and_hidden_ones_stay_out() -> None:
    assert list(Tree(title="oak").to_dict()) == ["title", "leaves", "extra"]
    assert Tree(title="oak").row == 7


def test_values_nest_and_times_are_written_in_utc() -> None:
    noon = datetime(2025, 3, 15, 12, tzinfo=timezone(timedelta(hours=2)))
    tree = Tree(title="oak", leaves=(Leaf("a", noon),), extra=MappingProxyType({1: Leaf("b", noon)}))
    assert tree.to_dict() == {
        "title": "oak",
        "leaves": [{"name": "a", "at": "2025-03-15T10:00:00Z"}],
        "extra": {"1": {"name": "b", "at": "2025-03-15T10:00:00Z"}},
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.5, 0.5),
        ("é", "é"),
        ((1, (2,)), [1, [2]]),
        (frozenset({1}), [1]),
        (np.float32(0.5), 0.5),
        (np.int64(4), 4),
        (np.bool_(True), True),
        (datetime(2025, 1, 1, tzinfo=UTC), "2025-01-01T00:00:00Z"),
        (Statement("user", "age", "34"), {"subject": "user", "attribute": "age", "value": "34", "update": False}),
    ],
)
def test_each_type_has_its_json_form(value: object, expected: object) -> None:
    shown = plain(value)
    assert shown == expected
    assert type(shown) is type(expected)


@pytest.mark.parametrize("value", [object(), b"bytes", date(2025, 1, 1), 1j, Leaf])
def test_a_value_without_a_json_form_is_named(value: object) -> None:
    with pytest.raises(TypeError, match=f"{type(value).__name__} has no JSON form"):
        plain(value)


@given(jsons)
def test_json_is_its_own_plain_form(value: object) -> None:
    assert plain(value) == value


@pytest.mark.parametrize(
    "value",
    [
        Extraction(mentions=(Mention("Leeds", "name"),), facets={"events": "I went home"}),
        Report(stored=("a",), notes=("told",)),
    ],
)
def test_what_fivefold_says_can_be_written_as_json(value: Value) -> None:
    assert json.loads(json.dumps(value.to_dict())) == value.to_dict()


def test_a_report_of_one_memory_has_its_id() -> None:
    assert Report(stored=("a",)).id == "a"
    with pytest.raises(ValueError, match="covers 2 memories"):
        _ = Report(stored=("a", "b")).id
