"""Caches whose keys are texts of memories: bounded, and emptied when something is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")

SHORT, LONG_TEXTS = 2_000, 4
"""Characters of a text that counts as short, and how many longer ones a cache keeps: a text may be very long."""

_CLEARS: list[Callable[[], None]] = []


def text_cache(size: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """The results of a function for the latest `size` short texts and a few long ones."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        short, long = lru_cache(maxsize=size)(function), lru_cache(maxsize=LONG_TEXTS)(function)
        _CLEARS.extend((short.cache_clear, long.cache_clear))

        @wraps(function)
        def cached(text: str) -> T:
            return short(text) if len(text) <= SHORT else long(text)

        return cached

    return decorate


def empty_on_forget(clear: Callable[[], None]) -> None:
    """Have `clear` called whenever a memory is forgotten in this process."""
    _CLEARS.append(clear)


def empty_text_caches() -> None:
    """Keep no text of a memory that was just forgotten; the caches fill again as texts are read."""
    for clear in _CLEARS:
        clear()
