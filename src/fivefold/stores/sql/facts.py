"""Facts: the clauses of memories that a profile is made of, by section and weight."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.records import StoredFact
from fivefold.stores.sql.scope import Scope, Transaction
from fivefold.values.known import SECTIONS, FactSpan
from fivefold.values.times import from_micros, to_micros

_COLUMNS = (
    "m.row, m.id, f.section, f.weight, substr(m.content, f.starts + 1, f.ends - f.starts), f.starts, m.event_at, "
    "m.speaker, m.valid_to, m.superseded_by, m.expires_at, m.pinned, m.tags"
)
_SHARES = 100
"""A weight is stored as a whole number of hundredths."""


def put_facts(txn: Transaction, row: int, facts: Sequence[FactSpan]) -> None:
    """Store the facts of a memory."""
    if facts:
        txn.gather(
            _write_facts,
            [(txn.key, row, each.start, each.end, each.section, round(_SHARES * each.weight)) for each in facts],
        )


def _write_facts(txn: Transaction, rows: list[tuple[Any, ...]]) -> None:
    sql = "INSERT INTO facts (namespace, memory, starts, ends, section, weight) VALUES (?, ?, ?, ?, ?, ?)"
    txn.many(f"{sql} ON CONFLICT DO NOTHING", rows)


class FactReader:
    """The facts of a namespace with the fields of their memories that a view needs."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def best(self, limit: int) -> list[StoredFact]:
        """The facts of highest weight in each section, of memories that nothing replaced; the newest of equal ones."""
        parts = (
            f"SELECT * FROM (SELECT {_COLUMNS} FROM facts f CROSS JOIN memories m WHERE f.namespace = :ns "
            f"AND f.section = '{section}' AND m.row = f.memory AND {self._sql.unindexed('m.namespace')} = :ns "
            "AND m.superseded_by IS NULL ORDER BY f.weight DESC, f.memory DESC LIMIT :most) AS of_section"
            for section in SECTIONS
        )
        return list(map(_fact, self._scope.rows(" UNION ALL ".join(parts), most=limit)))

    def of_memories(self, rows: Sequence[int]) -> list[StoredFact]:
        """All facts of these memories, also of those that were replaced, in the order of the text."""
        found = self._scope.rows(
            f"SELECT {_COLUMNS} FROM facts f CROSS JOIN memories m WHERE f.namespace = :ns "
            f"AND {self._sql.among('f.memory', ':rows')} AND m.row = f.memory "
            f"AND {self._sql.unindexed('m.namespace')} = :ns ORDER BY f.memory, f.starts",
            rows=self._sql.as_list(rows),
        )
        return list(map(_fact, found))

    def since(self, at: datetime, limit: int) -> list[StoredFact]:
        """The facts of memories that were said or written after that time, the latest first."""
        found = self._scope.rows(
            f"SELECT {_COLUMNS} FROM (SELECT * FROM memories WHERE namespace = :ns AND event_at > :at "
            "AND kind <> 'session' ORDER BY event_at DESC, row DESC LIMIT :most) AS m "
            f"JOIN facts f ON f.namespace = :ns AND f.memory = m.row ORDER BY m.event_at DESC, m.row DESC, f.starts",
            at=to_micros(at),
            most=limit,
        )
        return list(map(_fact, found))

    def ended_since(self, at: datetime, until: datetime, limit: int) -> list[int]:
        """The rows of memories that ended after that time, by another memory or by their own end."""
        sql = (
            "SELECT row FROM memories WHERE namespace = :ns AND valid_to > :at AND valid_to <= :until "
            "AND kind <> 'session' ORDER BY valid_to DESC, row DESC LIMIT :most"
        )
        found = self._scope.rows(sql, at=to_micros(at), until=to_micros(until), most=limit)
        return [row for (row,) in found]

    def dated(self, start: datetime, end: datetime, longest: int, limit: int) -> list[int]:
        """The rows of memories that name a stretch beginning in the window, no longer than that many µs."""
        found = self._scope.rows(
            "SELECT memory, min(starts_at) FROM memory_times WHERE namespace = :ns AND starts_at >= :first "
            "AND starts_at < :last AND ends_at - starts_at <= :longest "
            "GROUP BY memory ORDER BY min(starts_at), memory LIMIT :most",
            first=to_micros(start),
            last=to_micros(end),
            longest=longest,
            most=limit,
        )
        return [row for row, _ in found]


def _fact(columns: tuple[Any, ...]) -> StoredFact:
    row, id, section, weight, text, start, event_at, speaker, valid_to, by, expires_at, pinned, tags = columns
    return StoredFact(
        row=row,
        id=id,
        section=section,
        weight=weight / _SHARES,
        text=text,
        start=start,
        event_at=from_micros(event_at),
        speaker=speaker,
        valid_to=None if valid_to is None else from_micros(valid_to),
        superseded_by=by,
        expires_at=None if expires_at is None else from_micros(expires_at),
        pinned=bool(pinned),
        tags=tags,
    )
