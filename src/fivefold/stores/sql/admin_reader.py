"""Reading settings, learned values and figures of a namespace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fivefold.stores.protocol import VOCABULARY
from fivefold.stores.rows import moment_or_none
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.search_reader import SqlSearchReader
from fivefold.values.reports import Drift, Stats
from fivefold.values.times import from_micros


class SqlAdminReader:
    """What the namespace is set to and how much it has."""

    def __init__(self, scope: ScopedReader, search: SqlSearchReader, size: Callable[[], int]) -> None:
        """`size` gives the number of bytes that the store takes."""
        self._scope = scope
        self._search = search
        self._size = size

    def settings(self) -> dict[str, Any]:
        rows = self._scope.rows("SELECT settings FROM namespaces WHERE key = :ns")
        return dict(json.loads(rows[0][0])) if rows else {}

    def learned_value(self, name: str) -> dict[str, Any] | None:
        text = self._scope.one("SELECT value FROM learned WHERE namespace = :ns AND name = :name", 1, name=name)[0]
        return None if text is None else dict(json.loads(text))

    def stats(self) -> Stats:
        self._scope.log.flush()
        space = self._search.vector_space()
        first, last = self._scope.one("SELECT min(event_at), max(event_at) FROM memories WHERE namespace = :ns", 2)
        return Stats(
            namespace=self._scope.namespace,
            memories=self._scope.count("memories WHERE namespace = :ns"),
            by_kind=self._groups("kind"),
            by_type=self._groups("type"),
            superseded=self._scope.count("memories WHERE namespace = :ns AND superseded_by IS NOT NULL"),
            sessions=self._scope.count("sessions WHERE namespace = :ns"),
            entities=self._scope.count("entities WHERE namespace = :ns AND kind <> 'topic'"),
            links=self._scope.count("links WHERE namespace = :ns"),
            edges=self._scope.count("edges WHERE namespace = :ns"),
            vectors=self._search.count_vectors(space) if space else 0,
            embedder=space.embedder if space else None,
            recalls=self._scope.count("recalls WHERE namespace = :ns"),
            feedback=self._scope.count("feedback WHERE namespace = :ns"),
            first_event_at=moment_or_none(first),
            last_event_at=moment_or_none(last),
            bytes_on_disk=self._size(),
            drift=_drift(self.learned_value(VOCABULARY)),
            settings=self.settings(),
        )

    def _groups(self, column: str) -> dict[str, int]:
        rows = self._scope.rows(f"SELECT {column}, count(*) FROM memories WHERE namespace = :ns GROUP BY 1 ORDER BY 1")
        return {name: int(count) for name, count in rows}


def _drift(saved: dict[str, Any] | None) -> Drift | None:
    """The last measurement of the vocabulary."""
    if saved is None:
        return None
    return Drift(from_micros(saved["at"]), saved["lexemes"], saved["jaccard"], saved["reindexed"])
