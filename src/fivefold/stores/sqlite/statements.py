"""Writing statements: which hold, which have ended, and by what."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.memory import BY_HAND, Memory, Slot
from fivefold.stores.sqlite.transaction import Transaction
from fivefold.times import to_micros

_HOLDS = "ended_by IS NULL AND (SELECT superseded_by FROM memories WHERE row = slots.memory) IS NULL"
"""Of a statement: nothing has ended it, neither alone nor with all of its memory."""


class Statements(Transaction):
    """Subject, attribute, value; a newer value ends an older one."""

    def stated(self, subject: str, attribute: str) -> list[tuple[int, Slot]]:
        found = self._rows(
            "SELECT memory, subject, attribute, value FROM slots WHERE namespace = ? AND subject = ? AND attribute = ? "
            f"AND {_HOLDS} ORDER BY memory DESC",
            self._key, subject, attribute,
        )  # fmt: skip
        return [(row, Slot(*parts)) for row, *parts in found]

    def stated_as(self, value: str) -> list[Slot]:
        """Statements that still hold and whose value begins with these words."""
        found = self._rows(
            f"SELECT subject, attribute, value FROM slots WHERE namespace = ? AND {_HOLDS} "
            "AND substr(lower(value) || ' ', 1, length(?2) + 1) = lower(?2) || ' '",
            self._key, value.strip(),
        )  # fmt: skip
        return [Slot(*parts) for parts in found]

    def slots_at(self, row: int) -> list[Slot]:
        return [
            Slot(*parts) for parts in self._rows("SELECT subject, attribute, value FROM slots WHERE memory = ?", row)
        ]

    def state(self, row: int, slots: Sequence[Slot]) -> None:
        if not slots:
            return
        self._db.executemany(
            "INSERT OR IGNORE INTO slots VALUES (?, ?, ?, ?, ?, NULL)",
            [(self._key, slot.subject, slot.attribute, slot.value, row) for slot in slots],
        )

    def end_statement(self, row: int, slot: Slot, by: int) -> int:
        """A statement no longer holds, under whichever attributes it was noted; gives how many still do."""
        self._db.execute("UPDATE slots SET ended_by = ? WHERE memory = ? AND value = ?", (by, row, slot.value))
        return self._number(f"SELECT count(*) FROM slots WHERE memory = ? AND {_HOLDS}", row) or 0

    def supersede(self, old: Memory, new: Memory, why: str) -> None:
        self._db.execute(
            "UPDATE memories SET superseded_by = ?, given_valid_to = valid_to, valid_to = ? WHERE row = ?",
            (new.id, to_micros(new.event_at), old.row),
        )
        self.connect(new.row, old.row, "supersedes", why)

    def release(self, row: int) -> None:
        """What this memory had ended by its wording holds again; what it replaced by hand stays replaced."""
        ended = self._rows(
            "SELECT target FROM memory_links WHERE source = ? AND relation = 'supersedes' AND why <> ?", row, BY_HAND
        )
        for (target,) in ended:
            self.reinstate(target)

    def settle(self, row: int | None = None) -> None:
        """Which statements have ended, anew, by what supersedes what; of one memory or all of the namespace."""
        self._db.execute(
            "UPDATE slots SET ended_by = (SELECT l.source FROM memory_links l JOIN slots newer "
            "ON newer.memory = l.source AND newer.subject = slots.subject AND newer.attribute = slots.attribute "
            "WHERE l.target = slots.memory AND l.relation = 'supersedes' LIMIT 1) "
            "WHERE namespace = ? AND ended_by IS NULL AND memory = coalesce(?, memory)",
            (self._key, row),
        )

    def hand_over(self, row: int) -> None:
        """A memory goes: what it had replaced is now replaced by its own heir, or holds again when it has none."""
        heir = self._rows(
            "SELECT newer.row, newer.id FROM memories gone JOIN memories newer ON newer.namespace = gone.namespace "
            "AND newer.id = gone.superseded_by WHERE gone.row = ?",
            row,
        )
        replaced = self._rows("SELECT target, why FROM memory_links WHERE source = ? AND relation = 'supersedes'", row)
        for target, why in replaced:
            if not heir:
                self.reinstate(target)
                continue
            ((by, by_id),) = heir
            self._db.execute(
                "UPDATE memories SET superseded_by = ? WHERE row = ? AND superseded_by = "
                "(SELECT id FROM memories WHERE row = ?)",
                (by_id, target, row),
            )
            self._db.execute("UPDATE slots SET ended_by = ? WHERE memory = ? AND ended_by = ?", (by, target, row))
            self.connect(by, target, "supersedes", why)

    def reinstate(self, row: int) -> None:
        """A memory holds again, with all it states, until the end its caller had given it."""
        self._db.execute(
            "UPDATE memories SET superseded_by = NULL, valid_to = given_valid_to, given_valid_to = NULL WHERE row = ?",
            (row,),
        )
        self._db.execute("UPDATE slots SET ended_by = NULL WHERE memory = ?", (row,))
        self._db.execute("DELETE FROM memory_links WHERE target = ? AND relation = 'supersedes'", (row,))

    def connect(self, source: int, target: int, relation: str, why: str) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO memory_links VALUES (?, ?, ?, ?, ?)",
            (self._key, source, target, relation, why),
        )
