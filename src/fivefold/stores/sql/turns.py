"""Writing conversations: duplicates, turns in their order, the session log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.sql.rows import COLUMNS, compact, memory_of
from fivefold.stores.sql.vector_spaces import Spaces
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros
from fivefold.values.vectors import Vector


class Turns(Spaces):
    """What was said before and after, and what was said already."""

    def expect_notes(self, hashes: Sequence[bytes]) -> None:
        """Look up the notes a batch may repeat in one go."""
        found = self._rows(
            "SELECT content_hash, row FROM memories WHERE namespace = ? AND kind = 'note' AND superseded_by IS NULL "
            f"AND {self._sql.among('content_hash', '?')} ORDER BY row DESC",
            self._key,
            self._sql.listed(hashes),
        )
        self._notes = dict.fromkeys(hashes) | dict(found)

    def note_with(self, content_hash: bytes) -> int | None:
        if content_hash in self._notes:
            return self._notes[content_hash]
        return self._number(
            "SELECT row FROM memories WHERE namespace = ? AND content_hash = ? AND kind = 'note' "
            "AND superseded_by IS NULL ORDER BY row LIMIT 1",
            self._key,
            content_hash,
        )

    def turn_like(self, session_id: str, content_hash: bytes, event_at: datetime) -> str | None:
        found = self._rows(
            "SELECT id FROM memories WHERE namespace = ? AND content_hash = ? AND session_id = ? AND event_at = ? "
            "AND kind = 'turn' ORDER BY row LIMIT 1",
            self._key,
            content_hash,
            session_id,
            to_micros(event_at),
        )
        return str(found[0][0]) if found else None

    def earlier_equal(self, content_hash: bytes, before: int) -> int | None:
        return self._number(
            "SELECT max(row) FROM memories WHERE namespace = ? AND content_hash = ? AND row < ?",
            self._key,
            content_hash,
            before,
        )

    def seen_again(self, row: int, tags: Sequence[str]) -> None:
        memory = self.at(row)
        assert memory is not None
        together = list(dict.fromkeys((*memory.tags, *tags)))
        self._run(
            "UPDATE memories SET seen_count = seen_count + 1, tags = ? WHERE namespace = ? AND row = ?",
            compact(together),
            self._key,
            row,
        )

    def turn_before(self, session_id: str, row: int) -> Memory | None:
        """The turn just before this one in its session."""
        return self._memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) < "
            "(SELECT turn_index, row FROM memories WHERE namespace = ? AND row = ?) "
            "ORDER BY turn_index DESC, row DESC LIMIT 1",
            session_id,
            self._key,
            row,
        )

    def turn_after(self, session_id: str, row: int) -> Memory | None:
        """The turn just after this one in its session."""
        return self._memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) > "
            "(SELECT turn_index, row FROM memories WHERE namespace = ? AND row = ?) ORDER BY turn_index, row LIMIT 1",
            session_id,
            self._key,
            row,
        )

    def turns(self, session_id: str) -> list[Memory]:
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND session_id = ? AND kind = 'turn' "
            "ORDER BY turn_index, row",
            self._key,
            session_id,
        )
        return [memory_of(self.namespace, columns) for columns in found]

    def told_next(self, session_id: str, content: str) -> list[Memory]:
        """Turns of a session that carry this text as what was said next."""
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND session_id = ? AND next_user_text = ? "
            "ORDER BY row",
            self._key,
            session_id,
            content,
        )
        return [memory_of(self.namespace, columns) for columns in found]

    def session_memory(self, session_id: str) -> int | None:
        """The row of the session's own memory."""
        return self._number(
            "SELECT row FROM memories WHERE namespace = ? AND session_id = ? AND kind = 'session'",
            self._key,
            session_id,
        )

    def session_size(self, session_id: str) -> tuple[int, int, int | None]:
        """Turns in the session, turns its memory was built from, and that memory's row."""
        found = self._rows(
            "SELECT turns, built_from, memory FROM sessions WHERE namespace = ? AND id = ?", self._key, session_id
        )
        return found[0] if found else (0, 0, None)

    def log_turn(self, session_id: str, at: datetime) -> int:
        """Count a turn into the session log; gives the next free turn index."""
        moment = to_micros(at)
        self._run(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns) VALUES (?1, ?2, ?3, ?3, 1) "
            f"ON CONFLICT (namespace, id) DO UPDATE SET "
            f"started_at = {self._sql.least}(sessions.started_at, excluded.started_at), "
            f"ended_at = {self._sql.greatest}(sessions.ended_at, excluded.ended_at), turns = sessions.turns + 1",
            self._key,
            session_id,
            moment,
        )
        last = self._number(
            "SELECT max(turn_index) FROM memories WHERE namespace = ? AND session_id = ?", self._key, session_id
        )
        return 0 if last is None else last + 1

    def session_built(self, session_id: str, row: int, turns: int) -> None:
        self._run(
            "UPDATE sessions SET memory = ?, built_from = ? WHERE namespace = ? AND id = ?",
            row,
            turns,
            self._key,
            session_id,
        )

    def recount_sessions(self) -> None:
        """The session log anew from the turns and session memories that are there."""
        self._run("DELETE FROM sessions WHERE namespace = ?", self._key)
        self._run(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns, built_from, memory) "
            "SELECT namespace, session_id, min(event_at), max(event_at), count(*), count(*), "
            "(SELECT own.row FROM memories own WHERE own.namespace = ?1 AND own.session_id = m.session_id "
            "AND own.kind = 'session') FROM memories m WHERE namespace = ?1 AND kind = 'turn' "
            "GROUP BY namespace, session_id",
            self._key,
        )

    def close_gap(self, session_id: str) -> None:
        """Recount a session after one of its turns was forgotten; an empty one leaves the log."""
        ((turns, first, last),) = self._rows(
            "SELECT count(*), min(event_at), max(event_at) FROM memories "
            "WHERE namespace = ? AND session_id = ? AND kind = 'turn'",
            self._key,
            session_id,
        )
        if turns == 0:
            self._run("DELETE FROM sessions WHERE namespace = ? AND id = ?", self._key, session_id)
            return
        self._run(
            "UPDATE sessions SET turns = ?, started_at = ?, ended_at = ? WHERE namespace = ? AND id = ?",
            turns,
            first,
            last,
            self._key,
            session_id,
        )

    def backfill(self, row: int, text: str | None, vector: Vector | None) -> None:
        """Put the next user turn on the memory before it (M1), or take it off again."""
        self._run("UPDATE memories SET next_user_text = ? WHERE namespace = ? AND row = ?", text, self._key, row)
        self.drop_next(row)
        memory = self.at(row)
        if vector is not None and memory is not None:
            self.put_vector(row, "next_user", memory, vector)
