"""Cross-encoders of sentence-transformers and fastembed, for those who can reach a model hub."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fivefold.errors import MissingExtra, RerankerError
from fivefold.values.reading import Passage


class _Packaged:
    """A model that a package loads by name."""

    package = ""

    def __init__(self, model: str) -> None:
        self._name = model
        try:
            self._version = version(self.package)
        except PackageNotFoundError:
            raise MissingExtra(f"{self.package}:{model}", self.package) from None

    @property
    def pin(self) -> str:
        return f"{self.package}:{self._name}@{self._version.split('.')[0]}"

    def _fail(self, error: Exception) -> RerankerError:
        return RerankerError(f"{self.package} could not load {self._name!r}: {error}")


class SentenceTransformersReranker(_Packaged):
    """Scores come out of a sigmoid, in 0..1."""

    package = "sentence-transformers"

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        scores = np.asarray(
            self._model.predict([(question, passage.joined) for passage in passages], show_progress_bar=False)
        )
        inside = bool(((scores >= 0) & (scores <= 1)).all())
        return [float(value) for value in (scores if inside else _sigmoid(scores))]

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import CrossEncoder

        try:
            return CrossEncoder(self._name)
        except Exception as error:
            raise self._fail(error) from error


class FastEmbedReranker(_Packaged):
    """Scores are logits, squashed into 0..1."""

    package = "fastembed"

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        return [
            float(value)
            for value in _sigmoid(
                np.array(list(self._model.rerank(question, [passage.joined for passage in passages])))
            )
        ]

    @cached_property
    def _model(self) -> Any:
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        try:
            return TextCrossEncoder(model_name=self._name)
        except Exception as error:
            raise self._fail(error) from error


def _sigmoid(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))
