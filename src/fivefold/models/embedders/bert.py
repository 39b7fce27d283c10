"""What the embedders of the BERT family share: batches of word pieces in, unit vectors out."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fivefold.models.bert import BATCH_TOKENS, MAX_TOKENS, batches, tokenizer
from fivefold.models.embedders.base import Matrix, Progress, unit

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding, Tokenizer


class BertEmbedder:
    """Unit vectors. Texts over 256 word pieces are cut; the lexical index still holds all of them."""

    pin = ""
    dimension = 384

    def __init__(self) -> None:
        self._loading = threading.Lock()

    @abstractmethod
    def _model(self) -> onnxruntime.InferenceSession: ...

    @abstractmethod
    def _vectors(self, model: onnxruntime.InferenceSession, encoded: Sequence[Encoding]) -> Matrix: ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        with self._loading:
            pieces, model = self._tokenizer, self._session
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        encoded = pieces.encode_batch(list(texts))
        for batch in batches([len(item.ids) for item in encoded], BATCH_TOKENS):
            out[batch] = self._vectors(model, [encoded[i] for i in batch])
            if progress:
                progress(len(batch))
        return unit(out)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer(MAX_TOKENS)

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return self._model()
