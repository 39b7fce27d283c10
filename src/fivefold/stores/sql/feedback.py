"""The log of recalls, and which of their memories were used."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.records import Feedback, LoggedRecall, PastQuestion
from fivefold.stores.sql.scope import ReadScope, Transaction
from fivefold.stores.tables import compact
from fivefold.values.times import to_micros

MAX_LOGGED_RECALLS = 10_000
"""Maximum number of recalls without feedback that a namespace's log keeps."""

BATCH = 64
"""Number of recalls written in one transaction, since each write makes every reader's cache stale."""

PATIENCE_MS = 5_000
"""Milliseconds that reading the log waits for another writer; a recall itself never does."""

LoggedRow = tuple[int, str, int, str, str, str, bytes, str | None]
"""A row of `recalls`."""

_INSERT = (
    "INSERT INTO recalls (namespace, id, at, recipe, query, returned, features, signals) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


def _row_of(key: int, recall: LoggedRecall) -> LoggedRow:
    returned = compact([[hit.memory_id, hit.rank, hit.score] for hit in recall.returned])
    at = to_micros(recall.at)
    return key, recall.id, at, recall.recipe, recall.question, returned, recall.features, recall.signals


def write_rows(txn: Transaction, rows: list[LoggedRow]) -> None:
    """Log recalls of one namespace but those of something removed meanwhile; the oldest without feedback go."""
    returned = {row[1]: {item[0] for item in json.loads(row[5])} for row in rows}
    among = txn.sql.among("id", ":ids")
    ids = txn.sql.as_list(sorted(set().union(*returned.values())))
    known = {id for (id,) in txn.rows(f"SELECT id FROM memories WHERE namespace = :ns AND {among}", ids=ids)}
    txn.many(_INSERT, [row for row in rows if returned[row[1]] <= known])
    txn.run(
        "DELETE FROM recalls WHERE namespace = :ns AND id < "
        "(SELECT r.id FROM recalls r WHERE r.namespace = :ns ORDER BY r.id DESC LIMIT 1 OFFSET :most) "
        "AND id NOT IN (SELECT f.recall FROM feedback f WHERE f.namespace = :ns)",
        most=MAX_LOGGED_RECALLS,
    )


class RecallLog:
    """Recalls that wait to be written, at best: a kill may lose the last few; feedback writes its recall for sure."""

    def __init__(self, write: Callable[[dict[int, list[LoggedRow]], int], bool]) -> None:
        """`write` logs rows by namespace and waits that many milliseconds for others; false asks to try later."""
        self._write = write
        self._waiting: deque[LoggedRow] = deque(maxlen=MAX_LOGGED_RECALLS)
        self._lock = threading.Lock()
        """Locked for a moment, to read or change what waits."""
        self._writing = threading.Lock()
        """Locked while the log is written, which may take as long as the disk does."""

    def add(self, key: int, recall: LoggedRecall) -> None:
        row = _row_of(key, recall)
        with self._lock:
            self._waiting.append(row)
            many = len(self._waiting) % BATCH == 0
        if many and self._writing.acquire(blocking=False):
            try:
                self._write_waiting(patience_ms=0)
            finally:
                self._writing.release()

    def waiting(self, key: int | None) -> list[LoggedRow]:
        """The recalls of a namespace that still wait to be written, the latest last."""
        with self._lock:
            return [row for row in self._waiting if row[0] == key]

    def find(self, key: int | None, recall_id: str) -> LoggedRow | None:
        return next((row for row in self.waiting(key) if row[1] == recall_id), None)

    def forget(self, key: int, memories: Sequence[str]) -> None:
        """Drop the waiting recalls that returned one of these memories."""
        ids = [compact(memory) for memory in memories]
        with self._writing:
            self._keep(lambda row: row[0] != key or not any(id in row[5] for id in ids))

    def forget_namespace(self, key: int) -> None:
        with self._writing:
            self._keep(lambda row: row[0] != key)

    def flush(self) -> None:
        with self._writing:
            self._write_waiting(PATIENCE_MS)

    def _write_waiting(self, patience_ms: int) -> None:
        with self._lock:
            waiting = list(self._waiting)
        by_namespace: dict[int, list[LoggedRow]] = {}
        for row in waiting:
            by_namespace.setdefault(row[0], []).append(row)
        if waiting and self._write(by_namespace, patience_ms):
            written = {row[:2] for row in waiting}
            self._keep(lambda row: row[:2] not in written)

    def _keep(self, predicate: Callable[[LoggedRow], bool]) -> None:
        with self._lock:
            self._waiting = deque(filter(predicate, self._waiting), maxlen=MAX_LOGGED_RECALLS)


class FeedbackReader:
    """The log of recalls, those that still wait to be written too, and which of their memories were used."""

    def __init__(self, scope: ReadScope, log: RecallLog) -> None:
        self._scope = scope
        self._log = log

    def returned_ids(self, recall_id: str) -> tuple[str, ...] | None:
        """The ids that a logged recall returned, best first; a recall that is asked for is durable from then on."""
        waiting = self._log.find(self._scope.key(), recall_id)
        if waiting is not None:
            self._log.flush()
            returned = waiting[5]
        else:
            sql = "SELECT returned FROM recalls WHERE namespace = :ns AND id = :id"
            returned = self._scope.value(sql, id=recall_id)
        return None if returned is None else tuple(item[0] for item in json.loads(returned))

    def returned_since(self, since: datetime, most: int) -> list[str]:
        """The ids that the last recalls since a time returned, from the latest recall on, each once."""
        waiting = [(row[1], row[2], row[5]) for row in self._log.waiting(self._scope.key())]
        sql = "SELECT id, at, returned FROM recalls WHERE namespace = :ns ORDER BY id DESC LIMIT :most"
        stored = self._scope.rows(sql, most=most)
        recalls = {id: returned for id, at, returned in (*stored, *waiting) if at >= to_micros(since)}
        latest = [json.loads(recalls[id]) for id in sorted(recalls, reverse=True)[:most]]
        return list(dict.fromkeys(item[0] for returned in latest for item in returned))

    def past_questions(self, name: str, most: int) -> list[PastQuestion]:
        """Those of the last `most` recalls whose question contains a name in any case, the latest first."""
        wanted = name.casefold()
        stored = self._scope.rows(
            "SELECT r.id, r.query, r.returned, m.id FROM "
            "(SELECT id, query, returned FROM recalls WHERE namespace = :ns ORDER BY id DESC LIMIT :most) r "
            "LEFT JOIN feedback f ON f.namespace = :ns AND f.recall = r.id AND f.used = 1 "
            "LEFT JOIN memories m ON m.namespace = :ns AND m.row = f.memory",
            most=most,
        )
        waiting = [(row[1], row[4], row[5]) for row in self._log.waiting(self._scope.key())]
        recalls = {id: (query, returned) for id, query, returned, *_ in (*stored, *waiting)}
        used: dict[str, list[str]] = {}
        for id, _, _, memory in stored:
            if memory is not None:
                used.setdefault(id, []).append(memory)
        latest = [(id, *recalls[id]) for id in sorted(recalls, reverse=True)[:most]]
        return [
            PastQuestion(query, tuple(sorted(used.get(id, ()))) or tuple(item[0] for item in json.loads(returned)[:1]))
            for id, query, returned in latest
            if wanted in query.casefold()
        ]

    def latest(self, most: int) -> list[Feedback]:
        """The latest recalls with feedback, oldest first."""
        self._log.flush()
        rows = self._scope.rows(
            "SELECT r.id, r.returned, r.features, m.id, f.used FROM feedback f "
            "JOIN recalls r ON r.namespace = f.namespace AND r.id = f.recall "
            "JOIN memories m ON m.namespace = f.namespace AND m.row = f.memory WHERE f.namespace = :ns AND f.recall IN "
            "(SELECT DISTINCT g.recall FROM feedback g JOIN recalls h ON h.namespace = g.namespace AND h.id = g.recall "
            "WHERE g.namespace = :ns ORDER BY g.recall DESC LIMIT :most) ORDER BY r.id",
            most=most,
        )
        marks: dict[str, tuple[set[str], set[str]]] = {}
        logged: dict[str, tuple[str, bytes | None]] = {}
        for id, returned, features, memory, used in rows:
            marks.setdefault(id, (set(), set()))[used].add(memory)
            logged[id] = (returned, features)
        return [
            Feedback(
                id,
                tuple(item[0] for item in json.loads(returned)),
                frozenset(marks[id][1]),
                features,
                frozenset(marks[id][0]),
            )
            for id, (returned, features) in logged.items()
        ]

    def count(self) -> int:
        return int(self._scope.value("SELECT count(DISTINCT recall) FROM feedback WHERE namespace = :ns") or 0)

    def signals(self, recall_id: str) -> dict[str, Any] | None:
        """The signals that were logged with a recall, if its recipe predicts weights."""
        waiting = self._log.find(self._scope.key(), recall_id)
        text = None if waiting is None else waiting[7]
        if not text:
            sql = "SELECT signals FROM recalls WHERE namespace = :ns AND id = :id"
            text = self._scope.value(sql, id=recall_id)
        logged: dict[str, Any] = json.loads(text or "{}")
        return logged if "weights" in logged else None


class FeedbackWriter:
    """Writes which memories of a recall were used; a memory's access count follows from that."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    def mark_used(
        self, recall: LoggedRecall | str, rows: Sequence[int], at: datetime, refused: Sequence[int] = ()
    ) -> bool:
        """Note which memories were used and which were of no use; a repeat changes nothing, the last mark counts.

        A recall that is given whole is logged too. Gives whether these are the first of it that were used.
        """
        if isinstance(recall, LoggedRecall):
            self._txn.many(_INSERT, [_row_of(self._txn.key, recall)])
        id = recall if isinstance(recall, str) else recall.id
        before = dict(self._txn.rows("SELECT memory, used FROM feedback WHERE namespace = :ns AND recall = :id", id=id))
        for row, used in [(row, 1) for row in rows] + [(row, 0) for row in refused]:
            if before.get(row) == used:
                continue
            self._txn.run(
                "INSERT INTO feedback (namespace, recall, memory, at, used) VALUES (:ns, :id, :row, :at, :used) "
                "ON CONFLICT (namespace, recall, memory) DO UPDATE SET at = excluded.at, used = excluded.used",
                id=id,
                row=row,
                at=to_micros(at),
                used=used,
            )
            if used:
                more = "access_count = access_count + 1, last_accessed_at = :at"
                sql = f"UPDATE memories SET {more} WHERE namespace = :ns AND row = :row"
                self._txn.run(sql, at=to_micros(at), row=row)
            elif before.get(row, 0):
                less = "UPDATE memories SET access_count = access_count - 1 WHERE namespace = :ns AND row = :row "
                self._txn.run(f"{less}AND access_count > 0", row=row)
        return bool(rows) and not any(before.values())
