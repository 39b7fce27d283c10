"""The API keys of a SQL store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fivefold.stores.rows import compact, micros_or_none, moment_or_none
from fivefold.stores.sql.audit_store import insert_entries
from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.shared_tables import SharedTables
from fivefold.values.access import AuditEntry, Key
from fivefold.values.times import from_micros, to_micros

_COLUMNS = "id, name, role, namespaces, created_at, expires_at, revoked_at, last_used_at"


class SqlKeyStore:
    """A key and the audit entry about it are written together."""

    def __init__(self, tables: SharedTables) -> None:
        self._tables = tables

    @property
    def read_only(self) -> bool:
        return self._tables.read_only

    def has_any(self) -> bool:
        return bool(self._tables.rows("SELECT 1 FROM api_keys LIMIT 1"))

    def all(self) -> list[Key]:
        return [_key_of(row) for row in self._tables.rows(f"SELECT {_COLUMNS} FROM api_keys ORDER BY created_at, id")]

    def get(self, id: str) -> tuple[Key, bytes] | None:
        """A key with the hash of its secret."""
        rows = self._tables.rows(f"SELECT {_COLUMNS}, digest FROM api_keys WHERE id = ?", (id,))
        return (_key_of(rows[0][:-1]), bytes(rows[0][-1])) if rows else None

    def add(self, key: Key, digest: bytes, entry: AuditEntry) -> None:
        self.restore([(key, digest)], [entry])

    def revoke(self, id: str, entry: AuditEntry) -> bool:
        """Whether there was such a key that was not revoked yet."""
        with self._tables.writing() as db:
            revoked = db.rows(
                "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id",
                (to_micros(entry.at), id),
            )
            if revoked:
                insert_entries(db, [entry])
        return bool(revoked)

    def mark_used(self, id: str, at: datetime, unless_since: datetime) -> None:
        """When a key was last used, unless a use after `unless_since` is noted."""
        with self._tables.writing() as db:
            db.run(
                "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)",
                (to_micros(at), id, to_micros(unless_since)),
            )

    def restore(self, keys: Iterable[tuple[Key, bytes]], entries: Iterable[AuditEntry]) -> None:
        """Add keys and audit entries as they are, all or none."""
        with self._tables.writing() as db:
            _insert_keys(db, keys)
            insert_entries(db, entries)


def _insert_keys(db: Database, keys: Iterable[tuple[Key, bytes]]) -> None:
    db.many(
        f"INSERT INTO api_keys ({_COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*_values_of(key), digest) for key, digest in keys],
    )


def _values_of(key: Key) -> tuple[Any, ...]:
    moments = (key.expires_at, key.revoked_at, key.last_used_at)
    names = compact(list(key.namespaces))
    return key.id, key.name, key.role, names, to_micros(key.created_at), *map(micros_or_none, moments)


def _key_of(row: tuple[Any, ...]) -> Key:
    id, name, role, namespaces, created, expires, revoked, used = row
    return Key(
        id=id,
        name=name,
        role=role,
        namespaces=tuple(json.loads(namespaces)),
        created_at=from_micros(created),
        expires_at=moment_or_none(expires),
        revoked_at=moment_or_none(revoked),
        last_used_at=moment_or_none(used),
    )
