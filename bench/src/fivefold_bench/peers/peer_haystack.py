"""Haystack: its document store in memory, BM25 and vectors joined by reciprocal rank fusion, as its tutorial does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore


class HaystackPeer:
    """The store lives in memory; between two processes it is a file of JSON."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "documents.json"
        saved = self._path.exists()
        self._store = (
            InMemoryDocumentStore.load_from_disk(str(self._path))
            if saved
            else InMemoryDocumentStore(embedding_similarity_function="cosine")
        )
        self._words = InMemoryBM25Retriever(self._store)
        self._vectors = InMemoryEmbeddingRetriever(self._store)
        self._joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion")

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        for ids, texts, vectors in batches:
            rows = zip(ids, texts, vectors.tolist(), strict=True)
            self._store.write_documents([Document(id=id, content=text, embedding=row) for id, text, row in rows])
        self._store.save_to_disk(str(self._path))

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        words = self._words.run(query=text, top_k=2 * k)["documents"]
        near = self._vectors.run(query_embedding=vector.tolist(), top_k=2 * k)["documents"]
        return [document.id for document in self._joiner.run(documents=[words, near], top_k=k)["documents"]]

    def close(self) -> None:
        """Nothing to do: writes are already on disk."""


def open_peer(folder: Path, data: Path, option: str) -> HaystackPeer:
    return HaystackPeer(folder)
