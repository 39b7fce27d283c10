"""Reading conversations: the turns of a session in their order, and the log of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.rows import moment_or_none
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.values.memory import Memory, Session
from fivefold.values.times import from_micros, to_micros

_NEIGHBOUR = (
    "(SELECT n.row FROM memories n WHERE n.namespace = :ns AND n.session_id = m.session_id "
    "AND n.kind = 'turn' AND (n.turn_index, n.row) {0} (m.turn_index, m.row) "
    "ORDER BY n.turn_index {1}, n.row {1} LIMIT 1)"
)
TURN_BEFORE, TURN_AFTER = _NEIGHBOUR.format("<", "DESC"), _NEIGHBOUR.format(">", "ASC")
"""The rows of the turns next to a turn `m` in its session."""


class SqlSessionReader:
    """Turns are ordered by their index, then by row."""

    def __init__(self, scope: ScopedReader) -> None:
        self._scope = scope
        self._sql = scope.sql

    def page(self, limit: int, after: tuple[int, str] | None = None) -> list[Session]:
        """Sessions, the last one to end first; `after` is the end and the id of the last one seen."""
        if after is None:
            return self._latest("", limit)
        behind = " AND (s.ended_at < :at OR (s.ended_at = :at AND s.id > :id))"
        return self._latest(behind, limit, at=after[0], id=after[1])

    def before(self, now: datetime, limit: int) -> list[Session]:
        """The sessions that had ended before that time, the last one to end first."""
        return self._latest(" AND s.ended_at < :now", limit, now=to_micros(now))

    def _latest(self, condition: str, limit: int, **values: object) -> list[Session]:
        rows = self._scope.rows(
            "SELECT s.id, s.started_at, s.ended_at, s.turns, m.id FROM sessions s "
            "LEFT JOIN memories m ON m.namespace = s.namespace AND m.row = s.memory "
            f"WHERE s.namespace = :ns{condition} ORDER BY s.ended_at DESC, s.id LIMIT :limit",
            limit=limit,
            **values,
        )
        return [
            Session(id, from_micros(start), from_micros(end), turns, memory) for id, start, end, turns, memory in rows
        ]

    def turns(self, session_id: str) -> list[Memory]:
        """The turns of a session in their order."""
        return self._scope.memories(
            "namespace = :ns AND session_id = :session AND kind = 'turn' ORDER BY turn_index, row", session=session_id
        )

    def last_turns(self, session_id: str | None, now: datetime, most: int) -> list[Memory]:
        """The last turns by that time, oldest first: of that session, or of the one with the latest turn."""
        latest = (
            "(SELECT session_id FROM memories WHERE namespace = :ns AND kind = 'turn' AND event_at <= :now "
            "ORDER BY event_at DESC, row DESC LIMIT 1)"
        )
        memories = self._scope.memories(
            f"namespace = :ns AND kind = 'turn' AND session_id = {latest if session_id is None else ':session'} "
            f"AND {self._sql.unindexed('event_at')} <= :now ORDER BY turn_index DESC, row DESC LIMIT :most",
            now=to_micros(now),
            most=most,
            **({} if session_id is None else {"session": session_id}),
        )
        return memories[::-1]

    def neighbours(self, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """The turn before and the turn after each of these turns in its session."""
        records = self._scope.rows(
            f"SELECT m.row, {TURN_BEFORE}, {TURN_AFTER} FROM "
            f"{self._sql.each(':rows', 'bigint')} CROSS JOIN memories m WHERE m.row = wanted.value "
            f"AND m.kind = 'turn' AND {self._sql.unindexed('m.namespace')} = :ns",
            rows=self._scope.as_list(rows),
        )
        return {row: (before, after) for row, before, after in records}

    def memory_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        """The rows of the session memories of these sessions."""
        rows = self._scope.rows(
            f"SELECT s.id, s.memory FROM {self._sql.each(':ids', 'text')} CROSS JOIN sessions s "
            "WHERE s.namespace = :ns AND s.id = wanted.value AND s.memory IS NOT NULL",
            ids=self._scope.as_list(session_ids),
        )
        return dict(rows)

    def last_end(self, before: datetime) -> datetime | None:
        """When the last session ended that had ended before that time."""
        sql = "SELECT max(ended_at) FROM sessions WHERE namespace = :ns AND ended_at < :before"
        return moment_or_none(self._scope.one(sql, 1, before=to_micros(before))[0])
