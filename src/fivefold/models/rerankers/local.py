"""Our own cross-encoder: a shallow MiniLM that reads question and memory together, int8, on the CPU (F5, E4)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError, RerankerError
from fivefold.models.bert import Session, session, tokenizer
from fivefold.models.shipped import load_shipped
from fivefold.values.reading import Passage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "fivefold-reranker.onnx"

QUESTION, TEXT, BEFORE = 40, 96, 16
"""Word pieces read of each: the first of question and text, the last of the turn before."""

PIECE = 12
"""Characters a word piece may have on average; what lies beyond is not worth tokenising."""

BATCH_TOKENS = 512
"""Tokens read together, padding included."""

CLS, SEP = 101, 102

Ids = npt.NDArray[np.int64]


class Local:
    """Scores are calibrated: of passages scored .7, about seven in ten answered, on data it was not trained on."""

    pin = "local@1"

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        with self._loading:
            pieces, model = self._tokenizer, self._session
        end = monotonic() + timeout_s
        rows, start = token_rows(pieces, question, passages)
        scores, left = np.empty(len(rows), dtype=np.float32), len(rows)
        lengths, inputs_of = [len(row) for row in rows], partial(model_inputs, start=start)
        for batch in model.run_rows(["score"], rows, lengths, BATCH_TOKENS, inputs_of):
            (scores[batch.rows],) = batch.found
            left -= len(batch.rows)
            if left and monotonic() > end:
                raise RerankerError(f"{self.pin} had not read {len(rows)} memories after {timeout_s:g} s")
        return [float(score) for score in scores]

    def load(self) -> None:
        """Load the model now and not with the first question."""
        with self._loading:
            _ = self._tokenizer, self._session

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        try:
            return tokenizer(512)
        except EmbedderError as error:
            raise RerankerError(str(error)) from error

    @cached_property
    def _session(self) -> Session:
        try:
            return load_shipped(FILE, session)
        except Exception as error:
            raise RerankerError(f"{FILE} could not be loaded; install fivefold again ({error})") from error


def token_rows(pieces: Tokenizer, question: str, passages: Sequence[Passage]) -> tuple[list[list[int]], int]:
    """A row a passage, `[CLS] question [SEP] memory [SEP] end of what came before [SEP]`, and where memories begin."""
    question_ids = pieces.encode(question, add_special_tokens=False).ids[:QUESTION]
    texts = pieces.encode_batch([passage.text[: PIECE * TEXT] for passage in passages], add_special_tokens=False)
    befores = pieces.encode_batch([passage.before[-PIECE * BEFORE :] for passage in passages], add_special_tokens=False)
    rows = []
    for memory, before in zip(texts, befores, strict=True):
        end = [*before.ids[-BEFORE:], SEP] if before.ids else []
        rows.append([CLS, *question_ids, SEP, *memory.ids[:TEXT], SEP, *end])
    return rows, len(question_ids) + 2


def model_inputs(rows: Sequence[Sequence[int]], start: int) -> dict[str, Ids]:
    """A batch side by side: ids, mask, and 1 where the memory stands."""
    width = max(map(len, rows))
    ids, mask, parts = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
        parts[i, start : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": parts}
