"""Writing conversations: turns in their order, and the session log."""

from __future__ import annotations

from datetime import datetime

from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros
from fivefold.values.vectors import Vector


class SqlSessionWriter:
    """Turns before and after others, and the log of sessions."""

    def __init__(self, txn: Transaction, vectors: SqlVectorWriter) -> None:
        self._txn = txn
        self._vectors = vectors

    def find_turn(self, session_id: str, content_hash: bytes, event_at: datetime) -> str | None:
        rows = self._txn.rows(
            "SELECT id FROM memories WHERE namespace = ? AND content_hash = ? AND session_id = ? AND event_at = ? "
            "AND kind = 'turn' ORDER BY row LIMIT 1",
            self._txn.key,
            content_hash,
            session_id,
            to_micros(event_at),
        )
        return str(rows[0][0]) if rows else None

    def turn_before(self, session_id: str, row: int) -> Memory | None:
        """The turn just before this one in its session."""
        return self._txn.first_memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) < "
            "(SELECT turn_index, row FROM memories WHERE namespace = ? AND row = ?) "
            "ORDER BY turn_index DESC, row DESC LIMIT 1",
            session_id,
            self._txn.key,
            row,
        )

    def turn_after(self, session_id: str, row: int) -> Memory | None:
        """The turn just after this one in its session."""
        return self._txn.first_memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) > "
            "(SELECT turn_index, row FROM memories WHERE namespace = ? AND row = ?) ORDER BY turn_index, row LIMIT 1",
            session_id,
            self._txn.key,
            row,
        )

    def turns(self, session_id: str) -> list[Memory]:
        return self._txn.memories("session_id = ? AND kind = 'turn' ORDER BY turn_index, row", session_id)

    def turns_followed_by(self, session_id: str, text: str) -> list[Memory]:
        """Turns of a session that have this as their `next_user_text`."""
        return self._txn.memories("session_id = ? AND next_user_text = ? ORDER BY row", session_id, text)

    def memory_row(self, session_id: str) -> int | None:
        """The row of the session's own memory."""
        return self._txn.number(
            "SELECT row FROM memories WHERE namespace = ? AND session_id = ? AND kind = 'session'",
            self._txn.key,
            session_id,
        )

    def size(self, session_id: str) -> tuple[int, int, int | None]:
        """Turns in the session, turns its memory was built from, and that memory's row."""
        rows = self._txn.rows(
            "SELECT turns, built_from, memory FROM sessions WHERE namespace = ? AND id = ?", self._txn.key, session_id
        )
        return rows[0] if rows else (0, 0, None)

    def log_turn(self, session_id: str, at: datetime) -> int:
        """Count a turn into the session log; gives the next free turn index."""
        moment = to_micros(at)
        self._txn.run(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns) VALUES (?1, ?2, ?3, ?3, 1) "
            f"ON CONFLICT (namespace, id) DO UPDATE SET "
            f"started_at = {self._txn.sql.least}(sessions.started_at, excluded.started_at), "
            f"ended_at = {self._txn.sql.greatest}(sessions.ended_at, excluded.ended_at), turns = sessions.turns + 1",
            self._txn.key,
            session_id,
            moment,
        )
        last = self._txn.number(
            "SELECT max(turn_index) FROM memories WHERE namespace = ? AND session_id = ?", self._txn.key, session_id
        )
        return 0 if last is None else last + 1

    def mark_built(self, session_id: str, row: int, turns: int) -> None:
        self._txn.run(
            "UPDATE sessions SET memory = ?, built_from = ? WHERE namespace = ? AND id = ?",
            row,
            turns,
            self._txn.key,
            session_id,
        )

    def recount_all(self) -> None:
        """Build the session log from the turns and session memories."""
        self._txn.run("DELETE FROM sessions WHERE namespace = ?", self._txn.key)
        self._txn.run(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns, built_from, memory) "
            "SELECT namespace, session_id, min(event_at), max(event_at), count(*), count(*), "
            "(SELECT own.row FROM memories own WHERE own.namespace = ?1 AND own.session_id = m.session_id "
            "AND own.kind = 'session') FROM memories m WHERE namespace = ?1 AND kind = 'turn' "
            "GROUP BY namespace, session_id",
            self._txn.key,
        )

    def recount(self, session_id: str) -> None:
        """Count a session again after one of its turns was removed; an empty one leaves the log."""
        ((turns, first, last),) = self._txn.rows(
            "SELECT count(*), min(event_at), max(event_at) FROM memories "
            "WHERE namespace = ? AND session_id = ? AND kind = 'turn'",
            self._txn.key,
            session_id,
        )
        if turns == 0:
            self._txn.run("DELETE FROM sessions WHERE namespace = ? AND id = ?", self._txn.key, session_id)
            return
        self._txn.run(
            "UPDATE sessions SET turns = ?, started_at = ?, ended_at = ? WHERE namespace = ? AND id = ?",
            turns,
            first,
            last,
            self._txn.key,
            session_id,
        )

    def set_next_text(self, row: int, text: str | None, vector: Vector | None) -> None:
        """Put the next user turn and its vector on the memory before it (M1), or remove both."""
        self._txn.run(
            "UPDATE memories SET next_user_text = ? WHERE namespace = ? AND row = ?", text, self._txn.key, row
        )
        self._vectors.drop_next(row)
        memory = self._txn.memory(row)
        if vector is not None and memory is not None:
            self._vectors.put_vector(row, "next_user", memory, vector)
