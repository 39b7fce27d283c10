"""Marks of what was forgotten, by which it is known again when its source brings it once more."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from hashlib import blake2b

from fivefold.stores.rows import compact
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros

KEY = "forgotten"
"""The name of the learned value with the key of the marks, without which no text can be told from its mark."""

WIDTH = 16
"""Bytes of a mark."""

_ADD = (
    "INSERT INTO forgotten (namespace, memory_mark, text_mark, said_mark, session_mark) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (namespace, memory_mark) DO UPDATE SET text_mark = excluded.text_mark, "
    "said_mark = excluded.said_mark, session_mark = excluded.session_mark"
)


class SqlForgottenMarks:
    """Digests of ids, texts and sessions under a key of the namespace, and no text.

    A turn is known by its id or as the same turn, something imported by its id or its text. Any other is known by its
    id with its text only, since whoever chose the id may use it for something new.
    """

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._key: bytes | None = None
        self._looked_up: set[str] = set()
        self._found: set[str] = set()
        self._sessions: set[str] | None = None

    def add(self, memory: Memory, content_hash: bytes) -> None:
        """Mark a memory as forgotten."""
        key = self._read_key() or self._make_key()
        marks = _marks(key, memory, content_hash)
        session = None if memory.session_id is None else _mark(key, "session", memory.session_id)
        self._txn.run(_ADD, self._txn.key, marks["memory"], marks["text"], marks["said"], session)
        self._found.update(marks.values())
        self._sessions = None

    def look_up(self, memories: Sequence[tuple[Memory, bytes]]) -> None:
        """Read in one step which of these were forgotten; each comes with the hash of its content."""
        self._looked_up.update(memory.id for memory, _ in memories)
        key = self._read_key() if memories else None
        if key is None:
            return
        marks = [_marks(key, memory, content_hash) for memory, content_hash in memories]
        for name in ("memory", "said"):
            values = self._txn.sql.as_list([each[name] for each in marks])
            among = self._txn.sql.among(f"{name}_mark", "?")
            sql = f"SELECT memory_mark, text_mark, said_mark FROM forgotten WHERE namespace = ? AND {among}"
            for row in self._txn.rows(sql, self._txn.key, values):
                self._found.update(row)

    def has(self, memory: Memory, content_hash: bytes) -> bool:
        """Whether a memory was forgotten here before."""
        if memory.id not in self._looked_up:
            self.look_up([(memory, content_hash)])
        if self._key is None or not self._found:
            return False
        marks = _marks(self._key, memory, content_hash)
        by_source = memory.kind == "turn" or memory.origin == "import"
        return any(marks[name] in self._found for name in (("memory", "said") if by_source else ("text",)))

    def has_session(self, session_id: str) -> bool:
        """Whether a turn of a session was forgotten; the first call reads all such sessions."""
        if self._sessions is None:
            sql = "SELECT DISTINCT session_mark FROM forgotten WHERE namespace = ? AND session_mark IS NOT NULL"
            self._sessions = {mark for (mark,) in self._txn.rows(sql, self._txn.key)} if self._read_key() else set()
        return self._key is not None and _mark(self._key, "session", session_id) in self._sessions

    def lift(self, id: str) -> int:
        """Take away the mark of a memory, or those of a session; gives how many there were."""
        key = self._read_key()
        if key is None:
            return 0
        self._sessions = None
        sql = "DELETE FROM forgotten WHERE namespace = ? AND (memory_mark = ? OR session_mark = ?) RETURNING 1"
        return len(self._txn.rows(sql, self._txn.key, _mark(key, "memory", id), _mark(key, "session", id)))

    def _read_key(self) -> bytes | None:
        if self._key is None:
            rows = self._txn.rows("SELECT value FROM learned WHERE namespace = ? AND name = ?", self._txn.key, KEY)
            self._key = bytes.fromhex(json.loads(rows[0][0])["key"]) if rows else None
        return self._key

    def _make_key(self) -> bytes:
        self._key = secrets.token_bytes(32)
        sql = "INSERT INTO learned (namespace, name, value) VALUES (?, ?, ?)"
        self._txn.run(sql, self._txn.key, KEY, compact({"key": self._key.hex()}))
        return self._key


def _marks(key: bytes, memory: Memory, content_hash: bytes) -> dict[str, str]:
    """The marks of a memory by the name of their column."""
    text = content_hash.hex()
    said = ("note", text)
    if memory.session_id is not None:
        said = ("turn", "\x1f".join((memory.session_id, text, str(to_micros(memory.event_at)))))
    return {
        "memory": _mark(key, "memory", memory.id),
        "text": _mark(key, "text", memory.id, text),
        "said": _mark(key, *said),
    }


def _mark(key: bytes, *parts: str) -> str:
    return blake2b("\x1f".join(parts).encode(), digest_size=WIDTH, key=key).hexdigest()
