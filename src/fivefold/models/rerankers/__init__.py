"""Rerankers, chosen by a string.

`local`, `sentence-transformers:NAME`, `fastembed:NAME`, `voyage:MODEL`, `cohere:MODEL`, `jina:MODEL`,
or a name that an installed package registers.
"""

from __future__ import annotations

from functools import lru_cache

from fivefold.models.rerankers.base import Reranker
from fivefold.values.plugins import plugin_by_choice
from fivefold.values.reading import Passage

_BUILTIN = {
    "local": "local",
    "sentence-transformers": "sentence-transformers:NAME",
    "fastembed": "fastembed:NAME",
    "voyage": "voyage:MODEL",
    "cohere": "cohere:MODEL",
    "jina": "jina:MODEL",
}
"""Each family, and how a model of it is named."""


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
    plugin: Reranker = plugin_by_choice("rerankers", choice, _BUILTIN, Reranker)
    return plugin


__all__ = ["Passage", "Reranker", "reranker"]
