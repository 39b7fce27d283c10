"""A passage as word pieces: its own, then the end of what was said before; and which of them have stored vectors."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import punctuation
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fivefold.models.bert import MAX_TOKENS, Ids, tokenizer
from fivefold.models.embedders.skipped_words import SKIPPED_WORDS
from fivefold.values.reading import Passage, Span

if TYPE_CHECKING:
    from tokenizers import Encoding

BEFORE_TOKENS = 24
"""Word pieces at the end of what was said before that are read along; the model is trained with this many."""

_TEXT_CHARS = 16 * MAX_TOKENS
"""Characters of a text that are split at all; what lies beyond is cut anyway."""
_BEFORE_CHARS = 16 * BEFORE_TOKENS
_NOWHERE = (0, 0)

FEW = 4
"""Texts that are split one by one: for so few, threads take longer to start than to work."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Row:
    """`[CLS] text [SEP] before [SEP]`, or `[CLS] text [SEP]` where nothing was said before."""

    ids: Sequence[int]
    own: int
    """How many of the pieces are the passage's own."""
    text: Encoding
    before: Encoding | None
    before_start: int
    """Where in the text before the pieces are counted from."""

    @property
    def spans(self) -> tuple[Span, ...]:
        """The characters of each piece, in the passage's text or in the text before."""
        spans = [_NOWHERE, *self.text.offsets[: self.own - 2], _NOWHERE]
        if self.before is not None:
            start = self.before_start
            spans += [(start + first, start + end) for first, end in self.before.offsets[-BEFORE_TOKENS:]]
            spans.append(_NOWHERE)
        return tuple(spans)


class PassageTokenizer:
    """Splits passages into rows of word pieces."""

    def __init__(self) -> None:
        self._pieces = tokenizer(MAX_TOKENS)
        self._pieces.no_truncation()
        self._vocabulary: Mapping[str, int] = self._pieces.get_vocab()
        self._cls, self._sep = self._vocabulary["[CLS]"], self._vocabulary["[SEP]"]

    def rows(self, passages: Sequence[Passage]) -> list[Row]:
        texts = self._split([passage.text[:_TEXT_CHARS] for passage in passages])
        befores = self._split([passage.before[-_BEFORE_CHARS:] for passage in passages if passage.before])
        remaining = iter(befores)
        return [
            self._row(text, next(remaining) if passage.before else None, max(0, len(passage.before) - _BEFORE_CHARS))
            for passage, text in zip(passages, texts, strict=True)
        ]

    def stored(self, ids: Ids, mask: Ids) -> Flags:
        """Which pieces of a batch have a stored vector: not separators, punctuation or whole words to skip."""
        following = np.zeros_like(ids)
        following[:, :-1] = ids[:, 1:]
        skipped = self._never[ids] | (self._skipped[ids] & ~self._inner[following])
        return np.asarray((mask == 1) & ~skipped, dtype=np.bool_)

    def _split(self, texts: Sequence[str]) -> list[Encoding]:
        if len(texts) <= FEW:
            return [self._pieces.encode(text, add_special_tokens=False) for text in texts]
        return self._pieces.encode_batch(list(texts), add_special_tokens=False)

    def _row(self, text: Encoding, before: Encoding | None, before_start: int) -> Row:
        end = [] if before is None else before.ids[-BEFORE_TOKENS:]
        if not end:
            own = [self._cls, *text.ids[: MAX_TOKENS - 2], self._sep]
            return Row(own, len(own), text, None, 0)
        own = [self._cls, *text.ids[: MAX_TOKENS - 3 - len(end)], self._sep]
        return Row([*own, *end, self._sep], len(own), text, before, before_start)

    @cached_property
    def _never(self) -> Flags:
        """Separators, padding and pieces of punctuation only."""
        chosen = self._flags(word for word in self._vocabulary if all(map(_is_punctuation, word)))
        chosen[[self._sep, self._vocabulary["[PAD]"]]] = True
        return chosen

    @cached_property
    def _skipped(self) -> Flags:
        return self._flags(SKIPPED_WORDS)

    @cached_property
    def _inner(self) -> Flags:
        """Pieces that go on with a word."""
        return self._flags(word for word in self._vocabulary if word.startswith("##"))

    def _flags(self, words: Iterable[str]) -> Flags:
        chosen = np.zeros(len(self._vocabulary), dtype=np.bool_)
        chosen[[self._vocabulary[word] for word in words]] = True
        return chosen


def _is_punctuation(character: str) -> bool:
    return character in punctuation or unicodedata.category(character).startswith("P")
