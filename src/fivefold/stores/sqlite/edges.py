"""Writing edges: which entities stand together, and how they are related (R6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import combinations

import apsw

from fivefold.memory import Mention, Relation
from fivefold.stores.sqlite.entities import Entities
from fivefold.times import to_micros

TOGETHER = "mentioned with"
MOST_TOGETHER = 8
"""Named entities of one memory that are tied to each other; a longer list says little of any pair."""

SINGLE = frozenset({"reports to", "works at", "lives in", "married to", "leads"})
"""Relations of which a new target ends the old one."""


class Edges(Entities):
    """Co-mentions are gathered and written at the end of the transaction."""

    def __init__(self, connection: apsw.Connection, key: int, namespace: str, now: datetime) -> None:
        super().__init__(connection, key, namespace, now)
        self._together: Counter[tuple[int, int]] = Counter()

    def tie(self, named: Sequence[int]) -> None:
        """The entities of one memory stand together."""
        self._together.update(combinations(sorted(named[:MOST_TOGETHER]), 2))

    def write_ties(self, step: int = 1) -> None:
        """Each further memory makes a tie surer: 0.5, 0.67, 0.75 …"""
        self._db.executemany(
            "INSERT INTO edges (namespace, source, target, relation, kind, confidence, count) "
            f"VALUES (?1, ?2, ?3, '{TOGETHER}', 'semantic', ?4 / (?4 + 1.0), ?4) ON CONFLICT DO UPDATE SET "
            "count = count + excluded.count, confidence = (count + excluded.count) / (count + excluded.count + 1.0)",
            [(self._key, source, target, step * count) for (source, target), count in self._together.items()],
        )
        self._together.clear()

    def untie(self, row: int) -> None:
        """A memory goes: its ties count one less, and what only it stated is stated no more."""
        self.write_ties()
        named = [
            key
            for (key,) in self._rows(
                "SELECT l.entity FROM links l JOIN entities e ON e.key = l.entity "
                "WHERE l.memory = ? AND e.kind <> 'topic' ORDER BY l.entity",
                row,
            )
        ]
        self._db.executemany(
            "UPDATE edges SET count = count - 1, confidence = max(count - 1, 0) / max(count, 1.0) "
            f"WHERE source = ? AND target = ? AND relation = '{TOGETHER}'",
            list(combinations(named, 2)),
        )
        stated = self._rows("SELECT edge FROM edge_memories WHERE memory = ?", row)
        self._db.execute("DELETE FROM edge_memories WHERE memory = ?", (row,))
        self._db.executemany(
            "DELETE FROM edges WHERE key = ?1 AND by_hand = 0 AND kind <> 'semantic' "
            "AND NOT EXISTS (SELECT 1 FROM edge_memories WHERE edge = ?1)",
            stated,
        )
        self._db.executemany(
            "DELETE FROM edges WHERE count <= 0 AND by_hand = 0 AND source = ? AND target = ? "
            f"AND relation = '{TOGETHER}'",
            list(combinations(named, 2)),
        )

    def state_relations(self, row: int, relations: Sequence[Relation], at: datetime) -> None:
        """The relations a memory states; a newer target of a relation that has one ends the older."""
        for item in relations:
            source, target = (self.entity_of(Mention(name, "name")) for name in (item.source, item.target))
            until = at if item.ended else None
            key = self.put_edge(source, target, item.relation, item.kind, item.confidence, at, until)
            self._db.execute("INSERT OR IGNORE INTO edge_memories VALUES (?, ?)", (key, row))
            if item.relation in SINGLE and not item.ended:
                self._db.execute(
                    "UPDATE edges SET valid_to = ?, kind = 'lifecycle' WHERE source = ? AND relation = ? AND key <> ? "
                    "AND by_hand = 0 AND valid_to IS NULL AND valid_from < ?",
                    (to_micros(at), source, item.relation, key, to_micros(at)),
                )

    def put_edge(
        self,
        source: int,
        target: int,
        relation: str,
        kind: str,
        confidence: float,
        valid_from: datetime | None,
        valid_to: datetime | None,
        by_hand: bool = False,
    ) -> int:
        since, until = (None if moment is None else to_micros(moment) for moment in (valid_from, valid_to))
        self._db.execute(
            "INSERT INTO edges (namespace, source, target, relation, kind, confidence, valid_from, valid_to, by_hand) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET kind = excluded.kind, "
            "confidence = max(confidence, excluded.confidence), valid_to = excluded.valid_to, "
            "valid_from = min(coalesce(valid_from, excluded.valid_from), coalesce(excluded.valid_from, valid_from)), "
            "by_hand = max(by_hand, excluded.by_hand)",
            (self._key, source, target, relation, kind, confidence, since, until, by_hand),
        )
        key = self._number(
            "SELECT key FROM edges WHERE source = ? AND target = ? AND relation = ?", source, target, relation
        )
        assert key is not None
        return key

    def drop_edge(self, key: int) -> bool:
        self._db.execute("DELETE FROM edges WHERE namespace = ? AND key = ?", (self._key, key))
        return self._db.changes() > 0
