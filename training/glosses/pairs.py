"""Sentence pairs for the lexicon: the development and test sets of the Tatoeba Challenge (CC BY 2.0 FR)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

CODES = {"de": "deu-eng", "es": "eng-spa", "fr": "eng-fra", "it": "eng-ita", "pt": "eng-por"}
"""Each language with the name of its folder in `data/devtest` of the repository Helsinki-NLP/Tatoeba-Challenge."""
HELD_OUT = 15
"""One pair of so many is kept for measuring."""


class Pair(NamedTuple):
    """A sentence and its translation."""

    foreign: str
    english: str


def training_pairs(folder: Path, language: str) -> list[Pair]:
    return [pair for pair in _pairs(folder, language) if not _is_held_out(pair)]


def held_out(folder: Path, language: str) -> list[Pair]:
    return [pair for pair in _pairs(folder, language) if _is_held_out(pair)]


def _is_held_out(pair: Pair) -> bool:
    """By the English sentence, so that all translations of one stay together."""
    return crc32(pair.english.encode()) % HELD_OUT == 0


def _pairs(folder: Path, language: str) -> Iterator[Pair]:
    """Every pair once, each English sentence with its first translation."""
    english: dict[str, str] = {}
    for file in sorted((folder / CODES[language]).glob("*.txt")):
        for line in file.read_text("utf-8").splitlines():
            first, _, *texts = line.split("\t")
            pair = texts if first == "eng" else texts[::-1]
            english.setdefault(pair[0].strip(), pair[1].strip())
    return (Pair(foreign, text) for text, foreign in english.items())
