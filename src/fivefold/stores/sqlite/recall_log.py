"""The log of recalls: written a few dozen at a time, since each write makes every reader look again."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable

import apsw

from fivefold.learning.adapt import signals_of
from fivefold.learning.features import packed
from fivefold.recall import Recall
from fivefold.stores.sqlite.connection import Connections, connect
from fivefold.stores.sqlite.rows import compact
from fivefold.times import to_micros

KEPT = 10_000
"""How many recalls without feedback a namespace's log keeps."""

TOGETHER = 64
"""How many recalls are logged in one go."""

PATIENCE_MS = 5_000
"""How long a look at the log waits for another writer; a recall itself never does."""

Row = tuple[int, str, int, str, str, str, bytes, str | None]

_log = logging.getLogger("fivefold")


def row_of(key: int, recall: Recall) -> Row:
    returned = [[hit.memory.id, hit.rank, round(hit.score, 6)] for hit in recall.hits]
    at, recipe, text = to_micros(recall.query.now), recall.plan.recipe, recall.query.text
    return key, recall.id, at, recipe, text, compact(returned), packed(recall), _signals(recall)


def _signals(recall: Recall) -> str | None:
    found = signals_of(recall)
    return None if found is None else compact(found)


def write_row(connection: apsw.Connection, row: Row) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO recalls (namespace, id, at, recipe, query, returned, features, signals) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )


class RecallLog:
    """Best effort: a kill may lose the last few. `used` writes the recall it speaks of for sure."""

    def __init__(self, connections: Connections, key_of: Callable[[str], int | None]) -> None:
        self._connections = connections
        self._key_of = key_of
        self._waiting: deque[Row] = deque(maxlen=KEPT)
        self._own: apsw.Connection | None = None
        self._lock = threading.Lock()

    def add(self, recall: Recall) -> None:
        key = self._key_of(recall.namespace)
        if key is None or self._connections.read_only:
            return
        self._waiting.append(row_of(key, recall))
        if len(self._waiting) % TOGETHER == 0:
            self.flush(patience_ms=0)

    def returned(self, key: int, recall_id: str) -> tuple[str, ...] | None:
        """What a recall that still waits to be written had returned."""
        for waiting in list(self._waiting):
            if waiting[0] == key and waiting[1] == recall_id:
                return tuple(item[0] for item in json.loads(waiting[5]))
        return None

    def signals(self, key: int, recall_id: str) -> str | None:
        """What a recall that still waits to be written had weighed."""
        return next((row[7] for row in list(self._waiting) if row[0] == key and row[1] == recall_id), None)

    def flush(self, patience_ms: int = PATIENCE_MS) -> None:
        """Write what waits; while another writer is at work it waits on."""
        with self._lock:
            waiting = list(self._waiting)
            if not waiting or self._connections.closed:
                return
            try:
                self._write(waiting, patience_ms)
            except (apsw.BusyError, apsw.LockedError):
                return
            except apsw.Error as error:
                _log.warning("the recall log could not be written: %s", error)
            for _ in range(min(len(waiting), len(self._waiting))):
                self._waiting.popleft()

    def close(self) -> None:
        self.flush()
        with self._lock:
            if self._own is not None:
                self._own.close()
                self._own = None

    def _write(self, waiting: list[Row], patience_ms: int) -> None:
        if self._connections.in_memory:
            with self._connections.transaction() as connection:
                _write_all(connection, waiting)
            return
        if self._own is None:
            self._own = connect(self._connections.location)
            self._own.execute("PRAGMA synchronous = NORMAL")
        self._own.set_busy_timeout(patience_ms)
        with self._own:
            _write_all(self._own, waiting)


def _write_all(connection: apsw.Connection, waiting: list[Row]) -> None:
    for row in waiting:
        write_row(connection, row)
    for key in {row[0] for row in waiting}:
        connection.execute(
            "DELETE FROM recalls WHERE namespace = ?1 AND id < "
            "(SELECT id FROM recalls WHERE namespace = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2) "
            "AND id NOT IN (SELECT recall FROM feedback WHERE namespace = ?1)",
            (key, KEPT),
        )
