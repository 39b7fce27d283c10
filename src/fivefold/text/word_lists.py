"""Lists of words that come with the package: common ones, ordinary ones that open a sentence, and given names."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

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
