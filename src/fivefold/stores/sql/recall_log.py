"""The log of recalls: written a few dozen at a time, since each write makes every reader's cache stale."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence

from fivefold.stores.protocol import LoggedRecall
from fivefold.stores.rows import compact
from fivefold.stores.sql.dialect import Database
from fivefold.values.times import to_micros

MOST_LOGGED = 10_000
"""How many recalls without feedback a namespace's log keeps."""

BATCH = 64
"""How many recalls are written in one transaction."""

PATIENCE_MS = 5_000
"""How long reading the log waits for another writer; a recall itself never does."""

Row = tuple[int, str, int, str, str, str, bytes, str | None]


def row_of(key: int, recall: LoggedRecall) -> Row:
    """A row of `recalls`."""
    returned = compact([[hit.memory_id, hit.rank, hit.score] for hit in recall.returned])
    at = to_micros(recall.at)
    return key, recall.id, at, recall.recipe, recall.question, returned, recall.features, recall.signals


def write_row(db: Database, row: Row) -> None:
    db.run(
        "INSERT INTO recalls (namespace, id, at, recipe, query, returned, features, signals) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        row,
    )


def write_rows(db: Database, key: int, rows: list[Row]) -> None:
    """Log recalls of one namespace, and delete the oldest without feedback.

    A recall of something that was removed while it waited is left out, also if another process has removed it.
    """
    returned = {row[1]: {item[0] for item in json.loads(row[5])} for row in rows}
    ids = db.dialect.as_list(sorted(set().union(*returned.values())))
    stored = db.rows(f"SELECT id FROM memories WHERE namespace = ? AND {db.dialect.among('id', '?')}", (key, ids))
    known = {id for (id,) in stored}
    for row in rows:
        if returned[row[1]] <= known:
            write_row(db, row)
    db.run(
        "DELETE FROM recalls WHERE namespace = ?1 AND id < "
        "(SELECT r.id FROM recalls r WHERE r.namespace = ?1 ORDER BY r.id DESC LIMIT 1 OFFSET ?2) "
        "AND id NOT IN (SELECT f.recall FROM feedback f WHERE f.namespace = ?1)",
        (key, MOST_LOGGED),
    )


class RecallLog:
    """Best effort: a kill may lose the last few. Feedback on a recall writes that recall for sure."""

    def __init__(self, write: Callable[[dict[int, list[Row]], int], bool]) -> None:
        """`write` logs rows by namespace and waits that many milliseconds for others; false asks to try later."""
        self._write = write
        self._waiting: deque[Row] = deque(maxlen=MOST_LOGGED)
        self._lock = threading.Lock()
        """Locked for a moment, to read or change what waits."""
        self._writing = threading.Lock()
        """Locked while the log is written, which may take as long as the disk does."""

    def add(self, key: int, recall: LoggedRecall) -> None:
        row = row_of(key, recall)
        with self._lock:
            self._waiting.append(row)
            many = len(self._waiting) % BATCH == 0
        if many and self._writing.acquire(blocking=False):
            try:
                self._write_waiting(patience_ms=0)
            finally:
                self._writing.release()

    def returned(self, key: int, recall_id: str) -> tuple[str, ...] | None:
        """The ids that a recall returned which still waits to be written."""
        row = self._row(key, recall_id)
        return None if row is None else tuple(item[0] for item in json.loads(row[5]))

    def latest(self, key: int, since: int, most: int) -> list[tuple[str, int, str]]:
        """Id, time and what was returned, of the last recalls since then that still wait to be written."""
        with self._lock:
            rows = [(row[1], row[2], row[5]) for row in self._waiting if row[0] == key and row[2] >= since]
        return rows[-most:]

    def questions(self, key: int) -> list[tuple[str, str, str]]:
        """Id, question and what was returned, of the recalls that still wait to be written."""
        with self._lock:
            return [(row[1], row[4], row[5]) for row in self._waiting if row[0] == key]

    def signals(self, key: int, recall_id: str) -> str | None:
        """The signals of a recall that still waits to be written."""
        row = self._row(key, recall_id)
        return None if row is None else row[7]

    def forget(self, key: int, memories: Sequence[str]) -> None:
        """Drop the waiting recalls that returned one of these memories."""
        ids = [compact(memory) for memory in memories]
        with self._writing:
            self._keep(lambda row: row[0] != key or not any(id in row[5] for id in ids))

    def forget_namespace(self, key: int) -> None:
        """Drop the waiting recalls of a namespace."""
        with self._writing:
            self._keep(lambda row: row[0] != key)

    def flush(self) -> None:
        """Write what waits, after any other writer is done."""
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

    def _keep(self, predicate: Callable[[Row], bool]) -> None:
        with self._lock:
            self._waiting = deque(filter(predicate, self._waiting), maxlen=MOST_LOGGED)

    def _row(self, key: int, recall_id: str) -> Row | None:
        with self._lock:
            return next((row for row in self._waiting if row[0] == key and row[1] == recall_id), None)
