"""Verbs of the past: the irregular ones by name, the others by their ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import resources

from fivefold.text.text_caches import empty_text_caches, text_cache

# Patterns that are only tried where one of their words occurs: most texts hold none, and looking is cheap.

_WORD = re.compile(r"[^\W\d_]+|[@/\\_=:]")
_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
_MARKS = "@/\\_=:"
_CAPITAL = re.compile(r"(?<!\\)(?<!\?)[A-Z]")
_DIGIT = re.compile(r"\d")
_SIGNS = re.compile(r"\d(?=([-/.])\d)|\d(?=\d\d\d)")
_FLAGS: dict[frozenset[str], int] = {}
"""A bit for each set of triggers, since several patterns may share one."""
_FLAGS_OF: dict[str, int] = {}
"""The bits of all sets that a trigger belongs to."""


class Pattern:
    """A regular expression behind a look for one of its trigger words or signs, which its flag stands for.

    `#` stands for any digit, `####` for four in a row; `#-#`, `#/#` and `#.#` for two of them joined by that sign.
    """

    def __init__(self, triggers: str, pattern: str, flags: int = 0) -> None:
        self.triggers = frozenset(triggers.split())
        self._pattern = pattern
        self._flags = flags
        self.flag = _flag_of(self.triggers)

    @cached_property
    def bare(self) -> re.Pattern[str]:
        """The expression alone, compiled at its first use: most commands need few of them, and compiling takes long."""
        return re.compile(self._pattern, self._flags)

    @cached_property
    def _lower(self) -> re.Pattern[str] | None:
        """The expression for a text in lower case, several times as fast; None where it looks at capitals."""
        if not self._flags & re.IGNORECASE or "(?-i" in self._pattern or _CAPITAL.search(self._pattern):
            return None
        return re.compile(self._pattern, self._flags & ~re.IGNORECASE)

    def occurs(self, text: str) -> bool:
        """Whether the expression matches anywhere."""
        if not flags_in(text) & self.flag:
            return False
        if self._lower is not None and text.isascii():
            return self._lower.search(text.lower()) is not None
        return self.bare.search(text) is not None

    def search(self, text: str) -> re.Match[str] | None:
        return self.bare.search(text) if flags_in(text) & self.flag else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.bare.finditer(text) if flags_in(text) & self.flag else iter(())

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.bare.sub(replacement, text) if flags_in(text) & self.flag else text


def _flag_of(triggers: frozenset[str]) -> int:
    """The bit of these triggers; texts are read again where it is a new one."""
    if triggers not in _FLAGS:
        empty_text_caches()
        flag = _FLAGS[triggers] = 1 << len(_FLAGS)
        for word in triggers:
            _FLAGS_OF[word] = _FLAGS_OF.get(word, 0) | flag
    return _FLAGS[triggers]


@text_cache(256)
def flags_in(text: str) -> int:
    """The bits of all triggers that occur in a text: one look for all patterns."""
    flags = 0
    for word in _FLAGS_OF.keys() & words_of(text):
        flags |= _FLAGS_OF[word]
    return flags


@text_cache(256)
def words_of(text: str) -> frozenset[str]:
    """The lower-case words of a text, its signs, and `#` where it has a digit."""
    if text.isascii():
        words = {*text.lower().translate(_LETTERS).split(), *(mark for mark in _MARKS if mark in text)}
    else:
        words = set(_WORD.findall(text.casefold()))
    if _DIGIT.search(text):
        words.add("#")
        words.update(f"#{sign}#" if sign else "####" for sign in set(_SIGNS.findall(text)))
    return frozenset(words)


# Files of phrases: one regular expression a line, in named sections, each of which becomes one pattern.

_SECTION = re.compile(r"\[([a-z ]+)\]")
_LOOK_AHEAD = re.compile(r"\(\?[!=][^()]*(?:\([^()]*\)[^()]*)*\)$")
_PART = re.compile(r"\{([a-z ]+)\}")


def lower_case(text: str) -> str:
    """The text as phrases read it, each character in its place."""
    lower = text.lower().replace("’", "'")
    return lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)


@cache
def phrase(package: str, path: str, section: str) -> re.Pattern[str]:
    """The pattern of a section of a file: any of its lines."""
    return re.compile("|".join(map(_whole_words, _sections(package, path)[section])))


@cache
def _sections(package: str, path: str) -> dict[str, list[str]]:
    """The lines of each section of a file, with those of other sections put in."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in filter(None, resources.files(package).joinpath(path).read_text("utf-8").splitlines()):
        header = _SECTION.fullmatch(line)
        if header:
            lines = sections.setdefault(header[1], [])
        elif not line.startswith("#"):
            lines.append(_PART.sub(lambda match: f"(?:{'|'.join(sections[match[1]])})", line))
    return sections


def _whole_words(line: str) -> str:
    """The line between word borders, if it begins or ends with a word."""
    begin = "" if line.startswith(("^", "'", "(?<")) else r"\b"
    end = "" if line.endswith("$") or _LOOK_AHEAD.search(line) else r"\b"
    return f"{begin}(?:{line}){end}"


IRREGULAR_PAST = (
    "went|met|saw|came|took|gave|made|bought|found|left|ate|drank|ran|flew|drove|wrote|sent|spent|slept|woke|won|lost"
    "|broke|fell|began|brought|built|caught|chose|fought|forgot|grew|heard|kept|led|paid|quit|rang|rode|sang|sold"
    "|shook|spoke|stole|swam|taught|threw|wore|hung|lent|hid|tore|dug|fed|bit|drew|froze|laid|sank|shot|slid|stuck"
    "|swept|got|became|hurt|told|said"
)
"""Past forms of verbs that happen at a time."""

STATIVE_PAST = "was|were|did|had|felt|held|knew|thought|meant|understood|stood"
"""Past forms of verbs that last."""

NO_PAST = (
    "need|bed|red|shed|speed|seed|feed|indeed|hundred|naked|tired|sacred|biped|embed|wed|deed|weed|greed|breed|exceed"
)
"""Words that only end like a verb of the past."""
