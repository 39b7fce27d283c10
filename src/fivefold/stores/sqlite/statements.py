"""Writing statements: which hold, which have ended, and by what."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.memory import Memory, Slot
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

    def stated_as(self, row: int, value: str) -> list[Slot]:
        """Statements of other memories that still hold and whose value begins with these words."""
        found = self._rows(
            f"SELECT subject, attribute, value FROM slots WHERE namespace = ? AND memory <> ? AND {_HOLDS} "
            "AND substr(lower(value) || ' ', 1, length(?3) + 1) = lower(?3) || ' '",
            self._key, row, value.strip(),
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
            "UPDATE memories SET superseded_by = ?, valid_to = ? WHERE row = ?",
            (new.id, to_micros(new.event_at), old.row),
        )
        self.relate(new.row, old.row, "supersedes", why)

    def relate(self, source: int, target: int, relation: str, why: str) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO memory_links VALUES (?, ?, ?, ?, ?)",
            (self._key, source, target, relation, why),
        )
