"""What a value writes is what its schema says, for every value the library gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import fivefold
from fivefold.engine import Engine
from fivefold.values.fields import definitions, name_of, schema_of
from fivefold.values.memory import Memory
from fivefold.values.reports import Page
from fivefold.values.serialize import Value


def values(engine: Engine) -> Iterator[Value]:
    """One of each kind that the public calls give."""
    now = "2025-06-20T12:00:00Z"
    answer = engine.recall("what did Sam say last week about the flat?", now=now, recipe="memsense", recent_turns=2)
    yield from (answer, answer.hits[0], answer.plan, answer.query, answer.hits[0].memory)
    yield engine.recall("when did I last see Sam?", now=now, recipe="ditto")
    yield engine.context("where do I live?", now=now)
    yield from (engine.stats(), engine.learned(), engine.settings, engine.history(answer.hits[0].memory.id))
    yield from (engine.sessions(3)[0], engine.graph.entities(limit=3)[0])


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
