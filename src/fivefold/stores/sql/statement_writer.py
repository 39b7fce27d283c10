"""Writing statements: which hold, which have ended, and by what."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.stores.sql.memory_links import link_memories
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.entities import Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import BY_HAND
from fivefold.values.times import to_micros

_HOLDS = (
    "ended_by IS NULL AND (SELECT m.superseded_by FROM memories m "
    "WHERE m.namespace = ?1 AND m.row = slots.memory) IS NULL"
)
"""Of a statement of namespace ?1: nothing has ended it, neither alone nor with its whole memory."""


class SqlStatementWriter:
    """Subject, attribute, value; a newer value ends an older one."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    def current(self, subject: str, attribute: str) -> list[tuple[int, Statement]]:
        rows = self._txn.rows(
            "SELECT memory, subject, attribute, value FROM slots WHERE namespace = ? AND subject = ? AND attribute = ? "
            f"AND {_HOLDS} ORDER BY memory DESC",
            self._txn.key,
            subject,
            attribute,
        )
        return [(row, Statement(*parts)) for row, *parts in rows]

    def current_with_value(self, value: str) -> list[Statement]:
        """Statements that still hold and whose value begins with these words."""
        rows = self._txn.rows(
            f"SELECT subject, attribute, value FROM slots WHERE namespace = ? AND {_HOLDS} "
            "AND substr(lower(value) || ' ', 1, length(?2) + 1) = ?2 || ' ' ORDER BY memory, subject, attribute",
            self._txn.key,
            "".join(sign.lower() if sign.isascii() else sign for sign in value.strip()),
        )
        return [Statement(*parts) for parts in rows]

    def of_memory(self, row: int) -> list[Statement]:
        rows = self._txn.rows(
            "SELECT subject, attribute, value FROM slots WHERE namespace = ? AND memory = ? "
            "ORDER BY subject, attribute, value",
            self._txn.key,
            row,
        )
        return [Statement(*parts) for parts in rows]

    def add(self, row: int, statements: Sequence[Statement]) -> None:
        if not statements:
            return
        self._txn.db.many(
            "INSERT INTO slots (namespace, subject, attribute, value, memory) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [(self._txn.key, item.subject, item.attribute, item.value, row) for item in statements],
        )

    def end(self, row: int, statement: Statement, by: int) -> int:
        """A statement no longer holds, under any of its attributes; gives how many of the memory still do."""
        self._txn.run(
            "UPDATE slots SET ended_by = ? WHERE namespace = ? AND memory = ? AND value = ?",
            by,
            self._txn.key,
            row,
            statement.value,
        )
        still = f"SELECT count(*) FROM slots WHERE namespace = ? AND memory = ? AND {_HOLDS}"
        return self._txn.number(still, self._txn.key, row) or 0

    def supersede(self, old: Memory, new: Memory, why: str) -> None:
        ended = self._txn.rows(
            "UPDATE memories SET superseded_by = ?, given_valid_to = valid_to, valid_to = ? "
            "WHERE namespace = ? AND row = ? RETURNING content_hash",
            new.id,
            to_micros(new.event_at),
            self._txn.key,
            old.row,
        )
        for (content_hash,) in ended:
            self._txn.notes.pop(content_hash, None)
        link_memories(self._txn, new.row, old.row, "supersedes", why)

    def reinstate_ended_by(self, row: int) -> None:
        """What this memory superseded by its wording holds again; what it replaced by hand stays superseded."""
        ended = self._txn.rows(
            "SELECT target FROM memory_links WHERE namespace = ? AND source = ? AND relation = 'supersedes' "
            "AND why <> ? ORDER BY target",
            self._txn.key,
            row,
            BY_HAND,
        )
        for (target,) in ended:
            self._reinstate(target)

    def end_superseded(self, row: int | None = None) -> None:
        """End the statements that a superseding memory states again; of one memory or of the whole namespace."""
        self._txn.run(
            "UPDATE slots SET ended_by = (SELECT l.source FROM memory_links l JOIN slots newer "
            "ON newer.namespace = l.namespace AND newer.memory = l.source AND newer.subject = slots.subject "
            "AND newer.attribute = slots.attribute WHERE l.namespace = ?1 AND l.target = slots.memory "
            "AND l.relation = 'supersedes' ORDER BY l.source LIMIT 1) "
            "WHERE namespace = ?1 AND ended_by IS NULL AND memory = coalesce(?2, memory)",
            self._txn.key,
            row,
        )

    def pass_on(self, row: int) -> None:
        """A memory is removed: what it superseded is now superseded by its own successor, or holds again."""
        removed = self._txn.memory(row)
        assert removed is not None
        successor = None if removed.superseded_by is None else self._txn.first_memory("id = ?", removed.superseded_by)
        superseded = self._txn.rows(
            "SELECT target, why FROM memory_links WHERE namespace = ? AND source = ? AND relation = 'supersedes' "
            "ORDER BY target",
            self._txn.key,
            row,
        )
        for target, why in superseded:
            if successor is None:
                self._reinstate(target)
                continue
            self._txn.run(
                "UPDATE memories SET superseded_by = ? WHERE namespace = ? AND row = ? AND superseded_by = ?",
                successor.id,
                self._txn.key,
                target,
                removed.id,
            )
            self._txn.run(
                "UPDATE slots SET ended_by = ? WHERE namespace = ? AND memory = ? AND ended_by = ?",
                successor.row,
                self._txn.key,
                target,
                row,
            )
            link_memories(self._txn, successor.row, target, "supersedes", why)

    def reinstate(self, row: int) -> None:
        """A memory holds again, and what was likely to replace it no longer is."""
        self._reinstate(row)
        self._txn.run(
            "DELETE FROM memory_links WHERE namespace = ? AND target = ? AND relation = 'likely'", self._txn.key, row
        )

    def _reinstate(self, row: int) -> None:
        """A memory holds again with all its statements, until the end its caller gave it."""
        self._txn.notes.clear()
        self._txn.run(
            "UPDATE memories SET superseded_by = NULL, valid_to = given_valid_to, given_valid_to = NULL "
            "WHERE namespace = ? AND row = ?",
            self._txn.key,
            row,
        )
        self._txn.run("UPDATE slots SET ended_by = NULL WHERE namespace = ? AND memory = ?", self._txn.key, row)
        self._txn.run(
            "DELETE FROM memory_links WHERE namespace = ? AND target = ? AND relation = 'supersedes'",
            self._txn.key,
            row,
        )
