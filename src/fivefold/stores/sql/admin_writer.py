"""Writing settings and learned values of a namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fivefold.stores.rows import compact
from fivefold.stores.sql.transaction import Transaction


class SqlAdminWriter:
    """Both are JSON objects."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    def settings(self) -> dict[str, Any]:
        return dict(json.loads(self._txn.rows("SELECT settings FROM namespaces WHERE key = ?", self._txn.key)[0][0]))

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        self._txn.run("UPDATE namespaces SET settings = ? WHERE key = ?", compact(dict(settings)), self._txn.key)

    def learned_value(self, name: str) -> dict[str, Any] | None:
        rows = self._txn.rows("SELECT value FROM learned WHERE namespace = ? AND name = ?", self._txn.key, name)
        return dict(json.loads(rows[0][0])) if rows else None

    def save_learned_value(self, name: str, value: Mapping[str, Any] | None) -> None:
        """Save a JSON object under a name; None deletes it."""
        if value is None:
            self._txn.run("DELETE FROM learned WHERE namespace = ? AND name = ?", self._txn.key, name)
        else:
            self._txn.run(
                "INSERT INTO learned (namespace, name, value) VALUES (?, ?, ?) "
                "ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value",
                self._txn.key,
                name,
                compact(dict(value)),
            )
