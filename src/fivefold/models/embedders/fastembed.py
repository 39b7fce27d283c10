"""Any model of the fastembed catalogue, fetched by fastembed itself at first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fivefold.errors import EmbedderError, MissingExtra
from fivefold.models.embedders.base import Matrix, Progress, unit


class FastEmbed:
    """The model is loaded when its dimension or a vector is first needed."""

    def __init__(self, model: str) -> None:
        self._name = model
        try:
            self._version = version("fastembed")
        except PackageNotFoundError:
            raise MissingExtra(f"fastembed:{model}", "fastembed") from None

    @property
    def pin(self) -> str:
        return f"fastembed:{self._name}@{self._version.split('.')[0]}"

    @cached_property
    def dimension(self) -> int:
        return int(self.embed(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        rows = []
        for row in self._model.embed(list(texts)):
            rows.append(row)
            if progress:
                progress(1)
        return unit(np.asarray(rows, dtype=np.float32))

    @cached_property
    def _model(self) -> Any:
        from fastembed import TextEmbedding

        try:
            return TextEmbedding(model_name=self._name)
        except Exception as error:
            raise EmbedderError(f"fastembed could not load {self._name!r}: {error}") from error
