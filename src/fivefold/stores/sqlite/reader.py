"""A namespace as a recall sees it, in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fivefold.extract.kept import restored
from fivefold.memory import Extraction, Link, Memory, Session
from fivefold.recall import RouteHit, Vector
from fivefold.stores.base import Field, Filter, Space, Stats
from fivefold.stores.sqlite import lexical
from fivefold.stores.sqlite.rows import COLUMNS, memory_of
from fivefold.times import from_micros

if TYPE_CHECKING:
    from fivefold.stores.sqlite.store import SqliteStore


class SqliteReader:
    """Every statement is bound to the one namespace this reader was made for (R12)."""

    def __init__(self, store: SqliteStore, namespace: str) -> None:
        self._store = store
        self.namespace = namespace

    def exists(self) -> bool:
        return self._key() is not None

    def space(self) -> Space | None:
        rows = self._rows("SELECT key, embedder, dimension FROM spaces WHERE namespace = :ns AND state = 'active'")
        return Space(*rows[0]) if rows else None

    def settings(self) -> dict[str, Any]:
        rows = self._rows("SELECT settings FROM namespaces WHERE key = :ns")
        return dict(json.loads(rows[0][0])) if rows else {}

    def dense(self, where: Field, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        space = self.space()
        if space is None:
            return []
        with self._store.connections.reader() as connection:
            return self._store.held.search(connection, space, where, vector, depth, keep)

    def lexical(self, lexemes: Sequence[str], depth: int, keep: Filter) -> list[RouteHit]:
        key = self._key()
        if key is None or not lexemes:
            return []
        with self._store.connections.reader() as connection:
            return lexical.search(connection, key, lexemes, depth, keep)

    def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE row IN (SELECT value FROM json_each(:rows)) AND +namespace = :ns",
            rows=json.dumps(list(rows)),
        )
        return {columns[0]: memory_of(self.namespace, columns) for columns in found}

    def get(self, id: str) -> Memory | None:
        found = self._rows(f"SELECT {COLUMNS} FROM memories WHERE namespace = :ns AND id = :id", id=id)
        return memory_of(self.namespace, found[0]) if found else None

    def known(self, ids: Sequence[str]) -> set[str]:
        found = self._rows(
            "SELECT id FROM memories WHERE namespace = :ns AND id IN (SELECT value FROM json_each(:ids))",
            ids=json.dumps(list(ids)),
        )
        return {id for (id,) in found}

    def noted(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these the namespace holds as a note that still stands."""
        found = self._rows(
            "SELECT content_hash FROM memories WHERE namespace = :ns AND kind = 'note' AND superseded_by IS NULL "
            "AND content_hash IN (SELECT unhex(value) FROM json_each(:hashes))",
            hashes=json.dumps([item.hex() for item in hashes]),
        )
        return {item for (item,) in found}

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        found = self._rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE namespace = :ns AND row > :after "
            "ORDER BY row LIMIT :size",
            after=after,
            size=size,
        )
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in found]
        return [(memory, restored(memory, json.loads(extracted))) for memory, extracted in memories]

    def links(self, rows: Sequence[int]) -> dict[int, list[Link]]:
        """What each of these memories equals or supersedes, wholly or in part."""
        found = self._rows(
            "SELECT l.source, a.id, b.id, l.relation, l.why FROM memory_links l JOIN memories a ON a.row = l.source "
            "JOIN memories b ON b.row = l.target WHERE l.source IN (SELECT value FROM json_each(:rows)) "
            "AND l.namespace = :ns ORDER BY l.source, l.target, l.relation",
            rows=json.dumps(list(rows)),
        )
        links: dict[int, list[Link]] = {}
        for row, *parts in found:
            links.setdefault(row, []).append(Link(*parts))
        return links

    def sessions(self, limit: int) -> list[Session]:
        found = self._rows(
            "SELECT s.id, s.started_at, s.ended_at, s.turns, m.id FROM sessions s "
            "LEFT JOIN memories m ON m.row = s.memory WHERE s.namespace = :ns "
            "ORDER BY s.ended_at DESC, s.id LIMIT :limit",
            limit=limit,
        )
        return [
            Session(id, from_micros(start), from_micros(end), turns, memory) for id, start, end, turns, memory in found
        ]

    def recalled(self, recall_id: str) -> tuple[str, ...] | None:
        self._store.flush_log()
        found = self._rows("SELECT returned FROM recalls WHERE namespace = :ns AND id = :id", id=recall_id)
        return tuple(item[0] for item in json.loads(found[0][0])) if found else None

    def stats(self) -> Stats:
        self._store.flush_log()
        space = self.space()
        first, last = self._one("SELECT min(event_at), max(event_at) FROM memories WHERE namespace = :ns", 2)
        return Stats(
            namespace=self.namespace,
            memories=self._count("memories WHERE namespace = :ns"),
            by_kind=self._groups("kind"),
            by_type=self._groups("type"),
            superseded=self._count("memories WHERE namespace = :ns AND superseded_by IS NOT NULL"),
            sessions=self._count("sessions WHERE namespace = :ns"),
            entities=self._count("entities WHERE namespace = :ns"),
            links=self._count("links JOIN entities ON entities.key = links.entity WHERE namespace = :ns"),
            edges=self._count("edges WHERE namespace = :ns"),
            vectors=self._count("vectors WHERE space = :space", space=space.key) if space else 0,
            embedder=space.embedder if space else None,
            recalls=self._count("recalls WHERE namespace = :ns"),
            feedback=self._count("feedback WHERE namespace = :ns"),
            first_event_at=None if first is None else from_micros(first),
            last_event_at=None if last is None else from_micros(last),
            bytes_on_disk=self._store.size(),
            namespaces=self._store.namespaces(),
        )

    def _key(self) -> int | None:
        return self._store.key_of(self.namespace)

    def _rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        key = self._key()
        if key is None:
            return []
        with self._store.connections.reader() as connection:
            return connection.execute(sql, {"ns": key, **values}).fetchall()

    def _one(self, sql: str, width: int, **values: object) -> tuple[Any, ...]:
        rows = self._rows(sql, **values)
        return rows[0] if rows else (None,) * width

    def _count(self, source: str, **values: object) -> int:
        return int(self._one(f"SELECT count(*) FROM {source}", 1, **values)[0] or 0)

    def _groups(self, column: str) -> dict[str, int]:
        rows = self._rows(f"SELECT {column}, count(*) FROM memories WHERE namespace = :ns GROUP BY 1 ORDER BY 1")
        return {name: int(count) for name, count in rows}
