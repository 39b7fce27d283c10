"""The columns of a memory in a statement, and memories from the rows of one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fivefold.stores.rows import MEMORY_COLUMNS, memory_of
from fivefold.values.entities import Extraction, extraction_of
from fivefold.values.memory import Memory

COLUMNS = ", ".join(MEMORY_COLUMNS)
ID_ONLY = ", ".join(name if name in ("row", "id") else "NULL" for name in MEMORY_COLUMNS)
"""As wide as a memory, with nothing but its row and its id."""
WRITTEN = ", ".join(name for name in MEMORY_COLUMNS if name != "row")
"""The columns of a memory that are written, in the order of `values_of`."""


def memories_of(namespace: str, rows: Iterable[tuple[Any, ...]]) -> list[Memory]:
    """Memories from rows of `COLUMNS`."""
    return [memory_of(namespace, columns) for columns in rows]


def with_extractions(namespace: str, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Memory, Extraction]]:
    """Memories with their extraction, from rows of `COLUMNS` and `extracted`."""
    memories = [(memory_of(namespace, columns[:-1]), columns[-1]) for columns in rows]
    return [(memory, extraction_of(memory, json.loads(extracted))) for memory, extracted in memories]
