"""Which words translate each other: expectation maximisation over sentence pairs (IBM model 1, with a prior for words
at like places), in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROUNDS = 8
TENSION = 4.0
"""How strongly a word is drawn to its own place in the other sentence."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Sentence = Sequence[str]


@dataclass(frozen=True, slots=True)
class Meetings:
    """Every meeting of a foreign and an English word of one sentence pair, flat."""

    foreign: Ints
    english: Ints
    foreign_place: Ints
    english_place: Ints
    prior: Floats
    foreign_words: tuple[str, ...]
    english_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely the English word translates the foreign one, both ways, and how often it is expected to."""

    foreign: str
    english: str
    there: float
    back: float
    count: float

    @property
    def score(self) -> float:
        return float(np.sqrt(self.there * self.back))


def meetings(pairs: Sequence[tuple[Sentence, Sentence]]) -> Meetings:
    foreign_ids: dict[str, int] = {}
    english_ids: dict[str, int] = {}
    columns: list[list[npt.NDArray[np.float64]]] = [[], [], [], [], []]
    places = [0, 0]
    for ours, theirs in pairs:
        f = np.array([foreign_ids.setdefault(word, len(foreign_ids)) for word in ours])
        e = np.array([english_ids.setdefault(word, len(english_ids)) for word in theirs])
        i, j = (grid.ravel() for grid in np.meshgrid(np.arange(len(f)), np.arange(len(e)), indexing="ij"))
        away = np.abs((i + 0.5) / len(f) - (j + 0.5) / len(e))
        for column, values in zip(
            columns, (f[i], e[j], i + places[0], j + places[1], np.exp(-TENSION * away)), strict=True
        ):
            column.append(values)
        places = [places[0] + len(f), places[1] + len(e)]
    flat = [np.concatenate(column) for column in columns]
    ids = [column.astype(np.int64) for column in flat[:4]]
    return Meetings(ids[0], ids[1], ids[2], ids[3], flat[4], tuple(foreign_ids), tuple(english_ids))


def chances(met: Meetings) -> list[Chance]:
    """Every pair of words that ever met, with its chances."""
    keys, at = np.unique(met.foreign * len(met.english_words) + met.english, return_inverse=True)
    foreign, english = np.divmod(keys, len(met.english_words))
    there, count = _learn(at, foreign, met.foreign_place, met.english_place, met.prior)
    back, _ = _learn(at, english, met.english_place, met.foreign_place, met.prior)
    return [
        Chance(met.foreign_words[f], met.english_words[e], float(t), float(b), float(c))
        for f, e, t, b, c in zip(foreign, english, there, back, count, strict=True)
        if t > 0.05
    ]


def _learn(at: Ints, given: Ints, given_place: Ints, other_place: Ints, prior: Floats) -> tuple[Floats, Floats]:
    """The chance of the other word given this one, for each pair of words; each place of the other is shared."""
    chance: Floats = np.ones(len(given))
    count: Floats = chance
    for _ in range(ROUNDS):
        weight = chance[at] * prior
        share = weight / np.bincount(other_place, weight)[other_place]
        count = np.bincount(at, share, minlength=len(given)).astype(np.float64)
        chance = count / np.bincount(given, count)[given]
    return chance, count
