"""Reading the log of recalls and the feedback on them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from fivefold.stores.protocol import Feedback, PastQuestion
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.values.times import to_micros


class SqlFeedbackReader:
    """Recalls that still wait to be written are read as well."""

    def __init__(self, scope: ScopedReader) -> None:
        self._scope = scope

    def returned_ids(self, recall_id: str) -> tuple[str, ...] | None:
        """The ids a recall returned. It is written first, so that feedback on it does not outlive it."""
        key = self._scope.key()
        waiting = None if key is None else self._scope.log.returned(key, recall_id)
        if waiting is not None:
            self._scope.log.flush()
            return waiting
        rows = self._scope.rows("SELECT returned FROM recalls WHERE namespace = :ns AND id = :id", id=recall_id)
        return tuple(item[0] for item in json.loads(rows[0][0])) if rows else None

    def returned_since(self, since: datetime, most: int) -> list[str]:
        key, first = self._scope.key(), to_micros(since)
        waiting = [] if key is None else self._scope.log.latest(key, first, most)
        stored = self._scope.rows(
            "SELECT id, at, returned FROM recalls WHERE namespace = :ns ORDER BY id DESC LIMIT :most", most=most
        )
        recalls = {id: returned for id, at, returned in (*stored, *waiting) if at >= first}
        latest = [json.loads(recalls[id]) for id in sorted(recalls, reverse=True)[:most]]
        return list(dict.fromkeys(item[0] for returned in latest for item in returned))

    def past_questions(self, name: str, most: int) -> list[PastQuestion]:
        key, wanted = self._scope.key(), name.casefold()
        stored = self._scope.rows(
            "SELECT r.id, r.query, r.returned, m.id FROM "
            "(SELECT id, query, returned FROM recalls WHERE namespace = :ns ORDER BY id DESC LIMIT :most) r "
            "LEFT JOIN feedback f ON f.namespace = :ns AND f.recall = r.id AND f.used = 1 "
            "LEFT JOIN memories m ON m.namespace = :ns AND m.row = f.memory",
            most=most,
        )
        waiting = [] if key is None else self._scope.log.questions(key)
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
        self._scope.log.flush()
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
        """How many recalls have feedback."""
        return int(self._scope.one("SELECT count(DISTINCT recall) FROM feedback WHERE namespace = :ns", 1)[0] or 0)

    def signals(self, recall_id: str) -> dict[str, Any] | None:
        """The signals that were logged with a recall, where its recipe predicts weights."""
        key = self._scope.key()
        text = None if key is None else self._scope.log.signals(key, recall_id)
        if not text:
            sql = "SELECT signals FROM recalls WHERE namespace = :ns AND id = :id"
            text = self._scope.one(sql, 1, id=recall_id)[0]
        return None if text is None else dict(json.loads(text))
