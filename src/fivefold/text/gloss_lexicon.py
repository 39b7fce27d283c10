"""The lexicon of one language: hand-written everyday words, and what was learned from parallel sentences."""

from __future__ import annotations

import lzma
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Protocol

from fivefold.text.accents import bare
from fivefold.text.lexemes import stop_words
from fivefold.text.text_caches import empty_on_forget

LANGUAGES = ("de", "es", "fr", "it", "pt")
LONGEST = 5
"""Words of the longest phrase."""
STEM = "~"
"""What a stem begins with in the trained part, since stemming thousands of words takes long."""
SHORTEST_PART = 3
"""Letters of the shortest word inside a compound."""

Glosses = tuple[str, ...]

_STEMMERS = {"de": "german", "es": "spanish", "fr": "french", "it": "italian", "pt": "portuguese"}
_SECTION = re.compile(r"^\[(\w+)\]\n", re.MULTILINE)
_JOINTS = re.compile(r"[_'’-]+")
_LINKS = ("", "s", "n", "es", "en", "e")
"""Letters by which German joins the parts of a compound."""

_stemming = threading.Lock()
"""The pure-Python stemmers keep their state in the object, so two threads must not share a call."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Lexicon:
    """English glosses by form, by form without accents, and by stem. An empty gloss says nothing in English."""

    language: str
    forms: Mapping[str, Glosses]
    bare_forms: Mapping[str, Glosses]
    stems: Mapping[str, Glosses]
    english: frozenset[str]
    """English words: those of the glosses, and the smallest."""
    stemmer: _Stemmer

    def word(self, form: str) -> Glosses | None:
        """The glosses of one word: as it is, without accents, by its stem, or in German by its parts."""
        return _word(self.language, form)

    def look_up(self, form: str) -> Glosses | None:
        known = self.forms.get(form) or self.bare_forms.get(bare(form)) or self.stems.get(stem(self.stemmer, form))
        return known or (self._compound(form) if self.language == "de" else None)

    def _compound(self, form: str) -> Glosses | None:
        """A compound of two words that are known, the first as long as possible."""
        for cut in range(len(form) - SHORTEST_PART, SHORTEST_PART - 1, -1):
            second = self.forms.get(form[cut:])
            bases = (form[:cut].removesuffix(link) for link in _LINKS) if second else ()
            first = next(
                (self.forms[base] for base in bases if len(base) >= SHORTEST_PART and base in self.forms), None
            )
            if first and second:
                return (f"{first[0]} {second[0]}", *first[1:], *second[1:])
        return None


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of that language; what was written by hand comes first."""
    stemmer = stemmer_of(language)
    hand = list(everyday(language))
    learned = list(trained(language))
    forms = _first([*hand, *learned])
    stems = {form[1:]: english for form, english in learned if form[0] == STEM}
    plain = frozenset(word for glosses in forms.values() for part in glosses for word in part.lower().split())
    bare_forms = _first((bare(form), english) for form, english in forms.items())
    return Lexicon(language, forms, bare_forms, stems, plain | stop_words(), stemmer)


@lru_cache(maxsize=20_000)
def _word(language: str, form: str) -> Glosses | None:
    return lexicon(language).look_up(form)


empty_on_forget(_word.cache_clear)


def _first(entries: Iterable[tuple[str, Glosses]]) -> dict[str, Glosses]:
    """For each form the glosses that come first."""
    found: dict[str, Glosses] = {}
    for form, english in entries:
        found.setdefault(form, english)
    return found


def everyday(language: str) -> Iterator[tuple[str, Glosses]]:
    """The hand-written words of `everyday.txt`, which has a column for each language."""
    column = LANGUAGES.index(language) + 1
    for line in _data("everyday.txt").decode("utf-8").splitlines():
        if line and not line.startswith("#"):
            english, forms = (line.split("|")[at].strip() for at in (0, column))
            glosses = ("",) if english == "-" else tuple(english.split("/"))
            yield from ((_JOINTS.sub(" ", form), glosses) for form in forms.split())


def trained(language: str) -> Iterator[tuple[str, Glosses]]:
    """What `training/glosses` made: a line for each gloss with its forms, and with the stems of all forms."""
    for line in _sections()[language].splitlines():
        english, *forms = line.split()
        glosses = tuple(english.replace("_", " ").split("/"))
        yield from ((form, glosses) for form in forms)


@cache
def _sections() -> dict[str, str]:
    """The trained part of each language, which begins with the language's name in brackets."""
    parts = _SECTION.split(lzma.decompress(_data("trained.txt.xz")).decode("utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _data(name: str) -> bytes:
    return resources.files("fivefold.text").joinpath("data", "glosses", name).read_bytes()


def stemmer_of(language: str) -> _Stemmer:
    """The stemmer of that language."""
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer(_STEMMERS[language])
    return stemmer


def stem(stemmer: _Stemmer, form: str) -> str:
    """The stem of a form, by any thread."""
    with _stemming:
        return stemmer.stemWord(form)
