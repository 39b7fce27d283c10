"""Conversations: the turns of a session in their order, and the log of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.sql.scope import Scope, Transaction
from fivefold.stores.sql.vectors import VectorWriter
from fivefold.values.memory import Memory, Origin, Session
from fivefold.values.times import from_micros, to_micros
from fivefold.values.vectors import Vector

_NEIGHBOUR = (
    "(SELECT n.row FROM memories n WHERE n.namespace = :ns AND n.session_id = m.session_id "
    "AND n.kind = 'turn' AND (n.turn_index, n.row) {0} (m.turn_index, m.row) "
    "ORDER BY n.turn_index {1}, n.row {1} LIMIT 1)"
)
TURN_BEFORE, TURN_AFTER = _NEIGHBOUR.format("<", "DESC"), _NEIGHBOUR.format(">", "ASC")
"""The rows of the turns next to a turn `m` in its session."""


class SessionReader:
    """Conversations: their turns, ordered by index and row, and the log of sessions."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def page(self, limit: int, after: tuple[int, str] | None = None) -> list[Session]:
        """Sessions, the last one to end first; `after` is the end in µs and the id of the last one."""
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
        own = "namespace = :ns AND session_id = :session AND kind = 'turn' ORDER BY turn_index, row"
        return self._scope.memories(own, session=session_id)

    def origins(self, session_ids: Sequence[str]) -> dict[str, list[Origin | None]]:
        """The origins of the turns of each session, each origin once."""
        found: dict[str, list[Origin | None]] = {}
        among = self._sql.among("session_id", ":ids")
        sql = f"SELECT DISTINCT session_id, origin FROM memories WHERE namespace = :ns AND kind = 'turn' AND {among}"
        for session_id, origin in self._scope.rows(sql, ids=self._sql.as_list(session_ids)):
            found.setdefault(session_id, []).append(origin)
        return found

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
        """The rows of the turn before and the turn after each of these turns in its session."""
        records = self._scope.rows(
            f"SELECT m.row, {TURN_BEFORE}, {TURN_AFTER} FROM "
            f"{self._sql.each(':rows', 'bigint')} CROSS JOIN memories m WHERE m.row = wanted.value "
            f"AND m.kind = 'turn' AND {self._sql.unindexed('m.namespace')} = :ns",
            rows=self._sql.as_list(rows),
        )
        return {row: (before, after) for row, before, after in records}

    def memory_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        """The rows of the session memories of these sessions; sessions without one are left out."""
        rows = self._scope.rows(
            f"SELECT s.id, s.memory FROM {self._sql.each(':ids', 'text')} CROSS JOIN sessions s "
            "WHERE s.namespace = :ns AND s.id = wanted.value AND s.memory IS NOT NULL",
            ids=self._sql.as_list(session_ids),
        )
        return dict(rows)


class SessionWriter(SessionReader):
    """Turns before and after others, and the log of sessions; what it reads is as it sees it."""

    def __init__(self, txn: Transaction, vectors: VectorWriter) -> None:
        super().__init__(txn)
        self._txn = txn
        self._vectors = vectors

    def turn_before(self, session_id: str, row: int) -> Memory | None:
        return self._next_to(session_id, row, "<", "turn_index DESC, row DESC")

    def turn_after(self, session_id: str, row: int) -> Memory | None:
        return self._next_to(session_id, row, ">", "turn_index, row")

    def _next_to(self, session_id: str, row: int, sign: str, order: str) -> Memory | None:
        own = "(SELECT turn_index, row FROM memories WHERE namespace = :ns AND row = :row)"
        turns = f"session_id = :session AND kind = 'turn' AND (turn_index, row) {sign} {own}"
        return self._txn.memory(f"{turns} ORDER BY {order} LIMIT 1", session=session_id, row=row)

    def find_turn(self, session_id: str, content_hash: bytes, event_at: datetime) -> str | None:
        """The id of a turn with the same session, content and time."""
        id: str | None = self._txn.value(
            "SELECT id FROM memories WHERE namespace = :ns AND content_hash = :hash AND session_id = :session "
            "AND event_at = :at AND kind = 'turn' ORDER BY row LIMIT 1",
            hash=content_hash,
            session=session_id,
            at=to_micros(event_at),
        )
        return id

    def turns_followed_by(self, session_id: str, text: str) -> list[Memory]:
        """Turns of a session that have this as their `next_user_text`."""
        own = "namespace = :ns AND session_id = :session AND next_user_text = :text ORDER BY row"
        return self._txn.memories(own, session=session_id, text=text)

    def set_next_text(self, row: int, text: str | None, vector: Vector | None) -> None:
        """Put the next user turn and its vector on the memory before it (M1), or remove both."""
        self._txn.run(
            "UPDATE memories SET next_user_text = :text WHERE namespace = :ns AND row = :row", text=text, row=row
        )
        self._vectors.drop_next(row)
        memory = self._txn.at(row)
        if vector is not None and memory is not None:
            self._vectors.put_vector(row, "next_user", memory, vector)

    def log_turn(self, session_id: str, at: datetime) -> int:
        """Count a turn into the session log; gives the next free turn index."""
        self._txn.run(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns) VALUES (:ns, :id, :at, :at, 1) "
            f"ON CONFLICT (namespace, id) DO UPDATE SET "
            f"started_at = {self._sql.least}(sessions.started_at, excluded.started_at), "
            f"ended_at = {self._sql.greatest}(sessions.ended_at, excluded.ended_at), turns = sessions.turns + 1",
            id=session_id,
            at=to_micros(at),
        )
        last = "SELECT max(turn_index) FROM memories WHERE namespace = :ns AND session_id = :id"
        found = self._txn.value(last, id=session_id)
        return 0 if found is None else int(found) + 1

    def size(self, session_id: str) -> tuple[int, int, int | None]:
        """Turns of a session, turns that its memory was built from, and that memory's row."""
        sql = "SELECT turns, built_from, memory FROM sessions WHERE namespace = :ns AND id = :id"
        rows = self._txn.rows(sql, id=session_id)
        return rows[0] if rows else (0, 0, None)

    def memory_row(self, session_id: str) -> int | None:
        sql = "SELECT row FROM memories WHERE namespace = :ns AND session_id = :id AND kind = 'session'"
        row: int | None = self._txn.value(sql, id=session_id)
        return row

    def mark_built(self, session_id: str, row: int, turns: int) -> None:
        sql = "UPDATE sessions SET memory = :row, built_from = :turns WHERE namespace = :ns AND id = :id"
        self._txn.run(sql, row=row, turns=turns, id=session_id)

    def recount(self, session_id: str) -> None:
        """Count a session again after one of its turns was removed; an empty one leaves the log."""
        turns, first, last = self._txn.one(
            "SELECT count(*), min(event_at), max(event_at) FROM memories "
            "WHERE namespace = :ns AND session_id = :id AND kind = 'turn'",
            3,
            id=session_id,
        )
        if turns == 0:
            self._txn.run("DELETE FROM sessions WHERE namespace = :ns AND id = :id", id=session_id)
            return
        counted = "turns = :turns, started_at = :first, ended_at = :last"
        sql = f"UPDATE sessions SET {counted} WHERE namespace = :ns AND id = :id"
        self._txn.run(sql, turns=turns, first=first, last=last, id=session_id)

    def recount_all(self) -> None:
        """Build the session log from the turns and session memories."""
        self._txn.run("DELETE FROM sessions WHERE namespace = :ns")
        self._txn.run(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns, built_from, memory) "
            "SELECT namespace, session_id, min(event_at), max(event_at), count(*), count(*), "
            "(SELECT own.row FROM memories own WHERE own.namespace = :ns AND own.session_id = m.session_id "
            "AND own.kind = 'session') FROM memories m WHERE namespace = :ns AND kind = 'turn' "
            "GROUP BY namespace, session_id"
        )
