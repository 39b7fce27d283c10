"""A namespace as a recall sees it: memories, sessions, the log of recalls. Searching is each store's own."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.protocol import VOCABULARY, Feedback, Space
from fivefold.stores.sql.entity_lookup import EntityReader
from fivefold.stores.sql.listing import ListingReader
from fivefold.stores.sql.recall_log import RecallLog
from fivefold.stores.sql.rows import COLUMNS, memory_of
from fivefold.stores.sql.scoped_reader import moment
from fivefold.values.extraction import Extraction
from fivefold.values.extraction_json import restored
from fivefold.values.memory import Memory, Type
from fivefold.values.reports import Drift, Link, Stats
from fivefold.values.times import from_micros, to_micros
from fivefold.values.trace import RouteHit


class SqlReader(EntityReader, ListingReader):
    """What needs no index of its own."""

    @abstractmethod
    def _key(self) -> int | None:
        """The namespace's key, if it exists."""

    @property
    @abstractmethod
    def _log(self) -> RecallLog: ...

    @abstractmethod
    def _held(self, space: Space) -> int:
        """How many vectors a space holds."""

    @abstractmethod
    def _size(self) -> int:
        """How many bytes the store takes."""

    def settings(self) -> dict[str, Any]:
        rows = self._rows("SELECT settings FROM namespaces WHERE key = :ns")
        return dict(json.loads(rows[0][0])) if rows else {}

    def space(self) -> Space | None:
        rows = self._rows("SELECT key, embedder, dimension FROM spaces WHERE namespace = :ns AND state = 'active'")
        return Space(*rows[0]) if rows else None

    def neighbours(self, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """The turn before and the turn after each of these turns in its session."""
        beside = (
            "(SELECT n.row FROM memories n WHERE n.namespace = :ns AND n.session_id = m.session_id "
            "AND n.kind = 'turn' AND (n.turn_index, n.row) {0} (m.turn_index, m.row) "
            "ORDER BY n.turn_index {1}, n.row {1} LIMIT 1)"
        )
        found = self._rows(
            f"SELECT m.row, {beside.format('<', 'DESC')}, {beside.format('>', 'ASC')} FROM "
            f"{self._sql.each(':rows', 'bigint')} CROSS JOIN memories m WHERE m.row = wanted.value "
            f"AND m.kind = 'turn' AND {self._sql.apart('m.namespace')} = :ns",
            rows=self._listed(rows),
        )
        return {row: (before, after) for row, before, after in found}

    def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        found = self._rows(
            f"SELECT {COLUMNS} FROM memories WHERE {self._sql.among('row', ':rows')} "
            f"AND {self._sql.apart('namespace')} = :ns",
            rows=self._listed(rows),
        )
        return {columns[0]: memory_of(self.namespace, columns) for columns in found}

    def get(self, id: str) -> Memory | None:
        found = self._rows(f"SELECT {COLUMNS} FROM memories WHERE namespace = :ns AND id = :id", id=id)
        return memory_of(self.namespace, found[0]) if found else None

    def known(self, ids: Sequence[str]) -> set[str]:
        found = self._rows(
            f"SELECT id FROM memories WHERE namespace = :ns AND {self._sql.among('id', ':ids')}", ids=self._listed(ids)
        )
        return {id for (id,) in found}

    def noted(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these the namespace holds as a note that still stands."""
        found = self._rows(
            "SELECT content_hash FROM memories WHERE namespace = :ns AND kind = 'note' AND superseded_by IS NULL "
            f"AND {self._sql.among('content_hash', ':hashes')}",
            hashes=self._listed(hashes),
        )
        return {item for (item,) in found}

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        found = self._rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE row > :after AND {self._sql.apart('namespace')} = :ns "
            "ORDER BY row LIMIT :size",
            after=after,
            size=size,
        )
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in found]
        return [(memory, restored(memory, json.loads(extracted))) for memory, extracted in memories]

    def links(self, rows: Sequence[int]) -> dict[int, list[Link]]:
        """What each of these memories equals or supersedes, wholly or in part."""
        found = self._rows(
            "SELECT l.source, a.id, b.id, l.relation, l.why FROM memory_links l "
            "JOIN memories a ON a.namespace = l.namespace AND a.row = l.source "
            "JOIN memories b ON b.namespace = l.namespace AND b.row = l.target "
            f"WHERE l.namespace = :ns AND {self._sql.among('l.source', ':rows')} "
            "ORDER BY l.source, l.target, l.relation",
            rows=self._listed(rows),
        )
        links: dict[int, list[Link]] = {}
        for row, *parts in found:
            links.setdefault(row, []).append(Link(*parts))
        return links

    def temporal(self, start: datetime, end: datetime, depth: int) -> list[RouteHit]:
        """Events of the window; when there are too many, those nearest to its centre, else as they happened."""
        first, last = to_micros(start), to_micros(end)
        found = self._rows(
            f"SELECT row, event_at FROM {self._sql.events} WHERE namespace = :ns AND type = 'event' "
            "AND event_at >= :first AND event_at < :last ORDER BY abs(event_at - :centre), row LIMIT :most",
            first=first,
            last=last,
            centre=(first + last) // 2,
            most=depth + 1,
        )
        if len(found) <= depth:
            found.sort(key=lambda item: (item[1], item[0]))
        return [RouteHit(row, 1.0) for row, _ in found[:depth]]

    def holds_type(self, type: Type, at_least: int) -> bool:
        counted = self._one(
            "SELECT count(*) FROM (SELECT 1 FROM memories WHERE namespace = :ns AND type = :type LIMIT :most) few",
            1,
            type=type,
            most=at_least,
        )
        return bool(counted[0] and counted[0] >= at_least)

    def session_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        """The rows of the memories of these sessions."""
        found = self._rows(
            f"SELECT s.id, s.memory FROM {self._sql.each(':ids', 'text')} CROSS JOIN sessions s "
            "WHERE s.namespace = :ns AND s.id = wanted.value AND s.memory IS NOT NULL",
            ids=self._listed(session_ids),
        )
        return dict(found)

    def last_talk(self, before: datetime) -> datetime | None:
        """When the last session ended that is over at that time."""
        sql = "SELECT max(ended_at) FROM sessions WHERE namespace = :ns AND ended_at < :before"
        return moment(self._one(sql, 1, before=to_micros(before))[0])

    def recalled(self, recall_id: str) -> tuple[str, ...] | None:
        """What a recall had returned. One that is spoken of is written, so that feedback on it does not outlive it."""
        key = self._key()
        waiting = None if key is None else self._log.returned(key, recall_id)
        if waiting is not None:
            self._log.flush()
            return waiting
        found = self._rows("SELECT returned FROM recalls WHERE namespace = :ns AND id = :id", id=recall_id)
        return tuple(item[0] for item in json.loads(found[0][0])) if found else None

    def feedback(self, most: int) -> list[Feedback]:
        """The latest recalls of which something was used or refused, oldest first."""
        self._log.flush()
        found = self._rows(
            "SELECT r.id, r.returned, r.features, m.id, f.used FROM feedback f "
            "JOIN recalls r ON r.namespace = f.namespace AND r.id = f.recall "
            "JOIN memories m ON m.namespace = f.namespace AND m.row = f.memory WHERE f.namespace = :ns AND f.recall IN "
            "(SELECT DISTINCT g.recall FROM feedback g JOIN recalls h ON h.namespace = g.namespace AND h.id = g.recall "
            "WHERE g.namespace = :ns ORDER BY g.recall DESC LIMIT :most) ORDER BY r.id",
            most=most,
        )
        said: dict[str, tuple[set[str], set[str]]] = {}
        logged: dict[str, tuple[str, bytes | None]] = {}
        for id, returned, features, memory, used in found:
            said.setdefault(id, (set(), set()))[used].add(memory)
            logged[id] = (returned, features)
        return [
            Feedback(
                id,
                tuple(item[0] for item in json.loads(returned)),
                frozenset(said[id][1]),
                features,
                frozenset(said[id][0]),
            )
            for id, (returned, features) in logged.items()
        ]

    def feedback_count(self) -> int:
        """Of how many recalls something was used or refused."""
        return int(self._one("SELECT count(DISTINCT recall) FROM feedback WHERE namespace = :ns", 1)[0] or 0)

    def signals(self, recall_id: str) -> dict[str, Any] | None:
        """What a recall weighed and by which weights, where its recipe predicts them."""
        key = self._key()
        waiting = None if key is None else self._log.signals(key, recall_id)
        text = (
            waiting or self._one("SELECT signals FROM recalls WHERE namespace = :ns AND id = :id", 1, id=recall_id)[0]
        )
        return None if text is None else dict(json.loads(text))

    def learned(self, name: str) -> dict[str, Any] | None:
        text = self._one("SELECT value FROM learned WHERE namespace = :ns AND name = :name", 1, name=name)[0]
        return None if text is None else dict(json.loads(text))

    def stats(self) -> Stats:
        self._log.flush()
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
            links=self._count("links WHERE namespace = :ns"),
            edges=self._count("edges WHERE namespace = :ns"),
            vectors=self._held(space) if space else 0,
            embedder=space.embedder if space else None,
            recalls=self._count("recalls WHERE namespace = :ns"),
            feedback=self._count("feedback WHERE namespace = :ns"),
            first_event_at=moment(first),
            last_event_at=moment(last),
            bytes_on_disk=self._size(),
            drift=_drift(self.learned(VOCABULARY)),
            settings=self.settings(),
        )

    def _groups(self, column: str) -> dict[str, int]:
        rows = self._rows(f"SELECT {column}, count(*) FROM memories WHERE namespace = :ns GROUP BY 1 ORDER BY 1")
        return {name: int(count) for name, count in rows}


def _drift(kept: dict[str, Any] | None) -> Drift | None:
    """The last look at the vocabulary as it was kept."""
    if kept is None:
        return None
    return Drift(from_micros(kept["at"]), kept["lexemes"], kept["jaccard"], kept["reindexed"])
