"""The audit log of a SQL store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.shared_tables import SharedTables
from fivefold.values.access import AuditEntry
from fivefold.values.times import from_micros, to_micros

_COLUMNS = "at, key_id, action, namespace, subject, outcome"


class SqlAuditStore:
    """Entries are numbered in the order of writing."""

    def __init__(self, tables: SharedTables) -> None:
        self._tables = tables

    @property
    def read_only(self) -> bool:
        return self._tables.read_only

    def add(self, entries: Sequence[AuditEntry]) -> None:
        with self._tables.writing() as db:
            insert_entries(db, entries)

    def all(self) -> list[AuditEntry]:
        return [_entry_of(row) for row in self._tables.rows(f"SELECT id, {_COLUMNS} FROM audit ORDER BY id")]

    def page(
        self, before: int | None, limit: int, namespaces: Sequence[str] | None, key_id: str | None
    ) -> list[AuditEntry]:
        """Entries before an id, latest first; of some namespaces or all, of one key or all."""
        conditions: list[str] = ["id < ?"]
        values: list[int | str] = [2**62 if before is None else before]
        if namespaces is not None:
            conditions.append(f"namespace IN ({', '.join('?' * len(namespaces)) or 'NULL'})")
            values.extend(namespaces)
        if key_id is not None:
            conditions.append("key_id = ?")
            values.append(key_id)
        sql = f"SELECT id, {_COLUMNS} FROM audit WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
        return [_entry_of(row) for row in self._tables.rows(sql, (*values, limit))]

    def trim(self, since: datetime, most: int, reads: Sequence[str]) -> None:
        """Delete entries before a time, and all but the latest `most` of changes and the latest `most` of the rest.

        They are counted apart, so that reading a lot never drives out who changed what.
        """
        with self._tables.writing() as db:
            looks = f"({db.dialect.among('a.action', ':reads')} OR a.outcome = 'refused')"
            actions = db.dialect.as_list(reads)
            db.run(
                "DELETE FROM audit WHERE id < (SELECT a.id FROM audit a WHERE a.at >= ? ORDER BY a.id LIMIT 1)",
                (to_micros(since),),
            )
            for kind in (looks, f"NOT {looks}"):
                db.run(
                    f"DELETE FROM audit WHERE id IN (SELECT a.id FROM audit a WHERE {kind} AND a.id <= "
                    f"(SELECT a.id FROM audit a WHERE {kind} ORDER BY a.id DESC LIMIT 1 OFFSET :most))",
                    {"reads": actions, "most": most},
                )


def insert_entries(db: Database, entries: Iterable[AuditEntry]) -> None:
    db.many(
        f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        [(to_micros(e.at), e.key_id, e.action, e.namespace, e.subject, e.outcome) for e in entries],
    )


def _entry_of(row: tuple[Any, ...]) -> AuditEntry:
    id, at, key_id, action, namespace, subject, outcome = row
    return AuditEntry(
        id=id, at=from_micros(at), key_id=key_id, action=action, namespace=namespace, subject=subject, outcome=outcome
    )
