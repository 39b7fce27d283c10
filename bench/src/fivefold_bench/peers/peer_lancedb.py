"""LanceDB: a table with a full-text index, hybrid search with its default reranker (RRF)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.index import FTS


class LancePeer:
    """No vector index: LanceDB's documentation advises one from some hundred thousand vectors on."""

    def __init__(self, folder: Path) -> None:
        self._database = lancedb.connect(str(folder))
        self._table: Any = None

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        for ids, texts, vectors in batches:
            columns = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
            rows = pa.table({"id": pa.array(ids), "text": pa.array(texts), "vector": columns})
            if self._table is None:
                self._table = self._database.create_table("memories", rows)
            else:
                self._table.add(rows)
        self._table.optimize()
        self._table.create_index("text", config=FTS())

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        if self._table is None:
            self._table = self._database.open_table("memories")
        search = self._table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine")
        return [row["id"] for row in search.limit(k).to_list()]

    def close(self) -> None:
        """Everything is on disk already."""


def open_peer(folder: Path, data: Path, option: str) -> LancePeer:
    return LancePeer(folder)
