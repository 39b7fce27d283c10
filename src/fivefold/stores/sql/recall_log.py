"""The log of recalls: written a few dozen at a time, since each write makes every reader look again."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence

from fivefold.learning.adaptation import signals_of
from fivefold.learning.features import packed
from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.rows import compact
from fivefold.values.recall import Recall
from fivefold.values.times import to_micros

KEPT = 10_000
"""How many recalls without feedback a namespace's log keeps."""

TOGETHER = 64
"""How many recalls are logged in one go."""

PATIENCE_MS = 5_000
"""How long a look at the log waits for another writer; a recall itself never does."""

Row = tuple[int, str, int, str, str, str, bytes, str | None]


def row_of(key: int, recall: Recall) -> Row:
    returned = [[hit.memory.id, hit.rank, round(hit.score, 6)] for hit in recall.hits]
    at, recipe, text = to_micros(recall.query.now), recall.plan.recipe, recall.query.text
    return key, recall.id, at, recipe, text, compact(returned), packed(recall), _signals(recall)


def _signals(recall: Recall) -> str | None:
    found = signals_of(recall)
    return None if found is None else compact(found)


def write_row(db: Database, row: Row) -> None:
    db.run(
        "INSERT INTO recalls (namespace, id, at, recipe, query, returned, features, signals) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        row,
    )


def write_rows(db: Database, key: int, rows: list[Row]) -> None:
    """Log recalls of one namespace, and let the oldest without feedback go."""
    for row in rows:
        write_row(db, row)
    db.run(
        "DELETE FROM recalls WHERE namespace = ?1 AND id < "
        "(SELECT r.id FROM recalls r WHERE r.namespace = ?1 ORDER BY r.id DESC LIMIT 1 OFFSET ?2) "
        "AND id NOT IN (SELECT f.recall FROM feedback f WHERE f.namespace = ?1)",
        (key, KEPT),
    )


class RecallLog:
    """Best effort: a kill may lose the last few. `used` writes the recall it speaks of for sure."""

    def __init__(self, write: Callable[[dict[int, list[Row]], int], bool]) -> None:
        """`write` logs rows by namespace, waiting so many milliseconds for others; false when it must be later."""
        self._write = write
        self._waiting: deque[Row] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        """Held for a moment, to look at what waits or to change it."""
        self._writing = threading.Lock()
        """Held while the log is written, which may take as long as the disk does."""

    def add(self, key: int, recall: Recall) -> None:
        row = row_of(key, recall)
        with self._lock:
            self._waiting.append(row)
            many = len(self._waiting) % TOGETHER == 0
        if many and self._writing.acquire(blocking=False):
            try:
                self._write_waiting(patience_ms=0)
            finally:
                self._writing.release()

    def returned(self, key: int, recall_id: str) -> tuple[str, ...] | None:
        """What a recall that still waits to be written had returned."""
        row = self._row(key, recall_id)
        return None if row is None else tuple(item[0] for item in json.loads(row[5]))

    def signals(self, key: int, recall_id: str) -> str | None:
        """What a recall that still waits to be written had weighed."""
        row = self._row(key, recall_id)
        return None if row is None else row[7]

    def forget(self, key: int, memories: Sequence[str]) -> None:
        """What waits and had returned one of these memories is not written any more."""
        gone = [compact(memory) for memory in memories]
        with self._writing:
            self._keep(lambda row: row[0] != key or not any(id in row[5] for id in gone))

    def flush(self) -> None:
        """Write what waits; while another writer is at work it waits on."""
        with self._writing:
            self._write_waiting(PATIENCE_MS)

    def _write_waiting(self, patience_ms: int) -> None:
        with self._lock:
            waiting = list(self._waiting)
        by_namespace: dict[int, list[Row]] = {}
        for row in waiting:
            by_namespace.setdefault(row[0], []).append(row)
        if waiting and self._write(by_namespace, patience_ms):
            written = {row[:2] for row in waiting}
            self._keep(lambda row: row[:2] not in written)

    def _keep(self, wanted: Callable[[Row], bool]) -> None:
        with self._lock:
            self._waiting = deque(filter(wanted, self._waiting), maxlen=KEPT)

    def _row(self, key: int, recall_id: str) -> Row | None:
        with self._lock:
            return next((row for row in self._waiting if row[0] == key and row[1] == recall_id), None)
