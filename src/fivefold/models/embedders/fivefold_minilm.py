"""fivefold-minilm: all-MiniLM-L6-v2 tuned for memories, as a true int8 graph. Offline, 384 dimensions, the default."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from fivefold.errors import EmbedderError
from fivefold.models.bert import pad, session
from fivefold.models.embedders.base import Matrix
from fivefold.models.embedders.bert import BertEmbedder

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding

FILE = "fivefold-minilm.onnx"


class FivefoldMiniLM(BertEmbedder):
    """Pooled inside the graph."""

    pin = "fivefold-minilm@1"

    def _model(self) -> onnxruntime.InferenceSession:
        try:
            with resources.as_file(resources.files("fivefold.models").joinpath("data", FILE)) as path:
                return session(path)
        except Exception as error:
            raise EmbedderError(f"{FILE} could not be loaded; install fivefold again ({error})") from error

    def _vectors(self, model: onnxruntime.InferenceSession, encoded: Sequence[Encoding]) -> Matrix:
        ids, mask, _ = pad(encoded)
        (vectors,) = model.run(["vector"], {"input_ids": ids, "attention_mask": mask})
        return np.asarray(vectors, dtype=np.float32)
