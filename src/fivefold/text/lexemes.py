"""Text into the lexemes the lexical index holds (R4): the same on writing and asking, on every store.

Plain words are folded, stripped of stop words and stemmed. Identifiers, e-mail addresses, paths and version
strings stay whole and give their parts as well. Scripts written without spaces give characters and pairs.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

from fivefold.text.text_caches import empty_on_forget

if TYPE_CHECKING:
    from snowballstemmer.english_stemmer import EnglishStemmer


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
"""What `_TOKEN` finds in ASCII text, found faster."""

_PARTS = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_DIGIT_GROUP = re.compile(r"(?<=\d)[,\u2009\u202f](?=\d{3}\b)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MAX_LEXEME = 64
_SHORT = 32
"""Characters of the longest token whose lexemes are remembered; longer ones seldom come back."""


def lexemes(text: str) -> list[str]:
    """The lexemes of `text` in reading order, stop words left out."""
    text = _DIGIT_GROUP.sub("", text)
    if text.isascii():
        tokens = _ASCII_TOKEN.findall(text)
        return [
            lexeme for token in tokens for lexeme in (_expand_short(token) if len(token) <= _SHORT else _split(token))
        ]
    return [
        lexeme
        for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text))
        for lexeme in (_unspaced(match[0]) if match["unspaced"] else _expand(match[0]))
    ]


@cache
def stop_words() -> frozenset[str]:
    lines = resources.files("fivefold.text").joinpath("data/stopwords.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _expand(token: str) -> tuple[str, ...]:
    """All lexemes one token stands for, remembered when it is short, since most tokens of a corpus are few words."""
    return _expand_short(token) if len(token) <= _SHORT else _split(token)


@lru_cache(maxsize=100_000)
def _expand_short(token: str) -> tuple[str, ...]:
    return _split(token)


empty_on_forget(_expand_short.cache_clear)


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


def _unspaced(run: str) -> tuple[str, ...]:
    return (*run, *(run[i : i + 2] for i in range(len(run) - 1)))


def _stem(word: str) -> str:
    word = word[:_MAX_LEXEME]
    if not (word.isascii() and word.isalpha() and len(word) > 2):
        return word
    with _stemming:
        return str(_stemmer().stemWord(word))


def _bare(word: str) -> str:
    """`word` without its accents, so that 'zurich' finds 'Zürich'."""
    if word.isascii():
        return ""
    return _stem("".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)))


def _unique(*words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))


_stemming = threading.Lock()
"""The pure-Python stemmer keeps its state in the object, so two threads must not share a call."""


@cache
def _stemmer() -> EnglishStemmer:
    from snowballstemmer.english_stemmer import EnglishStemmer

    return EnglishStemmer()


# Lists of words that come with the package: common ones, ordinary ones that open a sentence, and given names.

Gender = Literal["f", "m", "n"]
"""Whose name it is: a woman's, a man's, or either's."""


@cache
def common_words() -> frozenset[str]:
    """Words too common to name a subject."""
    return frozenset(word for line in _lines("common.txt") for word in line.split())


@cache
def ordinary_words() -> frozenset[str]:
    """Words whose capital says nothing at the start of a sentence; a given name is none of them."""
    return frozenset(word for line in _lines("ordinary.txt") for word in line.split()) - given_names().keys()


@cache
def given_names() -> dict[str, Gender]:
    """Given names in lower case, each with whose it is."""
    names: dict[str, Gender] = {}
    for line in _lines("given_names.txt"):
        gender, _, words = line.partition(":")
        for word in words.split():
            names[word] = "n" if names.get(word, gender) != gender else _GENDERS[gender]
    return names


_GENDERS: dict[str, Gender] = {"f": "f", "m": "m", "n": "n"}


def _lines(name: str) -> list[str]:
    lines = resources.files("fivefold.text").joinpath(f"data/{name}").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


# Letters without their accents.


def bare(text: str) -> str:
    """The text in lower case and without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFKD", char)[:1].lower()[:1] or " " for char in text.replace("’", "'"))
