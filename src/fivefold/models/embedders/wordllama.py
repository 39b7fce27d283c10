"""WordLlama: 256-dimension word vectors, a tenth of a millisecond a text, no transformer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fivefold.errors import MissingExtra
from fivefold.models.embedders.base import Matrix, Progress, unit


class WordLlama:
    """The vectors shipped inside the wordllama package; nothing is downloaded."""

    dimension = 256

    def __init__(self) -> None:
        self._spec = find_spec("wordllama")
        if self._spec is None:
            raise MissingExtra("the wordllama embedder", "wordllama")

    @cached_property
    def pin(self) -> str:
        """Looked up once: the metadata of an installed package is a text that must be parsed."""
        return f"wordllama@{version('wordllama').split('.post')[0]}"

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        vectors = np.asarray(self._model.embed(list(texts)), dtype=np.float32)
        if progress:
            progress(len(texts))
        return unit(vectors)

    @cached_property
    def _model(self) -> Any:
        from wordllama import WordLlama as Model

        assert self._spec is not None
        assert self._spec.origin is not None
        return Model.load(cache_dir=Path(self._spec.origin).parent, dim=self.dimension, disable_download=True)
