"""What a store keeps for all its namespaces: API keys and the audit log."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from fivefold.stores.sql.dialect import Database, Values
from fivefold.stores.sql.rows import compact
from fivefold.stores.sql.scoped_reader import moment
from fivefold.values.access import AuditEntry, Key
from fivefold.values.times import from_micros, to_micros

_KEY = "id, name, role, namespaces, created_at, expires_at, revoked_at, last_used_at"
_ENTRY = "at, key_id, action, namespace, subject, outcome"


class Ledger(ABC):
    """Keys are looked up anew each time, so that one revoked anywhere is refused everywhere at once."""

    read_only = False

    @abstractmethod
    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """The rows of one reading statement, as new as can be."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Database]:
        """A transaction over keys and notes: durable when it ends, or undone."""

    @abstractmethod
    def answering(self, namespace: str) -> AbstractContextManager[tuple[Database, int | str]]:
        """A transaction over the kept answers of one namespace, and what stands for that namespace among them."""

    def has_keys(self) -> bool:
        return bool(self.rows("SELECT 1 FROM api_keys LIMIT 1"))

    def keys(self) -> list[Key]:
        return [_key_of(row) for row in self.rows(f"SELECT {_KEY} FROM api_keys ORDER BY created_at, id")]

    def key(self, id: str) -> tuple[Key, bytes] | None:
        """A key with the hash of its secret."""
        found = self.rows(f"SELECT {_KEY}, digest FROM api_keys WHERE id = ?", (id,))
        return (_key_of(found[0][:-1]), bytes(found[0][-1])) if found else None

    def add_key(self, key: Key, digest: bytes, noted: AuditEntry) -> None:
        expires = None if key.expires_at is None else to_micros(key.expires_at)
        names = compact(list(key.namespaces))
        with self.writing() as db:
            db.run(
                "INSERT INTO api_keys (id, name, role, namespaces, digest, created_at, expires_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key.id, key.name, key.role, names, digest, to_micros(key.created_at), expires),
            )
            _note(db, [noted])

    def revoke_key(self, id: str, noted: AuditEntry) -> bool:
        """Whether there was such a key that was not revoked yet."""
        with self.writing() as db:
            gone = db.rows(
                "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id",
                (to_micros(noted.at), id),
            )
            if gone:
                _note(db, [noted])
        return bool(gone)

    def key_used(self, id: str, at: datetime, unless_since: datetime) -> None:
        """When a key was last used, unless that was noted since."""
        with self.writing() as db:
            db.run(
                "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)",
                (to_micros(at), id, to_micros(unless_since)),
            )

    def note(self, entries: Sequence[AuditEntry]) -> None:
        with self.writing() as db:
            _note(db, entries)

    def entries(
        self, before: int | None, limit: int, namespaces: Sequence[str] | None, key_id: str | None
    ) -> list[AuditEntry]:
        """Notes before one, latest first; of some namespaces or of all, of one key or of anyone."""
        conditions: list[str] = ["id < ?"]
        values: list[int | str] = [2**62 if before is None else before]
        if namespaces is not None:
            conditions.append(f"namespace IN ({', '.join('?' * len(namespaces)) or 'NULL'})")
            values.extend(namespaces)
        if key_id is not None:
            conditions.append("key_id = ?")
            values.append(key_id)
        where = " AND ".join(conditions)
        found = self.rows(f"SELECT id, {_ENTRY} FROM audit WHERE {where} ORDER BY id DESC LIMIT ?", (*values, limit))
        return [_entry_of(row) for row in found]

    def trim(self, since: datetime, most: int, reads: Sequence[str]) -> None:
        """Let go what was noted before a time, and all but the latest so many of changes and of all else.

        They are counted apart, so that nobody who reads a lot drives out who changed what.
        """
        with self.writing() as db:
            looks = f"({db.dialect.among('a.action', ':reads')} OR a.outcome = 'refused')"
            listed = db.dialect.listed(reads)
            db.run(
                "DELETE FROM audit WHERE id < (SELECT a.id FROM audit a WHERE a.at >= ? ORDER BY a.id LIMIT 1)",
                (to_micros(since),),
            )
            for kind in (looks, f"NOT {looks}"):
                db.run(
                    f"DELETE FROM audit WHERE id IN (SELECT a.id FROM audit a WHERE {kind} AND a.id <= "
                    f"(SELECT a.id FROM audit a WHERE {kind} ORDER BY a.id DESC LIMIT 1 OFFSET :most))",
                    {"reads": listed, "most": most},
                )


def _note(db: Database, entries: Sequence[AuditEntry]) -> None:
    db.many(
        f"INSERT INTO audit ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?)",
        [(to_micros(e.at), e.key_id, e.action, e.namespace, e.subject, e.outcome) for e in entries],
    )


def _key_of(row: tuple[Any, ...]) -> Key:
    id, name, role, namespaces, created, expires, revoked, used = row
    return Key(
        id=id,
        name=name,
        role=role,
        namespaces=tuple(json.loads(namespaces)),
        created_at=from_micros(created),
        expires_at=moment(expires),
        revoked_at=moment(revoked),
        last_used_at=moment(used),
    )


def _entry_of(row: tuple[Any, ...]) -> AuditEntry:
    id, at, key_id, action, namespace, subject, outcome = row
    return AuditEntry(
        id=id, at=from_micros(at), key_id=key_id, action=action, namespace=namespace, subject=subject, outcome=outcome
    )
