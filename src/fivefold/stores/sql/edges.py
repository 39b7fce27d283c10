"""Writing edges: which entities stand together, and how they are related (R6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations

from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.entities import Entities, alias_of
from fivefold.values.extraction import Mention
from fivefold.values.graph import CO_MENTION, Relation
from fivefold.values.times import to_micros

MOST_TOGETHER = 8
"""Named entities of one memory that are tied to each other; a longer list says little of any pair."""

SINGLE = frozenset({"reports to", "works at", "lives in", "married to", "leads"})
"""Relations of which a new target ends the old one."""


class Edges(Entities):
    """Co-mentions are gathered and written at the end of the transaction."""

    def __init__(self, db: Database, key: int, namespace: str, now: datetime) -> None:
        super().__init__(db, key, namespace, now)
        self._together: Counter[tuple[int, int]] = Counter()

    def tie(self, named: Sequence[int]) -> None:
        """The entities of one memory stand together."""
        self._together.update(_pairs(named))

    def write_ties(self, step: int = 1) -> None:
        """Each further memory makes a tie surer: 0.5, 0.67, 0.75 …"""
        self._db.many(
            "INSERT INTO edges (key, namespace, source, target, relation, kind, confidence, count) "
            f"VALUES (?, ?, ?, ?, '{CO_MENTION}', 'semantic', ?, ?) "
            "ON CONFLICT (namespace, source, target, relation) DO UPDATE SET count = edges.count + excluded.count, "
            "confidence = CAST(edges.count + excluded.count AS double precision) / "
            "(edges.count + excluded.count + 1)",
            [
                (self._db.new_key(), self._key, source, target, step * count / (step * count + 1), step * count)
                for (source, target), count in sorted(self._together.items())
            ],
        )
        self._together.clear()

    def untie(self, row: int) -> None:
        """A memory goes: its ties count one less, and what only it stated is stated no more."""
        self.write_counts()
        self.write_ties()
        pairs = [(self._key, *pair) for pair in _pairs(self._named_in(row))]
        more = self._sql.greatest
        self._db.many(
            f"UPDATE edges SET count = count - 1, confidence = CAST({more}(count - 1, 0) AS double precision) "
            f"/ {more}(count, 1) WHERE namespace = ? AND source = ? AND target = ? AND relation = '{CO_MENTION}'",
            pairs,
        )
        stated = self._rows(
            "SELECT namespace, edge FROM edge_memories WHERE namespace = ? AND memory = ?", self._key, row
        )
        self._run("DELETE FROM edge_memories WHERE namespace = ? AND memory = ?", self._key, row)
        self._db.many(
            "DELETE FROM edges WHERE namespace = ?1 AND key = ?2 AND by_hand = 0 AND kind <> 'semantic' "
            "AND NOT EXISTS (SELECT 1 FROM edge_memories s WHERE s.namespace = ?1 AND s.edge = ?2)",
            stated,
        )
        self._db.many(
            "DELETE FROM edges WHERE count <= 0 AND by_hand = 0 AND namespace = ? AND source = ? AND target = ? "
            f"AND relation = '{CO_MENTION}'",
            pairs,
        )

    def _named_in(self, row: int) -> list[int]:
        """The entities a memory names, in the order in which it does."""
        found = self._rows("SELECT extracted FROM memories WHERE namespace = ? AND row = ?", self._key, row)
        aliases = self._rows(
            "SELECT a.alias, l.entity FROM links l JOIN entity_aliases a ON a.namespace = l.namespace "
            "AND a.entity = l.entity WHERE l.namespace = ? AND l.memory = ? "
            "ORDER BY a.part DESC, l.entity DESC",
            self._key,
            row,
        )
        called = dict(aliases)
        mentions = json.loads(found[0][0]).get("mentions", ())
        named = [called.get(alias_of(name)) for name, kind, _ in mentions if kind != "topic"]
        return list(dict.fromkeys(key for key in named if key is not None))

    def state_relations(self, row: int, relations: Sequence[Relation], at: datetime) -> None:
        """The relations a memory states; a newer target of a relation that has one ends the older."""
        for item in relations:
            source, target = (self.entity_of(Mention(name, "name")) for name in (item.source, item.target))
            until = at if item.ended else None
            key = self.put_edge(source, target, item.relation, item.kind, item.confidence, at, until)
            self._run(
                "INSERT INTO edge_memories (namespace, edge, memory) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                self._key,
                key,
                row,
            )
            if item.relation in SINGLE and not item.ended:
                self._run(
                    "UPDATE edges SET valid_to = ?1, kind = 'lifecycle' WHERE namespace = ?2 AND source = ?3 "
                    "AND relation = ?4 AND key <> ?5 AND by_hand = 0 AND valid_to IS NULL AND valid_from < ?1",
                    to_micros(at),
                    self._key,
                    source,
                    item.relation,
                    key,
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
        less, more = self._sql.least, self._sql.greatest
        self._db.insert(
            "INSERT INTO edges "
            "(key, namespace, source, target, relation, kind, confidence, valid_from, valid_to, by_hand) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, source, target, relation) DO UPDATE SET "
            f"kind = excluded.kind, confidence = {more}(edges.confidence, excluded.confidence), "
            f"valid_to = excluded.valid_to, valid_from = {less}(coalesce(edges.valid_from, excluded.valid_from), "
            "coalesce(excluded.valid_from, edges.valid_from)), "
            f"by_hand = {more}(edges.by_hand, excluded.by_hand)",
            self._key,
            source,
            target,
            relation,
            kind,
            confidence,
            since,
            until,
            int(by_hand),
        )
        key = self._number(
            "SELECT key FROM edges WHERE namespace = ? AND source = ? AND target = ? AND relation = ?",
            self._key,
            source,
            target,
            relation,
        )
        assert key is not None
        return key

    def drop_edge(self, key: int) -> bool:
        return bool(self._rows("DELETE FROM edges WHERE namespace = ? AND key = ? RETURNING key", self._key, key))


def _pairs(named: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs of one memory's entities that stand together."""
    return combinations(sorted(named[:MOST_TOGETHER]), 2)
