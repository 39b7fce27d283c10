"""The fields of a dataclass as they are declared, and everything that is derived from that: checks and JSON Schemas.

`fields_of(Record)["importance"]` says type, range, default and meaning; `check` and `build` apply them.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin

from fivefold.errors import InvalidInput
from fivefold.values.field_types import About, Between, Chars, Declared, Items, PlainJson, Rule, declared
from fivefold.values.schema import schema_of_type
from fivefold.values.serialize import Json, plain
from fivefold.values.times import as_utc
from fivefold.values.validate import (
    checked_choice,
    checked_count,
    checked_name,
    checked_number,
    checked_text,
    exact_text,
    plain_json,
    refusal,
    short_repr,
)

Built = TypeVar("Built")
Check = Callable[[Any, str], Any]
"""Takes a value and the path of its field; returns the value as it is stored, or raises `InvalidInput`."""

_PLURALS = {str: "texts", int: "whole numbers", float: "numbers", bool: "yes or no"}
_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field: its type without None, whether None or nothing is allowed, its limits, and what it means."""

    name: str
    type: Any
    optional: bool
    required: bool
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    max_length: int | None
    """Characters of a text, entries of a list."""
    about: str
    left_out: str
    """What holds where the field is left out, if the default does not say it."""
    hint: Any
    """The annotation as it is declared."""
    checker: Check

    def check(self, value: object, path: str = "") -> Any:
        """The value as the field stores it; the error names the field, or its path within something larger."""
        return self.checker(value, path or self.name)

    @property
    def description(self) -> str:
        """The meaning, and what holds where the field is left out."""
        return f"{self.about}; default: {self.left_out}" if self.left_out else self.about

    @property
    def json_schema(self) -> Json:
        """The JSON Schema of the field, with its limits and meaning."""
        return schema_of_type(self.hint)


def fields_of(kind: type[Any]) -> Mapping[str, FieldSpec]:
    """The fields of a dataclass by name, in their order; working data that no JSON shows is left out."""
    return _fields_of(typing.cast(Any, kind))


@cache
def _fields_of(kind: type[Any]) -> Mapping[str, FieldSpec]:
    hints = typing.get_type_hints(kind, include_extras=True)
    shown_fields = (field for field in dataclasses.fields(kind) if field.metadata.get("json", True))
    return MappingProxyType({field.name: _spec(field, hints[field.name]) for field in shown_fields})


def _spec(field: dataclasses.Field[Any], hint: Any) -> FieldSpec:
    declaration = declared(hint)
    between, about = declaration.mark(Between), declaration.mark(About)
    length = declaration.mark(Chars) or declaration.mark(Items)
    required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return FieldSpec(
        name=field.name,
        type=declaration.base,
        optional=declaration.optional,
        required=required,
        default=None if required else _default(field),
        low=between.low if between else None,
        high=between.high if between else None,
        choices=get_args(declaration.base) if get_origin(declaration.base) is Literal else (),
        max_length=length.most if length else None,
        about=about.text if about else "",
        left_out=about.left_out if about else "",
        hint=hint,
        checker=checker(hint),
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def check(value: object, hint: Any, path: str) -> Any:
    """The value as a field of that declared type stores it: `check(k, Count, "k")`."""
    return checker(hint)(value, path)


def build(kind: type[Built], data: object, path: str = "", *, noun: str = "field") -> Built:
    """An object of `kind` from plain data, every field checked as it is declared; errors name the field."""
    if not isinstance(data, Mapping):
        raise refusal(path or "it", f"must be a table, not {short_repr(data)}")
    known = fields_of(kind)
    check_names(data, known, path, noun=noun)
    before = f"{path}." if path else ""
    values = {name: known[name].checker(value, before + name) for name, value in data.items()}
    missing = next((name for name, spec in known.items() if spec.required and name not in values), None)
    if missing:
        raise refusal(before + missing, "is missing")
    return kind(**values)


def check_names(data: Mapping[Any, Any], known: Mapping[str, Any], path: str = "", *, noun: str = "field") -> None:
    """Refuse data with a name that is not known."""
    unknown = sorted((name for name in data if name not in known), key=str)
    if unknown:
        reason = f"unknown {noun} {unknown[0]!r}; known are {', '.join(sorted(known))}"
        statement = f"{path}: {reason}" if path else reason
        raise InvalidInput(reason, field=path or str(unknown[0]), statement=statement)


@cache
def checker(hint: Any) -> Check:
    """The check of a declared type."""
    declaration = declared(hint)
    inner = _checker_of(declaration)
    rule = declaration.mark(Rule)
    check_value = inner if rule is None else _with_rule(inner, rule)
    return _or_none(check_value) if declaration.optional else check_value


def _checker_of(declaration: Declared) -> Check:
    origin, args = get_origin(declaration.base), get_args(declaration.base)
    if declaration.base is Any or origin in {typing.Union, types.UnionType}:
        return lambda value, path: value  # of several types, a rule says which values fit
    if declaration.mark(PlainJson):
        return plain_json
    if origin is Literal:
        return lambda value, path: checked_choice(value, args, path)
    if origin is tuple:
        return _list_of(declaration, args) if args[-1] is Ellipsis else _tuple_of(declaration, args)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _table_of(checker(args[0]), _entry(declaration, args[1]))
    if dataclasses.is_dataclass(declaration.base):
        return lambda value, path: (
            value if isinstance(value, declaration.base) else build(declaration.base, value, path)
        )
    if declaration.base is datetime:
        return lambda value, path: as_utc(value, path)[0]
    return (
        _text(declaration.mark(Chars))
        if declaration.base is str
        else _number(declaration.base, declaration.mark(Between))
    )


def _entry(declaration: Declared, hint: Any) -> Check:
    """The check of an entry, which has the range of the whole."""
    between = declaration.mark(Between)
    return checker(hint if between is None else typing.Annotated[hint, between])


def _or_none(inner: Check) -> Check:
    return lambda value, path: None if value is None else inner(value, path)


def _with_rule(inner: Check, rule: Rule) -> Check:
    def check_rule(value: Any, path: str) -> Any:
        try:
            checked = inner(value, path)
            passed = rule.test(checked)
        except InvalidInput:
            passed = False
        if not passed:
            raise refusal(path, f"must be {rule.takes}, not {short_repr(value)}")
        return checked

    return check_rule


def _text(chars: Chars | None) -> Check:
    if chars is None:
        return _any_text
    if chars.line:
        return checked_name
    if chars.exact:
        return partial(exact_text, most=chars.most)
    return partial(checked_text, empty=not chars.visible, most=chars.most)


def _any_text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise refusal(path, f"must be text, not {short_repr(value)}")
    return value


def _number(base: type[Any], between: Between | None) -> Check:
    if between is None:
        return lambda value, path: _scalar(base, value, path)
    low, high = between.low, between.high
    if base is int:
        return lambda value, path: checked_count(value, path, int(low), int(high))
    return lambda value, path: checked_number(value, path, low, high)


def _scalar(base: type[Any], value: Any, path: str) -> Any:
    if base is float and _is_number(value):
        return float(value)
    if base is float or not isinstance(value, base) or (base is int and isinstance(value, bool)):
        raise refusal(path, f"must be {_WORDS[base]}, not {short_repr(value)}")
    return value


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold, and not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value if isinstance(value, float) else abs(value) < 1e300  # noqa: PLR0124 - not NaN


def _list_of(declaration: Declared, args: tuple[Any, ...]) -> Check:
    entry, items, short = _entry(declaration, args[0]), declaration.mark(Items), declared(args[0]).mark(Chars)
    plural = "short texts" if short and short.line else _PLURALS.get(declared(args[0]).base, "values")

    def check_list(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple | set | frozenset):
            raise refusal(path, f"must be a list of {plural}")
        if items and items.most is not None and len(value) > items.most:
            reason = f"are too many, the most is {items.most}"
            raise InvalidInput(f"{len(value)} {reason}", field=path, statement=f"{len(value)} {path} {reason}")
        entries = [entry(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return tuple(dict.fromkeys(entries) if items and items.distinct else entries)

    return check_list


def _tuple_of(declaration: Declared, args: tuple[Any, ...]) -> Check:
    entries = [_entry(declaration, arg) for arg in args]

    def check_tuple(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(entries):
            raise refusal(path, f"must be a list of {len(entries)}, not {short_repr(value)}")
        return tuple(entry(item, f"{path}[{i}]") for i, (entry, item) in enumerate(zip(entries, value, strict=True)))

    return check_tuple


def _table_of(name: Check, entry: Check) -> Check:
    def check_table(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise refusal(path, f"must be a table, not {short_repr(value)}")
        return {name(key, path): entry(item, f"{path}.{key}") for key, item in value.items()}

    return check_table


def data_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, as plain data that `build` takes.

    What is inside them is written whole, so that a change of one constant leaves the others as they are.
    """
    changed = {}
    for name, spec in fields_of(type(value)).items():
        own = getattr(value, name)
        if spec.required or own != spec.default or dataclasses.is_dataclass(own):
            changed[name] = _plain(own)
    return changed


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in fields_of(type(value))}
    return plain(value)
