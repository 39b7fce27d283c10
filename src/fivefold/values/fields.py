"""The fields of a dataclass as they are declared, and everything that is derived from that: checks and JSON Schemas.

`fields_of(Record)["importance"]` says type, range, default and meaning; `check` and `build` apply them.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json, Value, plain
from fivefold.values.times import as_utc
from fivefold.values.validate import (
    MAX_CONTENT,
    MAX_INDEX,
    MAX_K,
    MAX_NAME,
    MAX_RECENT,
    MAX_STORED_TAGS,
    MAX_TAGS,
    MAX_TALLY,
    MAX_TEXT,
    MAX_TOKENS,
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

# What a field declares in addition to its type: a range, a length, a rule, and its meaning.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Between:
    """The smallest and the largest number; on a list or a table they limit each entry."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Chars:
    """Limits of a text: its length, and if it must be visible, is one line, or stays exactly as it is."""

    most: int
    visible: bool = False
    line: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """Limits of a list: its number of entries, None for any, and True if equal ones count once."""

    most: int | None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class PlainJson:
    """A mapping that JSON can hold, no deeper and no longer than the limits."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A test that a value of the right type and range must pass, and in words what the field takes."""

    test: Callable[[Any], bool]
    takes: str


@dataclass(frozen=True, slots=True)
class About:
    """The meaning of a field, and its value if it is left out and the default does not say it."""

    text: str
    left_out: str = ""


Text = Annotated[str, Chars(MAX_TEXT)]
VisibleText = Annotated[str, Chars(MAX_TEXT, visible=True)]
StoredText = Annotated[str, Chars(MAX_TEXT, exact=True)]
Content = Annotated[str, Chars(MAX_CONTENT)]
VisibleContent = Annotated[str, Chars(MAX_CONTENT, visible=True)]
StoredContent = Annotated[str, Chars(MAX_CONTENT, exact=True)]
Name = Annotated[str, Chars(MAX_NAME, visible=True, line=True)]
Names = Annotated[tuple[Name, ...], Items(MAX_K)]
Tags = Annotated[tuple[Name, ...], Items(MAX_TAGS, distinct=True)]
StoredTags = Annotated[tuple[Name, ...], Items(MAX_STORED_TAGS, distinct=True)]
Share = Annotated[float, Between(0, 1)]
Index = Annotated[int, Between(0, MAX_INDEX)]
Tally = Annotated[int, Between(0, MAX_TALLY)]
Metadata = Annotated[Mapping[str, Any], PlainJson()]

Count = Annotated[int, Between(1, MAX_K)]
RecentTurns = Annotated[int, Between(0, MAX_RECENT)]
TokenBudget = Annotated[int, Between(1, MAX_TOKENS)]


@dataclass(frozen=True, slots=True)
class TypeParts:
    """The parts of a type hint: the type without `Annotated` and `None`, its marks, and whether None is allowed."""

    base: Any
    marks: tuple[Any, ...]
    optional: bool

    def mark(self, kind: type[T]) -> T | None:
        """The mark of that class; of several the outermost."""
        return next((mark for mark in reversed(self.marks) if isinstance(mark, kind)), None)


def declared(hint: Any) -> TypeParts:
    """The declaration in a type hint."""
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        within = declared(inner)
        return TypeParts(within.base, (*within.marks, *marks), within.optional)
    if get_origin(hint) in {Union, types.UnionType}:
        others = [part for part in get_args(hint) if part is not type(None)]
        if len(others) == 1:
            within = declared(others[0])
            return TypeParts(within.base, within.marks, True)
    return TypeParts(hint, (), False)


# The JSON Schema of every value, read off its class: library, REST and MCP describe their answers by the same one.

LOCAL = "#/$defs/"
"""Prefix of the references of a schema that stands alone."""

_PLAIN: dict[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    type(None): {"type": "null"},
    Any: {},
}


def schema_of(kind: Any) -> Json:
    """The schema of what `to_dict()` of that class writes, with the classes it holds under `$defs`."""
    schemas = definitions(kind, ref=LOCAL)
    own = schemas.pop(name_of(kind))
    return {**own, "$defs": schemas} if schemas else own


def definitions(*kinds: Any, ref: str = LOCAL) -> dict[str, Json]:
    """The schemas of these classes and of all they hold, by name; each refers to the others by `ref`."""
    schemas: dict[str, Json] = {}
    queue = list(kinds)
    while queue:
        kind = queue.pop()
        if name_of(kind) not in schemas:
            schemas[name_of(kind)] = _object(kind, ref, queue)
    return dict(sorted(schemas.items()))


def name_of(kind: Any) -> str:
    """Name of a class in a schema: `Memory`, or `PageOfMemory` for a page of them."""
    origin = get_origin(kind)
    if origin is None:
        return str(kind.__name__)
    return f"{origin.__name__}Of{''.join(name_of(arg) for arg in get_args(kind))}"


def _object(kind: Any, ref: str, queue: list[Any]) -> Json:
    origin = get_origin(kind) or kind
    arguments = dict(zip(getattr(origin, "__parameters__", ()), get_args(kind), strict=False))
    shape = origin.shape()
    return {
        "title": name_of(kind),
        "description": " ".join((inspect.getdoc(origin) or "").split()),
        "type": "object",
        "properties": {name: _schema_of_hint(_substitute(hint, arguments), ref, queue) for name, hint in shape.items()},
        "required": list(shape),
        "additionalProperties": False,
    }


def _substitute(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """A hint with its type variables replaced by what they stand for."""
    if isinstance(hint, TypeVar):
        return arguments.get(hint, Any)
    if not get_args(hint) or get_origin(hint) is Literal:
        return hint
    args = tuple(_substitute(arg, arguments) for arg in get_args(hint))
    if isinstance(hint, types.UnionType):
        return Union[args]  # noqa: UP007 - made of what is known only now
    return hint if args == get_args(hint) else get_origin(hint)[args]


def schema_of_type(hint: Any) -> Json:
    """The schema of one declared type, with the classes it mentions under `$defs`."""
    queue: list[Any] = []
    own = _schema_of_hint(hint, LOCAL, queue)
    schemas = definitions(*queue)
    return {**own, "$defs": schemas} if schemas else own


def _schema_of_hint(hint: Any, ref: str, queue: list[Any]) -> Json:
    """A type with its limits and meaning; None is one more type that it may have."""
    declaration = declared(hint)
    if not declaration.marks and not declaration.optional:
        return _schema_without_limits(hint, ref, queue)
    own = _add_limits(_schema_without_limits(declaration.base, ref, queue), declaration)
    about = declaration.mark(About)
    schema = {"anyOf": [own, dict(_PLAIN[type(None)])]} if declaration.optional else own
    return {**schema, "description": about.text} if about else schema


def _add_limits(schema: Json, declaration: TypeParts) -> Json:
    """The schema with its limits; a range holds for each entry of a list or table."""
    between, chars, items = declaration.mark(Between), declaration.mark(Chars), declaration.mark(Items)
    inner = next((part for part in ("items", "additionalProperties") if part in schema), None)
    if between and inner:
        schema = {**schema, inner: _add_limits(schema[inner], TypeParts(None, (between,), False))}
    elif between:
        schema = {**schema, "minimum": between.low, "maximum": between.high}
    if chars:
        least = {"minLength": 1} if chars.visible else {}
        schema = {**schema, **least, "maxLength": chars.most}
    return {**schema, "maxItems": items.most} if items and items.most is not None else schema


def _schema_without_limits(hint: Any, ref: str, queue: list[Any]) -> Json:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, args = get_origin(hint), get_args(hint)
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, Value):
        queue.append(hint)
        return {"$ref": ref + name_of(hint)}
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_schema_of_hint(arg, ref, queue) for arg in args]}
    if origin is tuple and args[-1] is not Ellipsis:
        if len(set(args)) != 1:
            raise TypeError(f"{hint!r} has members of several types; a class says what each of them is")
        items = _schema_of_hint(args[0], ref, queue)
        return {"type": "array", "items": items, "minItems": len(args), "maxItems": len(args)}
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return {"type": "object", "additionalProperties": _schema_of_hint(args[1] if args else Any, ref, queue)}
    if isinstance(kind, type) and issubclass(kind, Sequence | set | frozenset) and kind is not bytes:
        return {"type": "array", "items": _schema_of_hint(args[0] if args else Any, ref, queue)}
    raise TypeError(f"{hint!r} has no schema")


Built = TypeVar("Built")
Check = Callable[[Any, str], Any]
"""Takes a value and the path of its field; returns the value as it is stored, or raises `InvalidInput`."""

_PLURALS = {str: "texts", int: "whole numbers", float: "numbers", bool: "yes or no"}
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


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
    """The value if the field is left out, if the default does not say it."""
    hint: Any
    """The annotation as it is declared."""
    checker: Check

    def check(self, value: object, path: str = "") -> Any:
        """The value as the field stores it; the error names the field, or its path within something larger."""
        return self.checker(value, path or self.name)

    @property
    def description(self) -> str:
        """The meaning, and the value if the field is left out."""
        return f"{self.about}; default: {self.left_out}" if self.left_out else self.about


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
    if not declaration.optional:
        return check_value
    return lambda value, path: None if value is None else check_value(value, path)


def _checker_of(declaration: TypeParts) -> Check:
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


def _entry(declaration: TypeParts, hint: Any) -> Check:
    """The check of an entry, which has the range of the whole."""
    between = declaration.mark(Between)
    return checker(hint if between is None else typing.Annotated[hint, between])


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
        return partial(_scalar, str)
    if chars.line:
        return checked_name
    if chars.exact:
        return partial(exact_text, most=chars.most)
    return partial(checked_text, empty=not chars.visible, most=chars.most)


def _number(base: type[Any], between: Between | None) -> Check:
    if between is None:
        return partial(_scalar, base)
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
    """True if it is a number that a float can hold, and not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value if isinstance(value, float) else abs(value) < 1e300  # noqa: PLR0124 - not NaN


def _list_of(declaration: TypeParts, args: tuple[Any, ...]) -> Check:
    entry, items, short = _entry(declaration, args[0]), declaration.mark(Items), declared(args[0]).mark(Chars)
    plural = "short texts" if short and short.line else _PLURALS.get(declared(args[0]).base, "values")

    def check_list(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple | set | frozenset):
            raise refusal(path, f"must be a list of {plural}")
        if items and items.most is not None and len(value) > items.most:
            reason = f"are too many, the maximum is {items.most}"
            raise InvalidInput(f"{len(value)} {reason}", field=path, statement=f"{len(value)} {path} {reason}")
        entries = [entry(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return tuple(dict.fromkeys(entries) if items and items.distinct else entries)

    return check_list


def _tuple_of(declaration: TypeParts, args: tuple[Any, ...]) -> Check:
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

    Inner values are written whole, so a change of one constant leaves the others as they are.
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
