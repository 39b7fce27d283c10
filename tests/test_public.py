"""The public surface is exactly what is declared."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import fivefold
import fivefold.plugins
from fivefold.values.memory import RECORD_FIELDS, RecordChanges

FACES = (fivefold.Engine, fivefold.SharedStore, fivefold.Graph, fivefold.AsyncEngine, fivefold.AsyncStore)


def test_every_declared_name_is_there_where_the_table_says() -> None:
    assert len(fivefold.__all__) <= 64
    for name, module in fivefold._HOME.items():
        assert getattr(importlib.import_module(module), name) is getattr(fivefold, name)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(fivefold.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {part.asname: line.module for line in block.body if isinstance(line, ast.ImportFrom) for part in line.names}
    assert seen == fivefold._HOME


def test_dir_lists_exactly_the_public_names() -> None:
    assert dir(fivefold) == sorted(fivefold.__all__)


def test_every_value_that_a_method_returns_is_public() -> None:
    returned = {kind.__name__ for face in FACES for hint in returned_by(face) for kind in classes_in(hint)}
    assert {"Recall", "Page", "Edge"} <= returned
    assert sorted(returned - set(fivefold.__all__)) == []


def test_every_error_of_the_face_is_one_of_the_library() -> None:
    errors = [
        kind
        for name in fivefold.__all__
        if inspect.isclass(kind := getattr(fivefold, name))
        if issubclass(kind, Exception)
    ]
    assert fivefold.InvalidInput in errors
    assert all(issubclass(kind, fivefold.FivefoldError) for kind in errors)


def test_everything_that_a_part_takes_or_returns_is_public() -> None:
    """The parts of a store are public where they lie."""
    public = {*fivefold.__all__, *fivefold.plugins.__all__}
    protocols = [kind for kind in vars(fivefold.plugins).values() if getattr(kind, "_is_protocol", False)]
    assert {fivefold.plugins.Route, fivefold.plugins.Store} <= set(protocols)
    for kind in protocols:
        if not kind.__module__.startswith("fivefold.stores."):
            assert sorted({part.__name__ for part in handled_by(kind)} - public) == [], kind


def handled_by(kind: type[Any]) -> Iterator[type[Any]]:
    """The classes of fivefold in the signatures of a protocol's methods."""
    for name, member in inspect.getmembers(kind):
        if not name.startswith("_") and inspect.isfunction(member):
            for hint in get_type_hints(member, localns={**vars(fivefold.plugins), "Recall": fivefold.Recall}).values():
                yield from classes_in(hint)


def returned_by(kind: type[Any]) -> Iterator[Any]:
    for name, member in inspect.getmembers(kind):
        function = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(function):
            yield get_type_hints(function).get("return")


def classes_in(hint: Any) -> Iterator[type[Any]]:
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and origin.__module__.startswith("fivefold"):
        yield origin
    for part in get_args(hint):
        yield from classes_in(part)


def test_remember_and_update_name_the_fields_of_a_record() -> None:
    parameters = list(inspect.signature(fivefold.Engine.remember).parameters)[1:]
    assert sorted(parameters) == sorted(RECORD_FIELDS)
    assert RECORD_FIELDS.keys() - RecordChanges.__annotations__.keys() == {
        "id",
        "kind",
        "origin",
        "session_id",
        "turn_index",
    }


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        fivefold.nonsense  # noqa: B018
