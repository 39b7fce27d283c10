"""fivefold-minilm: all-MiniLM-L6-v2 tuned for memories, as a true int8 graph. Offline, the default.

One pass gives the vector of a passage, of 384 dimensions, and one of 64 for each of its tokens. The end of what was
said before is read along; it is not part of the passage's vector, but its tokens have vectors too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import punctuation
from unicodedata import category

import numpy as np
import numpy.typing as npt

from fivefold.models.bert import MAX_TOKENS, Ids, Session, ShippedModel, row_inputs, word_pieces
from fivefold.models.embedders import Matrix, Progress, pack, unit
from fivefold.text.lexemes import text_cache
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span

SKIPPED_WORDS = tuple(
    "a an the of in on at to for from with by about into onto over under as than per via through during between within "
    "upon toward towards and or but nor so if because while although though unless whether am is are was were be been "
    "being do does did have has had having would can could shall should might must it its itself this that these those "
    "there here s t m ll re ve just also too very really then".split()
)
"""Words without a token vector of their own: they join other words and answer no question by themselves."""

BEFORE_TOKENS = 24
"""Word pieces at the end of what was said before that are read along; the model is trained with this many."""

_TEXT_CHARS = 16 * MAX_TOKENS
"""Characters of a text that are split at all; what lies beyond is cut anyway."""
_BEFORE_CHARS = 16 * BEFORE_TOKENS
_NOWHERE = (0, 0)

Flags = npt.NDArray[np.bool_]


@text_cache(1_024)
def _ids_of(text: str) -> list[int]:
    return word_pieces().ids(text)


@text_cache(1_024)
def _spans_of(text: str) -> list[Span]:
    return word_pieces().spans(text)


@dataclass(frozen=True, slots=True)
class Row:
    """A model's input: `[CLS] text [SEP] before [SEP]`, or `[CLS] text [SEP]` if nothing was said before."""

    ids: Sequence[int]
    own: int
    """Number of pieces that are the passage's own."""
    passage: Passage

    @property
    def spans(self) -> tuple[Span, ...]:
        """The characters of each piece, in the passage's text or in the text before."""
        text, before = self.passage.text[:_TEXT_CHARS], self.passage.before[-_BEFORE_CHARS:]
        spans = [_NOWHERE, *_spans_of(text)[: self.own - 2], _NOWHERE]
        if len(self.ids) > self.own:
            start = len(self.passage.before) - len(before)
            ends = _spans_of(before)[-BEFORE_TOKENS:]
            spans += [*((start + first, start + end) for first, end in ends), _NOWHERE]
        return tuple(spans)


class PassageTokenizer:
    """Splits passages into rows of word pieces."""

    def __init__(self) -> None:
        self._pieces = word_pieces()
        self._vocabulary = self._pieces.vocabulary

    def rows(self, passages: Sequence[Passage]) -> list[Row]:
        pieces, rows = self._pieces, []
        for passage in passages:
            end = _ids_of(passage.before[-_BEFORE_CHARS:])[-BEFORE_TOKENS:]
            room = MAX_TOKENS - 3 - len(end) if end else MAX_TOKENS - 2
            own = [pieces.cls, *_ids_of(passage.text[:_TEXT_CHARS])[:room], pieces.sep]
            rows.append(Row([*own, *end, pieces.sep] if end else own, len(own), passage))
        return rows

    def stored(self, ids: Ids, mask: Ids) -> Flags:
        """Marks the pieces of a batch that have a stored vector: not separators, punctuation or whole words to skip."""
        following = np.zeros_like(ids)
        following[:, :-1] = ids[:, 1:]
        skipped = self._never[ids] | (self._skipped[ids] & ~self._inner[following])
        return np.asarray((mask == 1) & ~skipped, dtype=np.bool_)

    @cached_property
    def _never(self) -> Flags:
        """Separators, padding and pieces of punctuation only."""
        signs = [word for word in self._vocabulary if not word[0].isalnum()]
        marks = (word for word in signs if all(c in punctuation or category(c)[0] == "P" for c in word))
        chosen = self._flags(marks)
        chosen[[self._pieces.sep, self._vocabulary["[PAD]"]]] = True
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


FILE = "fivefold-minilm.onnx"


class FivefoldMiniLM(ShippedModel):
    """Reads up to 256 word pieces at once; longer texts are cut, so they come in passages."""

    pin = "fivefold-minilm@3"
    dimension = 384
    file = FILE

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        pieces, model = self._loaded()
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        rows = pieces.rows([Passage(text) for text in texts])
        for place, (vector,) in model.run_each(["vector"], list(map(_inputs, rows))):
            out[place] = vector[0]
            if progress:
                progress(1)
        return unit(out)

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        pieces, model = self._loaded()
        inputs = list(map(_inputs, pieces.rows(passages)))
        read: dict[int, Reading] = {}
        for place, (vector, tokens) in model.run_each(["vector", "tokens"], inputs):
            stored = pieces.stored(inputs[place]["input_ids"], inputs[place]["attention_mask"])
            read[place] = Reading(unit(vector)[0], pack(tokens[stored]))
            if progress:
                progress(1)
        return [read[place] for place in range(len(passages))]

    def read_question(self, question: str) -> QuestionReading:
        pieces, model = self._loaded()
        (row,) = pieces.rows([Passage(question)])
        vectors, tokens, weights = model.run(["vector", "tokens", "weights"], _inputs(row))
        return QuestionReading(
            unit(vectors)[0], unit(tokens[0]), np.asarray(weights[0] / weights[0].sum(), dtype=np.float32), row.spans
        )

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        pieces, _ = self._loaded()
        (row,) = pieces.rows([passage])
        ids = np.array([row.ids], dtype=np.int64)
        chosen = np.flatnonzero(pieces.stored(ids, np.ones_like(ids))[0])
        spans = row.spans
        return [(spans[i], bool(i >= row.own)) for i in chosen]

    def _loaded(self) -> tuple[PassageTokenizer, Session]:
        return self._tokenizer, self.load()[1]

    @cached_property
    def _tokenizer(self) -> PassageTokenizer:
        return PassageTokenizer()


def _inputs(row: Row) -> dict[str, Ids]:
    """The row as the graph takes it."""
    inputs = row_inputs(row.ids, row.own)
    inputs["own"] = 1 - inputs.pop("token_type_ids")
    return inputs
