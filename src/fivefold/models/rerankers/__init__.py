"""Rerankers, chosen by a string.

`local`, `sentence-transformers:NAME`, `fastembed:NAME`, `voyage:MODEL`, `cohere:MODEL`, `jina:MODEL`.
"""

from __future__ import annotations

from functools import lru_cache

from fivefold.errors import InvalidInput
from fivefold.models.rerankers.base import Passage, Reranker


@lru_cache(maxsize=8)
def reranker(choice: str) -> Reranker:
    """The reranker named `choice`; one object serves the whole process, so a model is loaded once."""
    family, _, model = choice.partition(":")
    if choice == "local":
        from fivefold.models.rerankers.local import Local

        return Local()
    if model and family == "sentence-transformers":
        from fivefold.models.rerankers.packages import SentenceTransformersReranker

        return SentenceTransformersReranker(model)
    if model and family == "fastembed":
        from fivefold.models.rerankers.packages import FastEmbedReranker

        return FastEmbedReranker(model)
    if model and family in {"voyage", "cohere", "jina"}:
        from fivefold.models.rerankers.hosted import Hosted

        return Hosted(family, model)
    raise InvalidInput(
        f"unknown reranker {choice!r}; known are local, sentence-transformers:NAME, fastembed:NAME, "
        "voyage:MODEL, cohere:MODEL, jina:MODEL"
    )


__all__ = ["Passage", "Reranker", "reranker"]
