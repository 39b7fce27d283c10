"""Writing edges: which entities are mentioned together, and how they are related (R6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations

from fivefold.stores.protocol.values import NewEdge
from fivefold.stores.sql.entity_writer import SqlEntityWriter, alias_of
from fivefold.stores.sql.transaction import Transaction
from fivefold.text.names import ONE_HOLDER, relation_of
from fivefold.values.entities import CO_MENTION, Mention, Relation
from fivefold.values.times import to_micros

MOST_CO_MENTIONED = 8
"""Named entities of one memory that get edges to each other; a longer list says little about any pair."""

SINGLE = frozenset({"reports to", "works at", "lives in", "married to", "leads"})
"""Relations of which a new target ends the old one."""
ONE_SOURCE = frozenset(relation_of(role) for role in ONE_HOLDER)
"""Relations of which a new source ends the old one: one has one dentist at a time."""


class SqlEdgeWriter:
    """Co-mentions are gathered and written at the end of the transaction."""

    def __init__(self, txn: Transaction, entities: SqlEntityWriter) -> None:
        self._txn = txn
        self._entities = entities
        self._co_mentions: Counter[tuple[int, int]] = Counter()

    def add_co_mentions(self, entities: Sequence[int]) -> None:
        """The entities of one memory are mentioned together."""
        self._co_mentions.update(_pairs(entities))

    def flush(self) -> None:
        """Each further memory makes a co-mention surer: 0.5, 0.67, 0.75 …"""
        self._txn.db.many(
            "INSERT INTO edges (key, namespace, source, target, relation, kind, confidence, count) "
            f"VALUES (?, ?, ?, ?, '{CO_MENTION}', 'semantic', ?, ?) "
            "ON CONFLICT (namespace, source, target, relation) DO UPDATE SET count = edges.count + excluded.count, "
            "confidence = CAST(edges.count + excluded.count AS double precision) / "
            "(edges.count + excluded.count + 1)",
            [
                (self._txn.db.new_key(), self._txn.key, source, target, count / (count + 1), count)
                for (source, target), count in sorted(self._co_mentions.items())
            ],
        )
        self._co_mentions.clear()

    def remove_memory(self, row: int) -> None:
        """A memory is removed: its co-mentions count one less, and relations that only it stated are deleted."""
        self._entities.flush()
        self.flush()
        pairs = [(self._txn.key, *pair) for pair in _pairs(self._entities_in(row))]
        more = self._txn.sql.greatest
        self._txn.db.many(
            f"UPDATE edges SET count = count - 1, confidence = CAST({more}(count - 1, 0) AS double precision) "
            f"/ {more}(count, 1) WHERE namespace = ? AND source = ? AND target = ? AND relation = '{CO_MENTION}'",
            pairs,
        )
        edges = self._txn.rows(
            "SELECT namespace, edge FROM edge_memories WHERE namespace = ? AND memory = ?", self._txn.key, row
        )
        self._txn.run("DELETE FROM edge_memories WHERE namespace = ? AND memory = ?", self._txn.key, row)
        self._txn.db.many(
            "DELETE FROM edges WHERE namespace = ?1 AND key = ?2 AND by_hand = 0 AND kind <> 'semantic' "
            "AND NOT EXISTS (SELECT 1 FROM edge_memories s WHERE s.namespace = ?1 AND s.edge = ?2)",
            edges,
        )
        self._txn.db.many(
            "DELETE FROM edges WHERE count <= 0 AND by_hand = 0 AND namespace = ? AND source = ? AND target = ? "
            f"AND relation = '{CO_MENTION}'",
            pairs,
        )

    def _entities_in(self, row: int) -> list[int]:
        """The entities a memory names, in the order in which it does."""
        rows = self._txn.rows("SELECT extracted FROM memories WHERE namespace = ? AND row = ?", self._txn.key, row)
        aliases = self._txn.rows(
            "SELECT a.alias, l.entity FROM links l JOIN entity_aliases a ON a.namespace = l.namespace "
            "AND a.entity = l.entity WHERE l.namespace = ? AND l.memory = ? "
            "ORDER BY a.part DESC, l.entity DESC",
            self._txn.key,
            row,
        )
        by_alias = dict(aliases)
        mentions = json.loads(rows[0][0]).get("mentions", ())
        entities = [by_alias.get(alias_of(name)) for name, kind, _ in mentions if kind != "topic"]
        return list(dict.fromkeys(key for key in entities if key is not None))

    def add_relations(self, row: int, relations: Sequence[Relation], at: datetime) -> None:
        """The relations a memory states; a newer target of a relation that has one ends the older."""
        for item in relations:
            source, target = (self._entities.find_or_add(Mention(name, "name")) for name in (item.source, item.target))
            until = at if item.ended else None
            key = self.put(NewEdge(source, target, item.relation, item.kind, item.confidence, at, until))
            self._txn.run(
                "INSERT INTO edge_memories (namespace, edge, memory) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                self._txn.key,
                key,
                row,
            )
            same = "source" if item.relation in SINGLE else "target" if item.relation in ONE_SOURCE else ""
            if same and not item.ended:
                self._txn.run(
                    f"UPDATE edges SET valid_to = ?1, kind = 'lifecycle' WHERE namespace = ?2 AND {same} = ?3 "
                    "AND relation = ?4 AND key <> ?5 AND by_hand = 0 AND valid_to IS NULL AND valid_from < ?1",
                    to_micros(at),
                    self._txn.key,
                    source if same == "source" else target,
                    item.relation,
                    key,
                )

    def put(self, edge: NewEdge) -> int:
        since, until = (None if at is None else to_micros(at) for at in (edge.valid_from, edge.valid_to))
        less, more = self._txn.sql.least, self._txn.sql.greatest
        self._txn.db.insert(
            "INSERT INTO edges "
            "(key, namespace, source, target, relation, kind, confidence, valid_from, valid_to, by_hand) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, source, target, relation) DO UPDATE SET "
            f"kind = excluded.kind, confidence = {more}(edges.confidence, excluded.confidence), "
            f"valid_to = excluded.valid_to, valid_from = {less}(coalesce(edges.valid_from, excluded.valid_from), "
            "coalesce(excluded.valid_from, edges.valid_from)), "
            f"by_hand = {more}(edges.by_hand, excluded.by_hand)",
            self._txn.key,
            edge.source,
            edge.target,
            edge.relation,
            edge.kind,
            edge.confidence,
            since,
            until,
            int(edge.by_hand),
        )
        key = self._txn.number(
            "SELECT key FROM edges WHERE namespace = ? AND source = ? AND target = ? AND relation = ?",
            self._txn.key,
            edge.source,
            edge.target,
            edge.relation,
        )
        assert key is not None
        return key

    def drop(self, key: int) -> bool:
        return bool(
            self._txn.rows("DELETE FROM edges WHERE namespace = ? AND key = ? RETURNING key", self._txn.key, key)
        )


def _pairs(entities: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs of one memory's entities that get an edge."""
    return combinations(sorted(entities[:MOST_CO_MENTIONED]), 2)
