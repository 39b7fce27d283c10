"""The lexicon of one language: hand-written everyday words, and what was learned from parallel sentences."""

from __future__ import annotations

import lzma
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Protocol

from fivefold.text.accents import bare
from fivefold.text.lexemes import stop_words

LANGUAGES = ("de", "es", "fr", "it", "pt")
LONGEST = 5
"""Words of the longest phrase."""
SHORTEST_PART = 3
"""Letters of the shortest word inside a compound."""

Glosses = tuple[str, ...]

_STEMMERS = {"de": "german", "es": "spanish", "fr": "french", "it": "italian", "pt": "portuguese"}
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
        known = self.forms.get(form) or self.bare_forms.get(bare(form)) or self.stems.get(_stem(self.stemmer, form))
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
    stemmer = _stemmer(language)
    forms: dict[str, Glosses] = {}
    bare_forms: dict[str, Glosses] = {}
    stems: dict[str, Glosses] = {}
    for entries in (_everyday(language), _trained(language)):
        for form, english in entries:
            forms.setdefault(form, english)
            bare_forms.setdefault(bare(form), english)
            if " " not in form:
                stems.setdefault(_stem(stemmer, form), english)
    plain = frozenset(word for glosses in forms.values() for part in glosses for word in part.lower().split())
    return Lexicon(language, forms, bare_forms, stems, plain | stop_words(), stemmer)


def _everyday(language: str) -> Iterator[tuple[str, Glosses]]:
    column = LANGUAGES.index(language) + 1
    for line in _data("everyday.txt").decode("utf-8").splitlines():
        if line and not line.startswith("#"):
            english, forms = (line.split("|")[at].strip() for at in (0, column))
            glosses = ("",) if english == "-" else tuple(english.split("/"))
            yield from ((_JOINTS.sub(" ", form), glosses) for form in forms.split())


def _trained(language: str) -> Iterator[tuple[str, Glosses]]:
    """What `training/glosses` learned: a section for each language, a line for each gloss with its forms."""
    section = False
    for line in lzma.decompress(_data("trained.txt.xz")).decode("utf-8").splitlines():
        if line.startswith("["):
            section = line == f"[{language}]"
        elif section:
            english, *forms = line.split()
            yield from ((form, (english,)) for form in forms)


def _data(name: str) -> bytes:
    return resources.files("fivefold.text").joinpath("data", "glosses", name).read_bytes()


def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer(_STEMMERS[language])
    return stemmer


def _stem(stemmer: _Stemmer, form: str) -> str:
    with _stemming:
        return stemmer.stemWord(form)
