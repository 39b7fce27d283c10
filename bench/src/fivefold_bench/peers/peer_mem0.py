"""mem0 without a language model: texts as they are, Qdrant in a folder, vectors and BM25 scored together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fastembed import SparseTextEmbedding
from mem0 import Memory

USER = "bench"
COMMON = set(
    "a about after all an and any are as at be been but by can did do does for from had has have he her him his how "
    "i if in into is it its me my no not of on or our she so than that the their them then there they this to was we "
    "were what when where which who why will with would you your".split()
)
"""The words that BM25 leaves out; mem0 would fetch such a list from a model hub."""


class ReadyVectors:
    """Vectors for mem0, looked up by text."""

    def __init__(self) -> None:
        self.vectors: dict[str, Any] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector: list[float] = self.vectors[text].tolist()
        return vector


class Mem0Peer:
    """mem0 writes one memory at a time."""

    def __init__(self, folder: Path, data: Path) -> None:
        key = {"api_key": "none"}  # the models that mem0 wants to have are never called
        store = {"path": str(folder / "qdrant"), "embedding_model_dims": 384, "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "openai", "config": key},
                "llm": {"provider": "openai", "config": key},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._ready = ReadyVectors()
        self._memory.embedding_model = self._ready
        words = SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(data), stopwords=COMMON)
        self._memory.vector_store._bm25_encoder = words

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        for ids, texts, vectors in batches:
            self._ready.vectors = dict(zip(texts, vectors, strict=True))
            for id, text in zip(ids, texts, strict=True):
                self._memory.add(text, user_id=USER, infer=False, metadata={"key": id})

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        self._ready.vectors = {text: vector}
        found = self._memory.search(text, filters={"user_id": USER}, top_k=k)["results"]
        return [item["metadata"]["key"] for item in found]

    def close(self) -> None:
        self._memory.vector_store.client.close()


def open_peer(folder: Path, data: Path, option: str) -> Mem0Peer:
    return Mem0Peer(folder, data)
