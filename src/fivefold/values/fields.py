"""Plain data, from TOML or the command line, into frozen dataclasses; an error names the field and what it takes."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from fivefold.errors import InvalidInput
from fivefold.values.serialize import plain

Built = TypeVar("Built")


def number(default: Any, low: float, high: float) -> Any:
    """A field that lies in low..high."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


def fields_of(kind: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(kind)}


def build(kind: type[Built], data: Mapping[str, Any], where: str) -> Built:
    """An object of `kind` from `data`, every field checked against its annotation and range."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{where}: a table is wanted, not {data!r}")
    known = fields_of(kind)
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise InvalidInput(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}")
    hints = _hints(typing.cast(Any, kind))
    values = {name: _fit(hints[name], value, f"{where}.{name}") for name, value in data.items()}
    for name, value in values.items():
        _in_range(value, known[name].metadata, f"{where}.{name}")
    missing = [field.name for field in known.values() if _needed(field) and field.name not in values]
    if missing:
        raise InvalidInput(f"{where}.{missing[0]} is missing")
    return kind(**values)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _in_range(value: object, limits: Mapping[str, Any], where: str) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _in_range(item, limits, f"{where}.{key}")
    if "low" in limits and isinstance(value, int | float) and not limits["low"] <= value <= limits["high"]:
        raise InvalidInput(f"{where} lies in {limits['low']:g}..{limits['high']:g}, not at {value!r}")


def _fit(hint: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Literal:
        if value not in inner:
            raise InvalidInput(f"{where}: {value!r} is unknown; known are {', '.join(map(str, inner))}")
        return value
    if origin in {Union, types.UnionType}:
        return None if value is None else _fit(next(part for part in inner if part is not type(None)), value, where)
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, list | tuple):
            raise InvalidInput(f"{where}: a list is wanted, not {value!r}")
        return tuple(_fit(inner[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{where}: a table is wanted, not {value!r}")
        return {_fit(inner[0], key, where): _fit(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else build(hint, value, where)
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and _is_number(value):
        return float(value)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)) and hint is not float:
        return value
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[hint]
    raise InvalidInput(f"{where}: {wanted} is wanted, not {value!r}")


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold, and not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value if isinstance(value, float) else abs(value) < 1e300  # noqa: PLR0124 - not NaN


def data_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, as plain data that `build` takes.

    What stands inside them is shown whole, so that a change of one constant leaves those beside it.
    """
    shown = {}
    for name, field in fields_of(type(value)).items():
        held = getattr(value, name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if held != default or dataclasses.is_dataclass(held):
            shown[name] = _plain(held)
    return shown


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in fields_of(type(value))}
    return plain(value)
