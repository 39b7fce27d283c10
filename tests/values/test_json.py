"""What values write: schema, plain JSON, pages and their cursors, fields worked out when they are read."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.values.entities import Extraction, Mention, Statement
from fivefold.values.fields import definitions, name_of, schema_of
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import later, read_later
from fivefold.values.reports import Page, Report, Stats, cursor_of, page_of, read_cursor
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


# What a value writes is what its schema says, for every value the library gives.


def values(engine: Engine) -> Iterator[Value]:
    """One of each kind that the public calls give."""
    now = "2025-06-20T12:00:00Z"
    answer = engine.recall("what did Sam say last week about the flat?", now=now, recipe="memsense", recent_turns=2)
    yield from (answer, answer.hits[0], answer.plan, answer.query, answer.hits[0].memory)
    yield engine.recall("when did I last see Sam?", now=now, recipe="ditto")
    yield engine.context("where do I live?", now=now)
    yield from (engine.stats(), engine.learned(), engine.settings, engine.history(answer.hits[0].memory.id))
    yield from (engine.sessions(3)[0], engine.graph.entities(limit=3)[0])


@pytest.mark.slow
def test_every_value_fits_its_schema(sample_engine: Engine) -> None:
    for value in values(sample_engine):
        schema = schema_of(type(value))
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(json.loads(json.dumps(value.to_dict())))


def test_a_page_names_what_it_holds(sample_engine: Engine) -> None:
    schema = schema_of(Page[Memory])
    assert (schema["title"], name_of(Page[Memory])) == ("PageOfMemory", "PageOfMemory")
    Draft202012Validator(schema).validate(sample_engine.memories(limit=2).to_dict())


def test_a_schema_refuses_what_a_value_does_not_write(sample_engine: Engine) -> None:
    check = Draft202012Validator(schema_of(fivefold.Memory))
    written = sample_engine.memories(limit=1)[0].to_dict()
    assert check.is_valid(written)
    wrong: list[dict[str, Any]] = [
        {**written, "row": 7},
        {**written, "kind": "thought"},
        {**written, "importance": "high"},
        {name: item for name, item in written.items() if name != "id"},
    ]
    assert [check.is_valid(item) for item in wrong] == [False] * 4


def test_classes_stand_once_and_refer_to_each_other() -> None:
    found = definitions(fivefold.Recall, fivefold.Memory, ref="#/components/schemas/")
    assert found["Hit"]["properties"]["memory"] == {"$ref": "#/components/schemas/Memory"}
    assert list(found) == sorted(found)


def test_a_type_without_json_is_an_error() -> None:
    class Odd(Value):
        @classmethod
        def shape(cls) -> dict[str, Any]:
            return {"thing": bytes}

    with pytest.raises(TypeError, match="bytes"):
        definitions(Odd)


# Pages and their cursors.


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


@given(st.integers(-(2**63) + 1, 2**63 - 1), texts)
def test_a_cursor_brings_its_place_back(number: int, text: str) -> None:
    cursor = cursor_of("sessions", (number, text))
    assert cursor.isascii()
    assert not set(cursor) & set("+/= ")
    assert read_cursor(cursor, "sessions", int, str) == (number, text)


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not one of this list"):
        read_cursor(text, "memories", int, int)


@pytest.mark.parametrize("place", [("a", "b"), (1,), (1, 2, 3), (2**63, 1), (True, 1), (1.5, 1), (None, 1)])
def test_a_place_of_another_shape_is_refused(place: tuple[int | str, ...]) -> None:
    with pytest.raises(InvalidInput):
        read_cursor(cursor_of("memories", place), "memories", int, int)


@pytest.mark.parametrize("text", [r"x\u0000", r"\ud800"])
def test_text_that_no_store_takes_is_refused(text: str) -> None:
    cursor = base64.urlsafe_b64encode(f'["sessions",1,"{text}"]'.encode()).decode().rstrip("=")
    with pytest.raises(InvalidInput):
        read_cursor(cursor, "sessions", int, str)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_share_comes_back_as_it_was(share: float) -> None:
    assert read_cursor(cursor_of("edges", (share,)), "edges", float) == (share,)


@pytest.mark.parametrize("place", [("a",), (1,), (True,), (None,), (float("nan"),), (float("inf"),)])
def test_what_is_no_share_is_refused(place: tuple[float | str, ...]) -> None:
    with pytest.raises(InvalidInput):
        read_cursor(cursor_of("edges", place), "edges", float)


def test_a_page_is_a_sequence_and_json() -> None:
    page = page_of([3, 2, 1], 2, "numbers", lambda number: (number,))
    assert (list(page), len(page), page[0], page[:1], 2 in page) == ([3, 2], 2, 3, (3,), True)
    assert page.to_dict() == {"items": [3, 2], "cursor": cursor_of("numbers", (2,))}
    assert page_of([1], 1, "numbers", lambda number: (number,)) == Page((1,), None)
    assert not page_of([], 5, "numbers", lambda number: (number,))


# Fields that are worked out when they are read look like any other field.


@read_later("why")
@dataclass(frozen=True, slots=True)
class Reason(Value):
    score: float
    why: str = "unknown"


def test_a_field_is_made_once_and_only_when_it_is_read() -> None:
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return "because"

    reason = Reason(0.5, later(make))
    assert (reason.score, made) == (0.5, [])
    assert (reason.why, reason.why, made) == ("because", "because", [1])


@pytest.mark.parametrize("view", [repr, hash, Value.to_dict, lambda one: replace(one, score=1.0), list])
def test_nobody_sees_the_difference(view: object) -> None:
    def see(one: Reason) -> object:
        return [one] if view is list else view(one)  # type: ignore[operator]

    assert see(Reason(0.5, later(lambda: "because"))) == see(Reason(0.5, "because"))


def test_it_has_its_default_and_survives_pickling() -> None:
    assert Reason(0.5).why == "unknown"
    assert pickle.loads(pickle.dumps(Reason(0.5, later(str, 7)))) == Reason(0.5, "7")


# What stats say of a namespace by its size.


@pytest.mark.parametrize(
    ("memories", "wanted"),
    [
        (499, "adds little below 500 memories"),
        (500, "begins to help; it adds much from 2,000 memories on"),
        (2_000, "adds much"),
        (10_000, "adds most"),
    ],
)
def test_R6_what_the_graph_adds_by_size(engine: Engine, memories: int, wanted: str) -> None:
    figures = engine.stats().to_dict() | {"memories": memories, "drift": None}
    assert Stats(**figures).graph_expectation == wanted
