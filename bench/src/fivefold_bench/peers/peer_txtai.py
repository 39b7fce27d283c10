"""txtai: embeddings with content and keywords, hybrid search with its default weights; vectors by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from txtai import Embeddings


class TxtaiPeer:
    """txtai asks a function for vectors; here it looks them up by text."""

    def __init__(self, folder: Path) -> None:
        self._vectors: dict[str, Any] = {}
        self._path = folder / "index"
        self._embeddings = Embeddings(method="external", transform=self._function(), hybrid=True, content=True)
        if self._path.exists():
            self._embeddings.load(str(self._path), config={"transform": self._function()})

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        self._embeddings.index(self._rows(batches))
        del self._embeddings.config["transform"]  # a function cannot be saved
        self._embeddings.save(str(self._path))

    def _rows(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> Iterator[tuple[str, str, None]]:
        for ids, texts, vectors in batches:
            self._vectors.update(zip(texts, vectors, strict=True))
            yield from ((id, text, None) for id, text in zip(ids, texts, strict=True))

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        self._vectors[text] = vector
        return [row["id"] for row in self._embeddings.search(text, k)]

    def _function(self) -> Callable[[list[str]], Any]:
        """A plain function, since txtai calls any other object once to get one."""
        return lambda texts: np.stack([self._vectors[text] for text in texts])

    def close(self) -> None:
        self._embeddings.close()


def open_peer(folder: Path, data: Path, option: str) -> TxtaiPeer:
    return TxtaiPeer(folder)
