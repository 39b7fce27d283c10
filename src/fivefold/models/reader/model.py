"""The reader: four layers of MiniLM over two texts, int8, on the CPU, loaded when the first pair is read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fivefold.errors import EmbedderError, ReaderError
from fivefold.models.bert import Session, session, tokenizer
from fivefold.models.reader.layout import Said, SaidPair, model_inputs, token_rows
from fivefold.models.shipped import load_shipped, shipped_lines
from fivefold.values.vectors import Matrix, Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE, WORDS = "fivefold-reader.onnx", "reader-vocab.txt"

QUESTION = "question"
"""Who speaks the first text, where it is a question about the second."""

BATCH_TOKENS = 1_024
"""Tokens read together, padding included."""


class Chances(NamedTuple):
    """How likely each relation of the newer memory to the older is; the three add up to one."""

    replaces: float
    continues: float
    apart: float


class PairReader:
    """Reads two texts together: what a newer memory does to an older one, and whether a memory answers a question."""

    pin = "reader@3"

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def relations(self, pairs: Sequence[SaidPair]) -> list[Chances]:
        """Calibrated: of pairs called a change with .7, about seven in ten are one, on unseen wordings."""
        return [Chances(*map(float, row)) for row in self._read(pairs, "chances", 3)]

    def answers(self, question: str, memories: Sequence[Said]) -> Vector:
        """The log-odds of each memory that it answers, from its text alone."""
        asked = Said(question, QUESTION)
        return self._read([SaidPair(asked, memory) for memory in memories], "answers", 1)[:, 0]

    def _read(self, pairs: Sequence[SaidPair], output: str, width: int) -> Matrix:
        found = np.empty((len(pairs), width), dtype=np.float32)
        if not pairs:
            return found
        with self._loading:
            pieces, model = self._tokenizer, self._session
        rows = token_rows(pieces, pairs)
        lengths = [len(row) for row, _ in rows]
        for batch in model.run_rows([output], rows, lengths, BATCH_TOKENS, model_inputs):
            (found[batch.rows],) = batch.found
        return found

    def load(self) -> None:
        """Load the model now and not with the first pair."""
        with self._loading:
            _ = self._tokenizer, self._session

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        try:
            lines = shipped_lines(WORDS)
        except EmbedderError as error:
            raise ReaderError(str(error)) from error
        return tokenizer(512, {word: number for number, word in enumerate(lines)})

    @cached_property
    def _session(self) -> Session:
        try:
            return load_shipped(FILE, session)
        except Exception as error:
            raise ReaderError(f"{FILE} could not be loaded; install fivefold again ({error})") from error


@cache
def pair_reader() -> PairReader:
    """One model serves the whole process."""
    return PairReader()
