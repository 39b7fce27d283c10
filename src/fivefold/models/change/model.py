"""The model of change: four layers of MiniLM, int8, on the CPU, loaded when the first pair is read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fivefold.errors import ChangeModelError
from fivefold.models.bert import batches, session, tokenizer
from fivefold.models.change.layout import SaidPair, model_inputs, token_rows

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

FILE, WORDS = "fivefold-change.onnx", "change-vocab.txt"

BATCH_TOKENS = 1_024
"""Tokens read together, padding included."""


class Chances(NamedTuple):
    """How likely each relation of the newer memory to the older is; the three add up to one."""

    replaces: float
    continues: float
    apart: float


class ChangeModel:
    """Chances are calibrated: of pairs called a change with .7, about seven in ten are one, on unseen wordings."""

    pin = "change@1"

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def chances(self, pairs: Sequence[SaidPair]) -> list[Chances]:
        if not pairs:
            return []
        with self._loading:
            pieces, model = self._tokenizer, self._session
        rows = token_rows(pieces, pairs)
        found = np.empty((len(rows), 3), dtype=np.float32)
        for batch in batches([len(row) for row, _ in rows], BATCH_TOKENS):
            (found[batch],) = model.run(["chances"], model_inputs([rows[i] for i in batch]))
        return [Chances(*map(float, row)) for row in found]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        lines = resources.files("fivefold.models").joinpath("data", WORDS).read_text("utf-8").split("\n")
        return tokenizer(512, {word: number for number, word in enumerate(lines)})

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        try:
            with resources.as_file(resources.files("fivefold.models").joinpath("data", FILE)) as path:
                return session(path)
        except Exception as error:
            raise ChangeModelError(f"{FILE} could not be loaded; install fivefold again ({error})") from error


@cache
def change_model() -> ChangeModel:
    """One model serves the whole process."""
    return ChangeModel()
