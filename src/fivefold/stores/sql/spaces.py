"""The rows of vector spaces."""

from __future__ import annotations

from typing import Any

from fivefold.stores.protocol import VectorSpace

SPACE_COLUMNS = "key, embedder, dimension, tokens"


def space_of(row: tuple[Any, ...]) -> VectorSpace:
    """The space of a row that begins with `SPACE_COLUMNS`."""
    key, embedder, dimension, tokens = row[:4]
    return VectorSpace(key, embedder, dimension, bool(tokens))
