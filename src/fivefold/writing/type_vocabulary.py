"""The words that the memories of each type have: the optimizer's statistics of a namespace (R2).

They are counted by the check of the vocabulary (R5) and read from the store by a recall, so that it costs the same in
every namespace. They may be a week old: a hint that is dropped for them only means that all types are searched.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivefold.stores.interface import Reader
from fivefold.text.lexemes import lexemes
from fivefold.values.filters import Filter
from fivefold.values.memory import TYPES

MAX_COUNTED = 1_000
"""Memories of each type that are counted: the latest."""

MAX_WORDS = 10_000
"""Lexemes that are stored: those that most memories have."""

_ROW = np.dtype([("mark", "<u4"), ("counts", "<u2", (len(TYPES),))])


@dataclass(frozen=True, slots=True)
class WordDensity:
    """The share of the memories that have a word of the question: of a type, and of all others; `weight` is its idf."""

    lexeme: str
    own: float
    others: float
    weight: float


@dataclass(frozen=True, slots=True)
class TypeVocabulary:
    """Number of counted memories of each type, and of those with each lexeme; a lexeme is a mark of four bytes."""

    namespace: str
    memories: tuple[int, ...]
    words: NDArray[np.void]

    def densities(self, type: str, asked: Sequence[str]) -> tuple[WordDensity, ...]:
        """The density of each of these lexemes in a type and in the others; those that nothing has are left out."""
        at, total = TYPES.index(type), sum(self.memories)
        own, others = self.memories[at], total - self.memories[at]
        if not own or not others:
            return ()
        found = []
        for lexeme in dict.fromkeys(asked):
            mark = _mark(self.namespace, lexeme)
            row = int(np.searchsorted(self.words["mark"], mark))
            known = row < len(self.words) and int(self.words["mark"][row]) == mark
            counts = [int(count) for count in self.words["counts"][row]] if known else []
            every = sum(counts)
            if every:
                weight = log((total + 1) / (every + 0.5))
                found.append(WordDensity(lexeme, counts[at] / own, (every - counts[at]) / others, weight))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        return {"memories": list(self.memories), "words": b64encode(self.words.tobytes()).decode()}


def count_words(reader: Reader) -> TypeVocabulary:
    """The words of the latest memories of each type."""
    memories, by_word = [], {name: Counter[str]() for name in TYPES}
    for name in TYPES:
        found = reader.memories.page(Filter(types=(name,)), None, MAX_COUNTED)
        memories.append(len(found))
        for memory in found:
            by_word[name].update({*lexemes(memory.content), *lexemes(memory.predicate or "")})
    total = Counter[str]()
    for counts in by_word.values():
        total.update(counts)
    most = sorted(total, key=lambda lexeme: (-total[lexeme], lexeme))[:MAX_WORDS]
    rows = {_mark(reader.namespace, lexeme): [by_word[name][lexeme] for name in TYPES] for lexeme in most}
    words = np.array([(mark, rows[mark]) for mark in sorted(rows)], _ROW)
    return TypeVocabulary(reader.namespace, tuple(memories), words)


def load_type_vocabulary(namespace: str, saved: Mapping[str, Any] | None) -> TypeVocabulary | None:
    """Loads the result of `to_dict`; None if nothing was counted yet."""
    if saved is None:
        return None
    words = np.frombuffer(b64decode(saved["words"]), _ROW)
    return TypeVocabulary(namespace, tuple(saved["memories"]), words)


def _mark(namespace: str, lexeme: str) -> int:
    return int.from_bytes(blake2b(f"{namespace}\n{lexeme}".encode(), digest_size=4).digest())
