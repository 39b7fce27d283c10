"""What generated input comes to: a value, or an error in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def value_or_none(function: Callable[..., T], *arguments: Any, refusal: type[Exception]) -> T | None:
    """What the function gives; None where it refuses with a message. Any other error fails the test."""
    try:
        return function(*arguments)
    except refusal as error:
        if not str(error).strip():
            raise
        return None
