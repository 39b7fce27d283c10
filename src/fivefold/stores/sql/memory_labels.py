"""Writing the labels of memories, by which filters on tags and metadata find them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.memory import Memory, labels_of

INSERT = "INSERT INTO memory_labels (namespace, name, value, memory) VALUES (?, ?, ?, ?)"
LABELLED = "(tags <> '[]' OR metadata <> '{}')"
"""The condition that a memory may have labels."""


def put_labels(txn: Transaction, row: int, memory: Memory) -> None:
    """Store the labels of a memory."""
    if memory.tags or memory.metadata:
        labels = labels_of(memory.tags, memory.metadata)
        txn.gather(_write, ((txn.key, name, value, row) for name, value in labels))


def _write(db: Database, rows: list[tuple[Any, ...]]) -> None:
    db.many(INSERT, rows)


def drop_labels(txn: Transaction, row: int) -> None:
    txn.write_gathered()
    txn.run("DELETE FROM memory_labels WHERE namespace = ? AND memory = ?", txn.key, row)


def label_rows(memories: Iterable[tuple[int, int, str, str]]) -> Iterable[tuple[int, str, str, int]]:
    """The rows of the table for memories given as namespace, row, tags and metadata."""
    for namespace, row, tags, metadata in memories:
        for name, value in stored_labels(tags, metadata):
            yield namespace, name, value, row


def stored_labels(tags: str, metadata: str) -> list[tuple[str, str]]:
    """The labels of a memory by its columns."""
    known: dict[str, Any] = json.loads(metadata)
    return labels_of(json.loads(tags), known)
