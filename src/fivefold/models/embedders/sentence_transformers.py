"""Any sentence-transformers model, by hub name or local folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fivefold.errors import EmbedderError, MissingExtra
from fivefold.models.embedders.base import Matrix, Progress, unit

_BATCH = 64


class SentenceTransformers:
    """The model is loaded when its dimension or a vector is first needed."""

    def __init__(self, model: str) -> None:
        self._name = model
        try:
            self._version = version("sentence-transformers")
        except PackageNotFoundError:
            raise MissingExtra(f"sentence-transformers:{model}", "sentence-transformers") from None

    @property
    def pin(self) -> str:
        return f"sentence-transformers:{self._name}@{self._version.split('.')[0]}"

    @cached_property
    def dimension(self) -> int:
        return int(self.embed(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        parts = []
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            parts.append(self._model.encode(batch, show_progress_bar=False))
            if progress:
                progress(len(batch))
        return unit(np.concatenate(parts).astype(np.float32))

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(self._name)
        except Exception as error:
            raise EmbedderError(f"sentence-transformers could not load {self._name!r}: {error}") from error
