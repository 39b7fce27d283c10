"""One way to turn every value object into JSON, so that all faces of fivefold speak one schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from fivefold.times import iso

Json = dict[str, Any]


class Value:
    """Mixin for frozen dataclasses: `to_dict()` gives plain JSON types, fields in their order.

    Fields whose metadata says `json=False` are working data (vectors, row numbers) and stay out.
    """

    __slots__ = ()

    def to_dict(self) -> Json:
        return {name: plain(value) for name, value in self._shown()}

    def _shown(self) -> Iterator[tuple[str, object]]:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if field.metadata.get("json", True):
                yield field.name, getattr(self, field.name)


def plain(value: object) -> Any:
    """`value` as JSON types: dataclasses become objects, tuples lists, times ISO 8601 in UTC."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def hidden(**kwargs: Any) -> Any:
    """A dataclass field that stays out of `to_dict()`."""
    return dataclasses.field(metadata={"json": False}, **kwargs)
