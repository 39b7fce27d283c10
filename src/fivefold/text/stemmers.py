"""Snowball's stemmers, each loaded alone: their own package loads those of all languages at once."""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_found = find_spec("snowballstemmer")
__path__ = [] if _found is None else list(_found.submodule_search_locations or ())

NAMES = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "pt": "portuguese"}

_stemming = threading.Lock()
"""The stemmers keep their state in the object, so two threads must not share a call."""


def stem(language: str, word: str) -> str:
    """The stem of a word, in pure Python: the same on every machine."""
    with _stemming:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    name = NAMES[language]
    return getattr(import_module(f"{__name__}.{name}_stemmer"), f"{name.title()}Stemmer")()
