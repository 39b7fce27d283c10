"""Writing statements: which hold, which have ended, and by what."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.stores.sql.transaction import Transaction
from fivefold.values.extraction import Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import BY_HAND
from fivefold.values.times import to_micros

_HOLDS = (
    "ended_by IS NULL AND (SELECT m.superseded_by FROM memories m "
    "WHERE m.namespace = ?1 AND m.row = slots.memory) IS NULL"
)
"""Of a statement of namespace ?1: nothing has ended it, neither alone nor with all of its memory."""


class Statements(Transaction):
    """Subject, attribute, value; a newer value ends an older one."""

    def stated(self, subject: str, attribute: str) -> list[tuple[int, Statement]]:
        found = self._rows(
            "SELECT memory, subject, attribute, value FROM slots WHERE namespace = ? AND subject = ? AND attribute = ? "
            f"AND {_HOLDS} ORDER BY memory DESC",
            self._key,
            subject,
            attribute,
        )
        return [(row, Statement(*parts)) for row, *parts in found]

    def stated_as(self, value: str) -> list[Statement]:
        """Statements that still hold and whose value begins with these words."""
        found = self._rows(
            f"SELECT subject, attribute, value FROM slots WHERE namespace = ? AND {_HOLDS} "
            "AND substr(lower(value) || ' ', 1, length(?2) + 1) = ?2 || ' ' ORDER BY memory, subject, attribute",
            self._key,
            "".join(sign.lower() if sign.isascii() else sign for sign in value.strip()),
        )
        return [Statement(*parts) for parts in found]

    def slots_at(self, row: int) -> list[Statement]:
        found = self._rows(
            "SELECT subject, attribute, value FROM slots WHERE namespace = ? AND memory = ? "
            "ORDER BY subject, attribute, value",
            self._key,
            row,
        )
        return [Statement(*parts) for parts in found]

    def state(self, row: int, slots: Sequence[Statement]) -> None:
        if not slots:
            return
        self._db.many(
            "INSERT INTO slots (namespace, subject, attribute, value, memory) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [(self._key, slot.subject, slot.attribute, slot.value, row) for slot in slots],
        )

    def end_statement(self, row: int, slot: Statement, by: int) -> int:
        """A statement no longer holds, under whichever attributes it was noted; gives how many still do."""
        self._run(
            "UPDATE slots SET ended_by = ? WHERE namespace = ? AND memory = ? AND value = ?",
            by,
            self._key,
            row,
            slot.value,
        )
        still = f"SELECT count(*) FROM slots WHERE namespace = ? AND memory = ? AND {_HOLDS}"
        return self._number(still, self._key, row) or 0

    def supersede(self, old: Memory, new: Memory, why: str) -> None:
        self._notes.clear()
        self._run(
            "UPDATE memories SET superseded_by = ?, given_valid_to = valid_to, valid_to = ? "
            "WHERE namespace = ? AND row = ?",
            new.id,
            to_micros(new.event_at),
            self._key,
            old.row,
        )
        self.connect(new.row, old.row, "supersedes", why)

    def release(self, row: int) -> None:
        """What this memory had ended by its wording holds again; what it replaced by hand stays replaced."""
        ended = self._rows(
            "SELECT target FROM memory_links WHERE namespace = ? AND source = ? AND relation = 'supersedes' "
            "AND why <> ? ORDER BY target",
            self._key,
            row,
            BY_HAND,
        )
        for (target,) in ended:
            self.reinstate(target)

    def settle(self, row: int | None = None) -> None:
        """Which statements have ended, anew, by what supersedes what; of one memory or all of the namespace."""
        self._run(
            "UPDATE slots SET ended_by = (SELECT l.source FROM memory_links l JOIN slots newer "
            "ON newer.namespace = l.namespace AND newer.memory = l.source AND newer.subject = slots.subject "
            "AND newer.attribute = slots.attribute WHERE l.namespace = ?1 AND l.target = slots.memory "
            "AND l.relation = 'supersedes' ORDER BY l.source LIMIT 1) "
            "WHERE namespace = ?1 AND ended_by IS NULL AND memory = coalesce(?2, memory)",
            self._key,
            row,
        )

    def hand_over(self, row: int) -> None:
        """A memory goes: what it had replaced is now replaced by its own heir, or holds again when it has none."""
        gone = self.at(row)
        assert gone is not None
        heir = None if gone.superseded_by is None else self.get(gone.superseded_by)
        replaced = self._rows(
            "SELECT target, why FROM memory_links WHERE namespace = ? AND source = ? AND relation = 'supersedes' "
            "ORDER BY target",
            self._key,
            row,
        )
        for target, why in replaced:
            if heir is None:
                self.reinstate(target)
                continue
            self._run(
                "UPDATE memories SET superseded_by = ? WHERE namespace = ? AND row = ? AND superseded_by = ?",
                heir.id,
                self._key,
                target,
                gone.id,
            )
            self._run(
                "UPDATE slots SET ended_by = ? WHERE namespace = ? AND memory = ? AND ended_by = ?",
                heir.row,
                self._key,
                target,
                row,
            )
            self.connect(heir.row, target, "supersedes", why)

    def reinstate(self, row: int) -> None:
        """A memory holds again, with all it states, until the end its caller had given it."""
        self._notes.clear()
        self._run(
            "UPDATE memories SET superseded_by = NULL, valid_to = given_valid_to, given_valid_to = NULL "
            "WHERE namespace = ? AND row = ?",
            self._key,
            row,
        )
        self._run("UPDATE slots SET ended_by = NULL WHERE namespace = ? AND memory = ?", self._key, row)
        self._run(
            "DELETE FROM memory_links WHERE namespace = ? AND target = ? AND relation = 'supersedes'", self._key, row
        )

    def connect(self, source: int, target: int, relation: str, why: str) -> None:
        self._run(
            "INSERT INTO memory_links (namespace, source, target, relation, why) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            self._key,
            source,
            target,
            relation,
            why,
        )
