"""Declared fields as pydantic fields, so that REST bodies and tool arguments repeat no range and no description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin

from pydantic import Field

from fivefold.values.field_types import Between, Chars, Items, declared
from fivefold.values.fields import FieldSpec

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"}, max_length=100)]
"""A time in ISO 8601; without a zone it is taken as UTC."""

AS_MANY_AS_FIT = "How many memories at most; default: as many as fit"


def described(spec: FieldSpec, *, description: str = "", high: bool = True) -> Any:
    """The range and the description of a field; without `high` the server's own limit bounds the number."""
    entries = spec.max_length if get_origin(spec.type) is tuple else None
    return Field(
        ge=spec.low,
        le=spec.high if high else None,
        max_length=entries,
        fail_fast=True if entries else None,
        description=description or spec.description,
    )


def annotations_of(specs: Iterable[FieldSpec]) -> dict[str, Any]:
    """The annotations of a model with these fields, each of which may be left out."""
    return {
        spec.name: Annotated[json_type(spec.hint) | None, Field(default=None, description=spec.description)]
        for spec in specs
    }


def json_type(hint: Any) -> Any:
    """The JSON type of a declared type, with its limits; the length of a text is up to the server's limits."""
    field_type = declared(hint)
    between, chars, items = field_type.mark(Between), field_type.mark(Chars), field_type.mark(Items)
    if field_type.base is datetime:
        return Moment
    if items:
        return Annotated[list[json_type(get_args(field_type.base)[0])], Field(max_length=items.most, fail_fast=True)]  # type: ignore[misc]
    if chars and chars.line:
        return Annotated[str, Field(min_length=1, max_length=chars.most)]
    if between:
        return Annotated[field_type.base, Field(ge=between.low, le=between.high)]
    return dict[str, Any] if get_origin(field_type.base) is Mapping else field_type.base
