"""Writing conversations: duplicates, turns in their order, the session log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.memory import Memory
from fivefold.recall import Vector
from fivefold.stores.base import FIELDS
from fivefold.stores.sqlite.rows import COLUMNS, compact, memory_of
from fivefold.stores.sqlite.spaces import Spaces
from fivefold.times import to_micros


class Turns(Spaces):
    """What was said before and after, and what was said already."""

    def note_with(self, content_hash: bytes) -> int | None:
        return self._number(
            "SELECT row FROM memories WHERE namespace = ? AND content_hash = ? AND kind = 'note' "
            "AND superseded_by IS NULL LIMIT 1",
            self._key, content_hash,
        )  # fmt: skip

    def turn_like(self, session_id: str, content_hash: bytes, event_at: datetime) -> str | None:
        found = self._rows(
            "SELECT id FROM memories WHERE namespace = ? AND content_hash = ? AND session_id = ? AND event_at = ? "
            "AND kind = 'turn' LIMIT 1",
            self._key, content_hash, session_id, to_micros(event_at),
        )  # fmt: skip
        return str(found[0][0]) if found else None

    def earlier_equal(self, content_hash: bytes, before: int) -> int | None:
        return self._number(
            "SELECT max(row) FROM memories WHERE namespace = ? AND content_hash = ? AND row < ?",
            self._key, content_hash, before,
        )  # fmt: skip

    def seen_again(self, row: int, tags: Sequence[str]) -> None:
        memory = self.at(row)
        assert memory is not None
        together = list(dict.fromkeys((*memory.tags, *tags)))
        self._db.execute(
            "UPDATE memories SET seen_count = seen_count + 1, tags = ? WHERE row = ?",
            (compact(together), row),
        )

    def turn_before(self, session_id: str, row: int) -> Memory | None:
        """The turn just before this one in its session."""
        return self._memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) < "
            "(SELECT turn_index, row FROM memories WHERE row = ?) ORDER BY turn_index DESC, row DESC LIMIT 1",
            session_id, row,
        )  # fmt: skip

    def turn_after(self, session_id: str, row: int) -> Memory | None:
        """The turn just after this one in its session."""
        return self._memory(
            "session_id = ? AND kind = 'turn' AND (turn_index, row) > "
            "(SELECT turn_index, row FROM memories WHERE row = ?) ORDER BY turn_index, row LIMIT 1",
            session_id, row,
        )  # fmt: skip

    def turns(self, session_id: str) -> list[Memory]:
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND session_id = ? AND kind = 'turn' "
            "ORDER BY turn_index, row",
            self._key, session_id,
        )  # fmt: skip
        return [memory_of(self.namespace, columns) for columns in found]

    def told_next(self, session_id: str, content: str) -> list[Memory]:
        """Turns of a session that carry this text as what was said next."""
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE namespace = ? AND session_id = ? AND next_user_text = ?",
            self._key, session_id, content,
        )  # fmt: skip
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
            "SELECT turns, built_from, memory FROM sessions WHERE namespace = ? AND id = ?",
            self._key,
            session_id,
        )
        return found[0] if found else (0, 0, None)

    def log_turn(self, session_id: str, at: datetime) -> int:
        """Count a turn into the session log; gives the next free turn index."""
        moment = to_micros(at)
        self._db.execute(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns) VALUES (?, ?, ?, ?, 1) "
            "ON CONFLICT DO UPDATE SET started_at = min(started_at, excluded.started_at), "
            "ended_at = max(ended_at, excluded.ended_at), turns = turns + 1",
            (self._key, session_id, moment, moment),
        )
        last = self._number(
            "SELECT max(turn_index) FROM memories WHERE namespace = ? AND session_id = ?",
            self._key,
            session_id,
        )
        return 0 if last is None else last + 1

    def session_built(self, session_id: str, row: int, turns: int) -> None:
        self._db.execute(
            "UPDATE sessions SET memory = ?, built_from = ? WHERE namespace = ? AND id = ?",
            (row, turns, self._key, session_id),
        )

    def recount_sessions(self) -> None:
        """The session log anew from the turns and session memories that are there."""
        self._db.execute("DELETE FROM sessions WHERE namespace = ?", (self._key,))
        self._db.execute(
            "INSERT INTO sessions (namespace, id, started_at, ended_at, turns, built_from, memory) "
            "SELECT namespace, session_id, min(event_at), max(event_at), count(*), count(*), "
            "(SELECT row FROM memories own WHERE own.namespace = m.namespace AND own.session_id = m.session_id "
            "AND own.kind = 'session') FROM memories m WHERE namespace = ? AND kind = 'turn' GROUP BY session_id",
            (self._key,),
        )

    def close_gap(self, session_id: str) -> None:
        """Recount a session after one of its turns was forgotten; an empty one leaves the log."""
        self._db.execute(
            "UPDATE sessions SET (turns, started_at, ended_at) = "
            "(SELECT count(*), coalesce(min(event_at), started_at), coalesce(max(event_at), ended_at) "
            "FROM memories m WHERE m.namespace = sessions.namespace "
            "AND m.session_id = sessions.id AND m.kind = 'turn') WHERE namespace = ? AND id = ?",
            (self._key, session_id),
        )
        self._db.execute("DELETE FROM sessions WHERE namespace = ? AND id = ? AND turns = 0", (self._key, session_id))

    def backfill(self, row: int, text: str | None, vector: Vector | None) -> None:
        """Put the next user turn on the memory before it (M1), or take it off again."""
        self._db.execute("UPDATE memories SET next_user_text = ? WHERE row = ?", (text, row))
        outdated = self._vectors_held(row, "s.state = 'building' OR v.field = ?", FIELDS.index("next_user"))
        for held in outdated:
            self._drop_vector(*held)
        memory = self.at(row)
        if vector is not None and memory is not None:
            self._put_vector(row, "next_user", memory, vector)
