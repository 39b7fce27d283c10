"""A small model that reads two texts: whether a newer memory replaces an older one, and whether one answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from fivefold.errors import FivefoldError, ReaderError
from fivefold.models.bert import ShippedModel, WordPieces, row_inputs
from fivefold.values.vectors import Matrix, Vector

MAX_TEXT_TOKENS = 72
"""Word pieces read of each text."""

MAX_PIECE_CHARACTERS = 12
"""Characters a word piece may have on average; what lies beyond is not worth tokenising."""

ASSISTANT = frozenset({"assistant", "agent", "ai", "bot", "model", "system"})


@dataclass(frozen=True, slots=True)
class Remark:
    """A text and who says it; an empty speaker is the user."""

    text: str
    speaker: str = ""

    @property
    def by_assistant(self) -> bool:
        return self.speaker.strip().lower() in ASSISTANT

    @property
    def line(self) -> str:
        """The text after its speaker, as the model reads it."""
        speaker = "assistant" if self.by_assistant else self.speaker.strip().lower() or "user"
        return f"{speaker}: {self.text[: MAX_PIECE_CHARACTERS * MAX_TEXT_TOKENS]}"


@dataclass(frozen=True, slots=True)
class SaidPair:
    """Two memories in the order they were said, or a question and a memory."""

    older: Remark
    newer: Remark


def token_rows(pieces: WordPieces, pairs: Sequence[SaidPair]) -> list[tuple[list[int], int]]:
    """Builds a row for each pair, `[CLS] older [SEP] newer [SEP]`, with the start of the newer; equal texts are split
    once."""
    lines = dict.fromkeys(said.line for pair in pairs for said in (pair.older, pair.newer))
    ids = {line: pieces.ids(line)[:MAX_TEXT_TOKENS] for line in lines}
    rows = []
    for pair in pairs:
        older, newer = ids[pair.older.line], ids[pair.newer.line]
        rows.append(([pieces.cls, *older, pieces.sep, *newer, pieces.sep], len(older) + 2))
    return rows


FILE, WORDS = "fivefold-reader.onnx", "reader-vocab.txt"

QUESTION = "question"
"""Speaker of the first text if it is a question about the second."""


class Chances(NamedTuple):
    """The chance of each relation of the newer memory to the older; the three add up to one."""

    replaces: float
    continues: float
    apart: float


class PairReader(ShippedModel):
    """Reads two texts together: what a newer memory does to an older one, and whether a memory answers a question."""

    pin = "reader@3"
    file: str = FILE
    words: str = WORDS
    error: type[FivefoldError] = ReaderError

    def relations(self, pairs: Sequence[SaidPair]) -> list[Chances]:
        """Calibrated: of pairs called a change with .7, about seven in ten are one, on unseen wordings."""
        return [Chances(*map(float, row)) for row in self._read(pairs, "chances", 3)]

    def answers(self, question: str, memories: Sequence[Remark]) -> Vector:
        """The log-odds of each memory that it answers, from its text alone."""
        asked = Remark(question, QUESTION)
        return self._read([SaidPair(asked, memory) for memory in memories], "answers", 1)[:, 0]

    def _read(self, pairs: Sequence[SaidPair], output: str, width: int) -> Matrix:
        found = np.empty((len(pairs), width), dtype=np.float32)
        if not pairs:
            return found
        pieces, model = self.load()
        rows = [row_inputs(*row) for row in token_rows(pieces, pairs)]
        for place, (given,) in model.run_each([output], rows):
            found[place] = given[0]
        return found


@cache
def pair_reader() -> PairReader:
    """One model serves the whole process."""
    return PairReader()
