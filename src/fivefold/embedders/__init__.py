"""Embedders, chosen by a string.

`minilm`, `wordllama`, `fastembed:NAME`, `sentence-transformers:NAME`, `openai:MODEL`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from fivefold.embedders.base import Embedder, Matrix, Progress, unit
from fivefold.errors import InvalidInput

DEFAULT = "minilm"

_BUILTIN = {
    "minilm": ("fivefold.embedders.minilm", "MiniLM"),
    "wordllama": ("fivefold.embedders.wordllama", "WordLlama"),
}
_NAMED = {
    "fastembed": ("fivefold.embedders.fastembed", "FastEmbed"),
    "sentence-transformers": ("fivefold.embedders.sentence_transformers", "SentenceTransformers"),
    "openai": ("fivefold.embedders.openai", "OpenAI"),
}


@lru_cache(maxsize=8)
def embedder(choice: str) -> Embedder:
    """The embedder named `choice`. One object serves the whole process, so a model is loaded once."""
    family, _, model = choice.partition(":")
    if family in _BUILTIN and not model:
        return _made(*_BUILTIN[family])()
    if family in _NAMED and model:
        return _made(*_NAMED[family])(model)
    raise InvalidInput(
        f"unknown embedder {choice!r}; known are {', '.join(_BUILTIN)}, "
        + ", ".join(f"{family}:NAME" for family in _NAMED)
    )


def choice_of(pin: str) -> str:
    """The choice that loads a pinned model: the pin without its version."""
    return pin.rpartition("@")[0]


def _made(module: str, name: str) -> Callable[..., Embedder]:
    made: Callable[..., Embedder] = getattr(import_module(module), name)
    return made


__all__ = ["DEFAULT", "Embedder", "Matrix", "Progress", "choice_of", "embedder", "unit"]
