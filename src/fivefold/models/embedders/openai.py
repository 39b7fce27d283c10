"""Any embeddings endpoint of the OpenAI shape; set OPENAI_BASE_URL and OPENAI_API_KEY."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fivefold.errors import EmbedderError
from fivefold.models.embedders.base import Matrix, Progress, unit
from fivefold.models.remote import RemoteError, post

_BATCH = 128


class OpenAI:
    """Texts leave this machine, which is why it must be asked for by name."""

    def __init__(self, model: str) -> None:
        self._model = model

    @property
    def pin(self) -> str:
        return f"openai:{self._model}@1"

    @cached_property
    def dimension(self) -> int:
        return int(self.embed(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        rows: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            rows += self._vectors(batch)
            if progress:
                progress(len(batch))
        if len(set(map(len, rows))) > 1:
            raise EmbedderError(f"openai:{self._model} gave vectors of different lengths")
        return unit(np.asarray(rows, dtype=np.float32).reshape(len(rows), -1 if rows else 0))

    def _vectors(self, batch: list[str]) -> list[list[float]]:
        try:
            answer = post("/embeddings", {"model": self._model, "input": batch})
            data = sorted(answer["data"], key=lambda item: item["index"])
            vectors = [list(map(float, item["embedding"])) for item in data]
        except (RemoteError, KeyError, TypeError, ValueError) as error:
            raise EmbedderError(f"openai:{self._model} gave no vectors: {error}") from error
        if len(vectors) != len(batch):
            raise EmbedderError(f"openai:{self._model} gave {len(vectors)} vectors for {len(batch)} texts")
        return vectors
