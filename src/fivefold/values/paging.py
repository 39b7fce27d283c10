"""A page of a longer list, and the cursor that says where the next one begins."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Value

T = TypeVar("T")

Place = tuple[int | float | str, ...]
"""The position of an item in the order of its list."""

LARGEST = 2**63
"""No key and no number of a place reaches this."""


@dataclass(frozen=True, slots=True)
class Page(Value, Sequence[T], Generic[T]):
    """Some items of a list in its order; `cursor` asks for those behind them, None when these were the last."""

    items: tuple[T, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.items[index]


def page_of(rows: Sequence[T], limit: int, order: str, place: Callable[[T], Place]) -> Page[T]:
    """The first `limit` of what was found; one more than that tells that the list goes on."""
    items = tuple(rows[:limit])
    return Page(items, cursor_of(order, place(items[-1])) if len(rows) > limit else None)


def cursor_of(order: str, place: Place) -> str:
    """A place as a cursor: opaque to the caller, safe in an address."""
    text = json.dumps([order, *place], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, order: str, *kinds: type) -> Place | None:
    """The place a cursor of this order names; anything else is an error."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        name, *place = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
    except (AttributeError, ValueError, TypeError, RecursionError, binascii.Error):
        name, place = None, []
    fits = len(place) == len(kinds) and all(_is(part, kind) for part, kind in zip(place, kinds, strict=True))
    if name != order or not fits:
        raise InvalidInput("the cursor is not one of this list; take it from the page before, or leave it out")
    return tuple(place)


def _is(part: object, kind: type) -> bool:
    if kind is int:
        return type(part) is int and abs(part) < LARGEST
    if kind is float:
        return type(part) is float and math.isfinite(part)
    return isinstance(part, str) and "\x00" not in part and part == part.encode(errors="ignore").decode()
