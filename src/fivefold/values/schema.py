"""The JSON Schema of every value, read off its class: library, REST and MCP describe their answers by the same one."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from fivefold.values.field_types import About, Between, Chars, Declared, Items, declared
from fivefold.values.serialize import Json, Value

LOCAL = "#/$defs/"
"""Where a schema by itself keeps the classes it speaks of."""

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
    """What a class is called in a schema: `Memory`, or `PageOfMemory` for a page of them."""
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


def _add_limits(schema: Json, declaration: Declared) -> Json:
    """The schema with its limits; a range holds for each entry of a list or table."""
    between, chars, items = declaration.mark(Between), declaration.mark(Chars), declaration.mark(Items)
    inner = next((part for part in ("items", "additionalProperties") if part in schema), None)
    if between and inner:
        schema = {**schema, inner: _add_limits(schema[inner], Declared(None, (between,), False))}
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
