"""The public surface is exactly what is declared."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import fivefold
from fivefold.stores import interface as store_parts
from fivefold.values.memory import RECORD_FIELDS, RecordChanges

FACES = {"__main__", "adapters", "bench", "cli", "mcp", "testing", "web"}

PARTS = ("Embedder", "Extractor", "Observer", "Reranker", "Route")
"""What a user may write in place of a built-in part; `Stage` is a value."""


def test_every_declared_name_is_there() -> None:
    for name in fivefold.__all__:
        assert getattr(fivefold, name) is not None


def test_declared_names_live_where_the_table_says() -> None:
    for name, module in fivefold._HOME.items():
        assert getattr(importlib.import_module(f"fivefold.{module}"), name) is getattr(fivefold, name)


def test_dir_lists_exactly_the_public_names() -> None:
    assert dir(fivefold) == sorted(fivefold.__all__)


def test_every_value_that_the_engine_returns_is_public() -> None:
    """Also the values inside those, and what the properties and methods of those return."""
    returned = {kind.__name__ for kind in reachable(fivefold.Engine) if dataclasses.is_dataclass(kind)}
    assert "Evidence" in returned, "found two steps from the engine"
    assert sorted(returned - set(fivefold.__all__)) == []


def test_every_error_of_the_library_is_public() -> None:
    errors = {kind.__name__ for kind in library_classes() if issubclass(kind, Exception)}
    assert "InvalidInput" in errors
    assert all(issubclass(getattr(fivefold, name), fivefold.FivefoldError) for name in errors)
    assert sorted(errors - set(fivefold.__all__)) == []


def test_every_protocol_that_a_user_may_implement_is_public() -> None:
    """Those in the modules that define a part. The parts of a store are public where they lie."""
    homes = {getattr(fivefold, name).__module__ for name in PARTS}
    protocols = [kind for kind in library_classes() if getattr(kind, "_is_protocol", False)]
    assert [kind for kind in protocols if kind.__module__ in homes and kind.__name__ not in fivefold.__all__] == []
    assert {"Store", "Reader", "Writer"} <= set(store_parts.__all__) & set(fivefold.__all__)


def reachable(kind: type[Any]) -> set[type[Any]]:
    """The classes of fivefold that the public methods and properties of `kind` return, and those inside them."""
    found: set[type[Any]] = set()
    new = {kind}
    while new:
        found |= new
        hints = [hint for known in new for hint in (*returned_by(known), *fields_of(known))]
        new = {item for hint in hints for item in classes_in(hint)} - found
    return found


def returned_by(kind: type[Any]) -> Iterator[Any]:
    for name, member in inspect.getmembers(kind):
        function = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(function):
            yield get_type_hints(function).get("return")


def fields_of(kind: type[Any]) -> Iterator[Any]:
    return iter(get_type_hints(kind).values() if dataclasses.is_dataclass(kind) else ())


def classes_in(hint: Any) -> Iterator[type[Any]]:
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and origin.__module__.startswith("fivefold"):
        yield origin
    for part in get_args(hint):
        yield from classes_in(part)


def library_classes() -> Iterator[type[Any]]:
    """The classes of every module but those of the faces, which raise and implement for themselves."""
    for module in pkgutil.walk_packages(fivefold.__path__, "fivefold."):
        if module.name.split(".")[1] not in FACES:
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and value.__module__ == module.name and not value.__name__.startswith("_"):
                    yield value


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
