"""Embedders, chosen by a string.

`fivefold-minilm`, `minilm`, `wordllama`, `fastembed:NAME`, `sentence-transformers:NAME`, `openai:MODEL`,
or a name that an installed package registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module

import numpy as np

from fivefold.errors import EmbedderError
from fivefold.models.embedders.base import Embedder, Matrix, Progress, unit
from fivefold.values.plugins import plugin_by_choice

DEFAULT = "fivefold-minilm"

_BUILTIN = {
    "fivefold-minilm": ("fivefold.models.embedders.fivefold_minilm", "FivefoldMiniLM"),
    "minilm": ("fivefold.models.embedders.minilm", "MiniLM"),
    "wordllama": ("fivefold.models.embedders.wordllama", "WordLlama"),
}
_NAMED = {
    "fastembed": ("fivefold.models.embedders.fastembed", "FastEmbed"),
    "sentence-transformers": ("fivefold.models.embedders.sentence_transformers", "SentenceTransformers"),
    "openai": ("fivefold.models.embedders.openai", "OpenAI"),
}


@lru_cache(maxsize=8)
def embedder(choice: str) -> Embedder:
    """The embedder named `choice`. One object serves the whole process, so a model is loaded once."""
    family, _, model = choice.partition(":")
    if family in _BUILTIN and not model:
        return _load_class(*_BUILTIN[family])()
    if family in _NAMED and model:
        return _load_class(*_NAMED[family])(model)
    written = {name: name for name in _BUILTIN} | {name: f"{name}:NAME" for name in _NAMED}
    made: Embedder = plugin_by_choice("embedders", choice, written, Embedder)
    return made


def is_remote(choice: str) -> bool:
    """Whether using this embedder sends texts to a server."""
    return choice.startswith("openai:")


def embed_texts(model: Embedder, texts: Sequence[str]) -> Matrix:
    """One unit vector a text; an embedder that gives anything else fails with its name."""
    vectors = np.asarray(model.embed(texts), dtype=np.float32)
    shape = (len(texts), model.dimension)
    if vectors.shape != shape:
        raise EmbedderError(f"{model.pin} gave an array of shape {vectors.shape} for {len(texts)} texts, not {shape}")
    if not np.isfinite(vectors).all() or not np.linalg.norm(vectors, axis=1).all():
        raise EmbedderError(f"{model.pin} gave a vector that is zero or holds no numbers")
    return unit(vectors)


def choice_of(pin: str) -> str:
    """The choice that loads a pinned model: the pin without its version."""
    return pin.rpartition("@")[0]


def _load_class(module: str, name: str) -> Callable[..., Embedder]:
    made: Callable[..., Embedder] = getattr(import_module(module), name)
    return made


__all__ = ["DEFAULT", "Embedder", "Matrix", "Progress", "choice_of", "embedder", "is_remote", "unit", "vectors_by"]
