"""Patterns that are only tried where one of their words occurs: most texts hold none, and looking is cheap."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from fivefold.text.text_caches import text_cache

_WORD = re.compile(r"[^\W\d_]+|[@/\\_=:]")
_DIGIT = re.compile(r"\d")
_SIGNS = re.compile(r"(?<=\d)[-/.](?=\d)|(?<=\d\d\d)\d")


class Pattern:
    """A regular expression behind a look for one of its trigger words or signs.

    `#` stands for any digit, `####` for four in a row; `#-#`, `#/#` and `#.#` for two of them joined by that sign.
    """

    def __init__(self, triggers: str, pattern: str, flags: int = 0) -> None:
        self.triggers = frozenset(triggers.split())
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def bare(self) -> re.Pattern[str]:
        """The expression alone, compiled at its first use: most commands need few of them, and compiling takes long."""
        return re.compile(self._pattern, self._flags)

    def search(self, text: str) -> re.Match[str] | None:
        return None if self.triggers.isdisjoint(words_of(text)) else self.bare.search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return iter(()) if self.triggers.isdisjoint(words_of(text)) else self.bare.finditer(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return text if self.triggers.isdisjoint(words_of(text)) else self.bare.sub(replacement, text)


@text_cache(256)
def words_of(text: str) -> frozenset[str]:
    """The lower-case words of a text, its signs, and `#` where it has a digit."""
    words = set(_WORD.findall(text.casefold()))
    if _DIGIT.search(text):
        words.add("#")
        words.update("####" if sign.isdigit() else f"#{sign}#" for sign in _SIGNS.findall(text))
    return frozenset(words)
