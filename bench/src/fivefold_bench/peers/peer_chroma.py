"""Chroma: a collection on disk, searched by vectors. Without its cloud it has no hybrid search."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import chromadb


class ChromaPeer:
    def __init__(self, folder: Path) -> None:
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings)
        self._collection = self._client.get_or_create_collection(
            "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        for ids, texts, vectors in batches:
            self._collection.add(ids=ids, documents=texts, embeddings=vectors)

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return list(found["ids"][0])

    def close(self) -> None:
        """Everything is on disk already."""


def open_peer(folder: Path, data: Path, option: str) -> ChromaPeer:
    return ChromaPeer(folder)
