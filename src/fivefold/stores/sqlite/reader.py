"""A namespace as a recall sees it, in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fivefold.extract.kept import restored
from fivefold.memory import Edge, Entity, Extraction, Link, Memory, Session, Type
from fivefold.recall import Matrix, RouteHit, Vector
from fivefold.stores.base import Arm, Called, Composite, Feedback, Field, Filter, Fused, Space, Stats, Walk
from fivefold.stores.sqlite import lexical, together
from fivefold.stores.sqlite.rows import COLUMNS, memory_of
from fivefold.stores.sqlite.vectors import stored
from fivefold.stores.sqlite.walk import walk
from fivefold.times import from_micros, to_micros

if TYPE_CHECKING:
    from fivefold.stores.sqlite.store import SqliteStore


MOST_CALLED = 64
"""Entities under one alias that are considered; more share a name than anyone could tell apart by it."""


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

    def dense(self, space: Space, where: Field, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        with self._store.connections.reader() as connection:
            return self._store.held.search(connection, space, where, vector, depth, keep)

    def lexical(self, lexemes: Sequence[str], depth: int, keep: Filter) -> list[RouteHit]:
        key = self._key()
        if key is None or not lexemes:
            return []
        with self._store.connections.reader() as connection:
            return lexical.search(connection, key, lexemes, depth, keep)

    def patterns(self, space: Space, where: Field, vector: Vector, size: int, keep: Filter) -> Matrix:
        with self._store.connections.reader() as connection:
            return self._store.held.patterns(connection, space, where, vector, size, keep)

    def rrf(
        self, space: Space | None, vector: Vector | None, lexemes: Sequence[str], arms: Sequence[Arm], k: float
    ) -> list[Fused]:
        key = self._key()
        if key is None:
            return []
        with self._store.connections.reader() as connection:
            return together.rrf(connection, key, space, vector, lexemes, arms, k)

    def composite(self, space: Space, vector: Vector, how: Composite) -> list[Fused]:
        with self._store.connections.reader() as connection:
            return together.composite(connection, space, vector, how)

    def vectors(self, space: Space, rows: Sequence[int]) -> dict[int, Vector]:
        """What these memories say as a whole, turns, notes and sessions alike."""
        with self._store.connections.reader() as connection:
            return stored(connection, space, rows, ["full", "session"])

    def neighbours(self, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """The turn before and the turn after each of these turns in its session."""
        beside = (
            "(SELECT n.row FROM memories n WHERE n.namespace = :ns AND n.session_id = m.session_id "
            "AND n.kind = 'turn' AND (n.turn_index, n.row) {0} (m.turn_index, m.row) "
            "ORDER BY n.turn_index {1}, n.row {1} LIMIT 1)"
        )
        found = self._rows(
            f"SELECT m.row, {beside.format('<', 'DESC')}, {beside.format('>', 'ASC')} FROM json_each(:rows) wanted "
            "CROSS JOIN memories m ON m.row = wanted.value WHERE m.kind = 'turn' AND +m.namespace = :ns",
            rows=json.dumps(list(rows)),
        )
        return {row: (before, after) for row, before, after in found}

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
            f"SELECT {COLUMNS}, extracted FROM memories WHERE row > :after AND +namespace = :ns "
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

    def entities(self, alias: str | None, limit: int) -> list[Entity]:
        if alias is None:
            return self._entities("e.kind <> 'topic' ORDER BY e.links DESC, e.key LIMIT :limit", limit=limit)
        return self._entities(
            "e.key IN (SELECT entity FROM entity_aliases WHERE namespace = :ns AND alias = :alias) "
            "ORDER BY e.links DESC, e.key LIMIT :limit",
            alias=alias,
            limit=limit,
        )

    def entities_at(self, keys: Sequence[int]) -> list[Entity]:
        return self._entities("e.key IN (SELECT value FROM json_each(:keys))", keys=json.dumps(list(keys)))

    def edges(self, entity: int, limit: int) -> list[Edge]:
        found = self._rows(
            "SELECT d.key, a.name, d.relation, b.name, d.kind, d.confidence, d.count, d.valid_from, d.valid_to "
            "FROM edges d JOIN entities a ON a.key = d.source JOIN entities b ON b.key = d.target "
            "WHERE d.namespace = :ns AND d.key IN (SELECT key FROM edges WHERE source = :entity UNION ALL "
            "SELECT key FROM edges WHERE target = :entity) ORDER BY d.kind = 'semantic', d.confidence DESC, d.key "
            "LIMIT :limit",
            entity=entity,
            limit=limit,
        )
        return [
            Edge(key, source, relation, target, kind, confidence, count, _moment(since), _moment(until))
            for key, source, relation, target, kind, confidence, count, since, until in found
        ]

    def called(self, aliases: Sequence[str]) -> list[Called]:
        found = self._rows(
            "SELECT a.alias, e.key, e.name, e.kind, e.links, a.part FROM json_each(:aliases) wanted "
            "CROSS JOIN entity_aliases a ON a.namespace = :ns AND a.alias = wanted.value AND a.entity IN "
            "(SELECT entity FROM entity_aliases WHERE namespace = :ns AND alias = wanted.value "
            "ORDER BY entity LIMIT :most) "
            "CROSS JOIN entities e ON e.key = a.entity",
            aliases=json.dumps(list(aliases), ensure_ascii=False),
            most=MOST_CALLED,
        )
        return [Called(alias, key, name, kind, links, bool(part)) for alias, key, name, kind, links, part in found]

    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        """The latest memories that hold any of these lexemes, unranked."""
        key = self._key()
        if key is None or not lexemes:
            return []
        with self._store.connections.reader() as connection:
            return lexical.latest(connection, key, lexemes, limit)

    def mentioned(self, rows: Sequence[int], entities: Sequence[int]) -> dict[int, int]:
        """In how many of these memories each of these entities is mentioned."""
        found = self._rows(
            "SELECT l.entity, count(*) FROM json_each(:rows) m CROSS JOIN links l ON l.memory = m.value "
            "WHERE l.entity IN (SELECT value FROM json_each(:entities)) GROUP BY l.entity",
            rows=json.dumps(list(rows)),
            entities=json.dumps(list(entities)),
        )
        return dict(found)

    def near(self, alias: str, entities: Sequence[int]) -> list[int]:
        """Which of these entities an edge ties to the entity of that name."""
        found = self._rows(
            "SELECT e.value FROM json_each(:entities) e WHERE EXISTS (SELECT 1 FROM entity_aliases a JOIN edges d "
            "ON (d.source = a.entity AND d.target = e.value) OR (d.target = a.entity AND d.source = e.value) "
            "WHERE a.namespace = :ns AND a.alias = :alias)",
            alias=alias,
            entities=json.dumps(list(entities)),
        )
        return [key for (key,) in found]

    def related(self, entity: int, relations: Sequence[str], inverse: bool) -> list[Entity]:
        here, there = ("target", "source") if inverse else ("source", "target")
        return self._entities(
            f"e.key IN (SELECT {there} FROM edges WHERE {here} = :entity AND valid_to IS NULL "
            "AND relation IN (SELECT value FROM json_each(:relations)))",
            entity=entity,
            relations=json.dumps(list(relations)),
        )

    def walk(self, roots: Sequence[tuple[int, float]], how: Walk, depth: int) -> list[RouteHit]:
        key = self._key()
        if key is None or not roots:
            return []
        with self._store.connections.reader() as connection:
            return walk(connection, key, roots, how, depth)

    def temporal(self, start: datetime, end: datetime, depth: int) -> list[RouteHit]:
        """Events of the window; when there are too many, those nearest to its centre, else as they happened."""
        first, last = to_micros(start), to_micros(end)
        found = self._rows(
            "SELECT row, event_at FROM memories INDEXED BY memories_events WHERE namespace = :ns AND type = 'event' "
            "AND event_at >= :first AND event_at < :last ORDER BY abs(event_at - :centre), row LIMIT :most",
            first=first, last=last, centre=(first + last) // 2, most=depth + 1,
        )  # fmt: skip
        if len(found) <= depth:
            found.sort(key=lambda item: (item[1], item[0]))
        return [RouteHit(row, 1.0) for row, _ in found[:depth]]

    def holds_type(self, type: Type, at_least: int) -> bool:
        counted = self._one(
            "SELECT count(*) FROM (SELECT 1 FROM memories WHERE namespace = :ns AND type = :type LIMIT :most)", 1,
            type=type, most=at_least,
        )  # fmt: skip
        return bool(counted[0] and counted[0] >= at_least)

    def session_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        """The rows of the memories of these sessions."""
        found = self._rows(
            "SELECT s.id, s.memory FROM json_each(:ids) wanted CROSS JOIN sessions s ON s.namespace = :ns "
            "AND s.id = wanted.value WHERE s.memory IS NOT NULL",
            ids=json.dumps(list(session_ids)),
        )
        return dict(found)

    def last_talk(self, before: datetime) -> datetime | None:
        """When the last session ended that is over at that time."""
        sql = "SELECT max(ended_at) FROM sessions WHERE namespace = :ns AND ended_at < :before"
        return _moment(self._one(sql, 1, before=to_micros(before))[0])

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
        key = self._key()
        waiting = None if key is None else self._store.recalls.returned(key, recall_id)
        if waiting is not None:
            return waiting
        found = self._rows("SELECT returned FROM recalls WHERE namespace = :ns AND id = :id", id=recall_id)
        return tuple(item[0] for item in json.loads(found[0][0])) if found else None

    def feedback(self, most: int) -> list[Feedback]:
        """The latest recalls of which something was used, oldest first."""
        self._store.recalls.flush()
        found = self._rows(
            "SELECT r.id, r.returned, r.features, json_group_array(m.id) FROM feedback f "
            "JOIN recalls r ON r.namespace = f.namespace AND r.id = f.recall JOIN memories m ON m.row = f.memory "
            "WHERE f.namespace = :ns GROUP BY r.id ORDER BY r.id DESC LIMIT :most",
            most=most,
        )
        return [
            Feedback(id, tuple(item[0] for item in json.loads(returned)), frozenset(json.loads(used)), features)
            for id, returned, features, used in reversed(found)
        ]

    def feedback_count(self) -> int:
        """Of how many recalls something was used."""
        return int(self._one("SELECT count(DISTINCT recall) FROM feedback WHERE namespace = :ns", 1)[0] or 0)

    def signals(self, recall_id: str) -> dict[str, Any] | None:
        """What a recall weighed and by which weights, where its recipe predicts them."""
        key = self._key()
        waiting = None if key is None else self._store.recalls.signals(key, recall_id)
        text = (
            waiting or self._one("SELECT signals FROM recalls WHERE namespace = :ns AND id = :id", 1, id=recall_id)[0]
        )
        return None if text is None else dict(json.loads(text))

    def learned(self, name: str) -> dict[str, Any] | None:
        text = self._one("SELECT value FROM learned WHERE namespace = :ns AND name = :name", 1, name=name)[0]
        return None if text is None else dict(json.loads(text))

    def stats(self) -> Stats:
        self._store.recalls.flush()
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
            settings=self.settings(),
        )

    def _entities(self, condition: str, **values: object) -> list[Entity]:
        found = self._rows(
            "SELECT e.key, e.name, e.kind, e.links, (SELECT json_group_array(alias) FROM entity_aliases a "
            f"WHERE a.entity = e.key) FROM entities e WHERE e.namespace = :ns AND {condition}",
            **values,
        )
        return [Entity(key, name, kind, links, tuple(json.loads(aliases))) for key, name, kind, links, aliases in found]

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


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
