"""Values of foreign JSON, checked for the shape they should have; an error names the wrong value and what it is."""

from __future__ import annotations

from datetime import UTC, datetime

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json
from fivefold.values.times import as_utc

_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
_MILLIS = 100_000_000_000
"""Seconds since 1970 only reach this in the year 5138, so a larger number counts milliseconds."""


def require_object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise _wrong_type(value, what, "an object")
    return value


def require_list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise _wrong_type(value, what, "a list")
    return value


def require_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, what, "a text")
    return value


def require_name(value: object, what: str) -> str:
    """An id or a role: a text that is not empty, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not require_text(value, what).strip():
        raise InvalidInput(f"{what} is empty")
    return str(value)


def optional_time(value: object, what: str) -> datetime | None:
    """A time as seconds or milliseconds since 1970 or as ISO 8601; None where it is missing."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return as_utc(value, what)[0]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(value, what, "a time")
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) > _MILLIS else value, UTC)
    except (OverflowError, ValueError, OSError):
        raise InvalidInput(f"{what} {value!r} is no time of the years 1 to 9999") from None


def _wrong_type(value: object, what: str, expected: str) -> InvalidInput:
    actual = "missing" if value is None else f"{_NAMES.get(type(value), type(value).__name__)} here"
    return InvalidInput(f"{what} should be {expected}; it is {actual}")
