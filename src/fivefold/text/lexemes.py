"""Text into the lexemes the lexical index holds (R4): the same on writing and asking, on every store.

Plain words are folded, stripped of stop words and stemmed. Identifiers, e-mail addresses, paths and version
strings stay whole and give their parts as well. Scripts written without spaces give characters and pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, cached_property, lru_cache, wraps
from importlib import resources
from itertools import pairwise
from typing import Literal, TypeVar, cast

from fivefold.text.stemmers import stem

T = TypeVar("T")

MAX_SHORT_CHARACTERS, MAX_LONG_TEXTS = 2_000, 4
"""Characters of a text that counts as short, and how many longer ones a cache keeps: a text may be very long."""

_CLEARS: list[Callable[[], None]] = []


def text_cache(size: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """The results of a function for the latest `size` short texts and a few long ones."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        short, long = lru_cache(maxsize=size)(function), lru_cache(maxsize=MAX_LONG_TEXTS)(function)
        _CLEARS.extend((short.cache_clear, long.cache_clear))

        @wraps(function)
        def cached(text: str) -> T:
            return short(text) if len(text) <= MAX_SHORT_CHARACTERS else long(text)

        return cached

    return decorate


def empty_on_forget(clear: Callable[[], None]) -> None:
    """Have `clear` called whenever a memory is forgotten in this process."""
    _CLEARS.append(clear)


def empty_text_caches() -> None:
    """Keep no text of a memory that was just forgotten; the caches fill again as texts are read."""
    for clear in _CLEARS:
        clear()


class _LatePattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        found: object = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def late_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, compiled when it is first used: a recall needs few of those that writes do."""
    return cast(re.Pattern[str], _LatePattern(source, flags))


UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, bopomofo, Han and Hangul: scripts whose words are not set apart by spaces."""

_MARKS = "".join(re.escape(chr(c)) for c in range(0x300, 0x2000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
_WORD = rf"(?:(?![{UNSPACED}])[\w{_MARKS}])+"
_JOINT = r"(?:://|::|[-./@:+#'’&\\~=?%])"
_TOKEN = re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|{_WORD}(?:{_JOINT}{_WORD})*|[\u2190-\u2bff\U0001f000-\U0001faff]")
_ASCII_TOKEN = re.compile(rf"\w+(?:{_JOINT}\w+)*", re.ASCII)
"""`_TOKEN` for ASCII text, which is faster."""

_PARTS = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_DIGIT_GROUP = re.compile(r"(?<=\d)[,\u2009\u202f](?=\d{3}\b)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MAX_LEXEME = 64
_MAX_CACHED_LENGTH = 32
"""Characters of the longest token whose lexemes are remembered; longer ones seldom come back."""


def lexemes(text: str) -> list[str]:
    """The lexemes of `text` in reading order, stop words left out."""
    text = _DIGIT_GROUP.sub("", text)
    if text.isascii():
        tokens = _ASCII_TOKEN.findall(text)
        return [
            lexeme
            for token in tokens
            for lexeme in (_known_split(token) if len(token) <= _MAX_CACHED_LENGTH else _split(token))
        ]
    found: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        if run := match["unspaced"]:
            found += (*run, *map("".join, pairwise(run)))
        else:
            found += _known_split(match[0]) if len(match[0]) <= _MAX_CACHED_LENGTH else _split(match[0])
    return found


@cache
def stop_words() -> frozenset[str]:
    return frozenset(" ".join(_lines("stopwords.txt")).split())


def _split(token: str) -> tuple[str, ...]:
    if not any(map(str.isalnum, token)):
        return (token,) if unicodedata.category(token[0]).startswith("S") else ()
    token = token.replace("’", "'")
    if token.casefold() in stop_words():
        return ()
    token = re.sub("'s$", "", token, flags=re.IGNORECASE)
    pieces = [token.replace("'", "")] if "'" in token else _CAMEL.split(token)
    word = token.replace("'", "").casefold()
    if word in stop_words():
        return ()
    parts = [part.casefold() for piece in pieces for part in _PARTS.findall(piece)]
    if len(parts) <= 1:
        core = parts[0] if parts else word
        return _unique(word[:_MAX_LEXEME] if core != word else "", _stem(core), _bare(core))
    stems = [_stem(part) for part in dict.fromkeys(parts) if part not in stop_words()]
    return _unique(word[:_MAX_LEXEME], *stems, *map(_bare, stems))


_known_split = lru_cache(maxsize=100_000)(_split)
empty_on_forget(_known_split.cache_clear)


def _stem(word: str) -> str:
    word = word[:_MAX_LEXEME]
    if not (word.isascii() and word.isalpha() and len(word) > 2):
        return word
    return stem("en", word)


def _bare(word: str) -> str:
    """`word` without its accents, so that 'zurich' finds 'Zürich'."""
    if word.isascii():
        return ""
    return _stem("".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)))


def _unique(*words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))


Gender = Literal["f", "m", "n"]
"""The gender of a name: a woman's, a man's, or either's."""


@cache
def common_words() -> frozenset[str]:
    """Words too common to name a subject."""
    return frozenset(" ".join(_lines("common.txt")).split())


@cache
def ordinary_words() -> frozenset[str]:
    """Words whose capital says nothing at the start of a sentence; a given name is none of them."""
    return frozenset(" ".join(_lines("ordinary.txt")).split()) - given_names().keys()


@cache
def given_names() -> dict[str, Gender]:
    """Given names in lower case, each with whose it is."""
    names: dict[str, Gender] = {}
    for line in _lines("given_names.txt"):
        gender = cast(Gender, line[0])
        for word in line[2:].split():
            names[word] = gender if names.get(word, gender) == gender else "n"
    return names


@cache
def places() -> frozenset[str]:
    """Countries and large cities in lower case."""
    names = " ".join(_lines("places.txt")).split()
    return frozenset(name.replace("-", " ") for name in names) - given_names().keys()


def _lines(name: str) -> list[str]:
    lines = resources.files("fivefold.text").joinpath(f"data/{name}").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def bare(text: str) -> str:
    """The text in lower case and without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFKD", char)[:1].lower()[:1] or " " for char in text.replace("’", "'"))


_PATTERNS_WORD = re.compile(r"[^\W\d_]+|[@/\\_=:]")
_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
_PATTERNS_MARKS = "@/\\_=:"
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
    Behind a `+` stand further words of which the text must have one as well.
    """

    def __init__(self, triggers: str, pattern: str, flags: int = 0) -> None:
        first, _, further = triggers.partition("+")
        self.triggers: frozenset[str] = frozenset(first.split())
        required = frozenset(further.split())
        self.also: int = _flag_of(required) if required else -1
        self._pattern = pattern
        self._flags = flags
        self.flag: int = _flag_of(self.triggers)

    @cached_property
    def bare(self) -> re.Pattern[str]:
        """The expression alone, compiled at its first use: most commands need few of them, and compiling takes long."""
        return re.compile(self._pattern, self._flags)

    @cached_property
    def _lower(self) -> re.Pattern[str] | None:
        """The expression for a text in lower case, several times as fast; None if it looks at capitals."""
        if not self._flags & re.IGNORECASE or "(?-i" in self._pattern or _CAPITAL.search(self._pattern):
            return None
        return re.compile(self._pattern, self._flags & ~re.IGNORECASE)

    def occurs(self, text: str) -> bool:
        """True if the expression matches anywhere."""
        flags = flags_in(text)
        if not (flags & self.flag and flags & self.also):
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
    """The bit of these triggers; texts are read again if it is a new one."""
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
    """The lower-case words of a text, its signs, and `#` if it has a digit."""
    if text.isascii():
        words = {*text.lower().translate(_LETTERS).split(), *(mark for mark in _PATTERNS_MARKS if mark in text)}
    else:
        words = set(_PATTERNS_WORD.findall(text.casefold()))
    if _DIGIT.search(text):
        words.add("#")
        words.update(f"#{sign}#" if sign else "####" for sign in set(_SIGNS.findall(text)))
    return frozenset(words)


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
    return re.compile("|".join(map(_whole_words, phrase_lines(package, path)[section])))


@cache
def phrase_lines(package: str, path: str) -> dict[str, list[str]]:
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
