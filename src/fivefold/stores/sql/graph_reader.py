"""Reading entities and edges: which names they have, and how they are related."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence

from fivefold.stores.queries import AliasMatch, Walk
from fivefold.stores.rows import moment_or_none
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.values.entities import Edge, Entity
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import RouteHit

MOST_NAMESAKES = 64
"""Entities under one alias that are considered; a name that more than that share identifies none of them."""


class SqlGraphReader(ABC):
    """The entity graph of a namespace; the walk over it is each store's own."""

    def __init__(self, scope: ScopedReader) -> None:
        self._scope = scope
        self._sql = scope.sql

    @abstractmethod
    def walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, keep: Filter = EVERYTHING
    ) -> list[RouteHit]:
        """Memories that mention an entity within reach of the roots, by their best path."""

    def entities(self, alias: str | None, limit: int, after: tuple[int, int] | None = None) -> list[Entity]:
        """The most mentioned first; `after` is the mentions and the key of the last one seen."""
        condition = "e.kind <> 'topic'"
        values: dict[str, object] = {"limit": limit}
        if alias is not None:
            condition = "e.key IN (SELECT a.entity FROM entity_aliases a WHERE a.namespace = :ns AND a.alias = :alias)"
            values["alias"] = alias
        if after is not None:
            condition += " AND (e.links < :links OR (e.links = :links AND e.key > :key))"
            values |= {"links": after[0], "key": after[1]}
        return self._entities(f"{condition} ORDER BY e.links DESC, e.key LIMIT :limit", **values)

    def entities_by_key(self, keys: Sequence[int]) -> list[Entity]:
        return self._entities(f"{self._sql.among('e.key', ':keys')} ORDER BY e.key", keys=self._scope.as_list(keys))

    def edges(self, entity: int, limit: int, after: tuple[int, float, int] | None = None) -> list[Edge]:
        """Stated edges before co-mentions, then the highest confidence first.

        `after` is 1 for a co-mention, else 0, then the confidence and the key of the last one.
        """
        order = "CASE WHEN d.kind = 'semantic' THEN 1 ELSE 0 END"
        behind, values = "", dict[str, object]()
        if after is not None:
            behind = (
                f"AND ({order} > :apart OR ({order} = :apart AND "
                "(d.confidence < :sure OR (d.confidence = :sure AND d.key > :key)))) "
            )
            values = dict(zip(("apart", "sure", "key"), after, strict=True))
        rows = self._scope.rows(
            "SELECT d.key, a.name, d.relation, b.name, d.kind, d.confidence, d.count, d.valid_from, d.valid_to, "
            "d.source, d.target "
            "FROM edges d JOIN entities a ON a.namespace = d.namespace AND a.key = d.source "
            "JOIN entities b ON b.namespace = d.namespace AND b.key = d.target WHERE d.namespace = :ns AND d.key IN "
            "(SELECT f.key FROM edges f WHERE f.namespace = :ns AND f.source = :entity UNION ALL "
            "SELECT t.key FROM edges t WHERE t.namespace = :ns AND t.target = :entity) "
            f"{behind}ORDER BY {order}, d.confidence DESC, d.key LIMIT :limit",
            entity=entity,
            limit=limit,
            **values,
        )
        return [
            Edge(
                key,
                source,
                relation,
                target,
                kind,
                confidence,
                count,
                moment_or_none(since),
                moment_or_none(until),
                *ends,
            )
            for key, source, relation, target, kind, confidence, count, since, until, *ends in rows
        ]

    def find_aliases(self, aliases: Sequence[str]) -> list[AliasMatch]:
        rows = self._scope.rows(
            "SELECT a.alias, e.key, e.name, e.kind, e.links, a.part FROM "
            f"{self._sql.each(':aliases', 'text')} CROSS JOIN entity_aliases a CROSS JOIN entities e "
            "WHERE a.namespace = :ns AND a.alias = wanted.value AND a.entity IN "
            "(SELECT f.entity FROM entity_aliases f WHERE f.namespace = :ns AND f.alias = wanted.value "
            "ORDER BY f.entity LIMIT :most) AND e.namespace = :ns AND e.key = a.entity",
            aliases=self._scope.as_list(aliases),
            most=MOST_NAMESAKES,
        )
        order = {alias: place for place, alias in enumerate(aliases)}
        names = [AliasMatch(alias, key, name, kind, links, bool(part)) for alias, key, name, kind, links, part in rows]
        return sorted(names, key=lambda name: (order[name.alias], name.entity))

    def count_mentions(self, rows: Sequence[int], entities: Sequence[int]) -> dict[int, int]:
        """In how many of these memories each of these entities is mentioned."""
        records = self._scope.rows(
            f"SELECT l.entity, count(*) FROM {self._sql.each(':rows', 'bigint')} CROSS JOIN links l "
            f"WHERE l.namespace = :ns AND l.memory = wanted.value AND {self._sql.among('l.entity', ':entities')} "
            "GROUP BY l.entity",
            rows=self._scope.as_list(rows),
            entities=self._scope.as_list(entities),
        )
        return dict(records)

    def mentions(self, ids: Sequence[str], entities: Sequence[int]) -> dict[str, set[int]]:
        """Which of these entities each of these memories mentions."""
        records = self._scope.rows(
            "SELECT m.id, l.entity FROM memories m CROSS JOIN links l "
            f"WHERE m.namespace = :ns AND {self._sql.among('m.id', ':ids')} AND l.namespace = :ns "
            f"AND l.memory = m.row AND {self._sql.among('l.entity', ':entities')}",
            ids=self._scope.as_list(ids),
            entities=self._scope.as_list(entities),
        )
        found: dict[str, set[int]] = {}
        for id, entity in records:
            found.setdefault(id, set()).add(entity)
        return found

    def neighbours_of(self, alias: str, entities: Sequence[int]) -> list[int]:
        """Which of these entities share an edge with an entity of that alias."""
        pairs = (
            "EXISTS (SELECT 1 FROM entity_aliases a CROSS JOIN edges d WHERE a.namespace = :ns AND a.alias = :alias "
            "AND d.namespace = :ns AND d.source = {0} AND d.target = {1})"
        )
        rows = self._scope.rows(
            f"SELECT wanted.value FROM {self._sql.each(':entities', 'bigint')} WHERE "
            f"{pairs.format('a.entity', 'wanted.value')} OR {pairs.format('wanted.value', 'a.entity')}",
            alias=alias,
            entities=self._scope.as_list(entities),
        )
        return [key for (key,) in rows]

    def find_related(self, entity: int, relations: Sequence[str], inverse: bool) -> list[Entity]:
        here, there = ("target", "source") if inverse else ("source", "target")
        return self._entities(
            f"e.key IN (SELECT d.{there} FROM edges d WHERE d.namespace = :ns AND d.{here} = :entity "
            f"AND d.valid_to IS NULL AND {self._sql.among('d.relation', ':relations')}) ORDER BY e.key",
            entity=entity,
            relations=self._scope.as_list(relations),
        )

    def memories_about(self, entity: int, limit: int, after: tuple[int, int] | None = None) -> list[Memory]:
        """Latest first; `after` is the event time and the row of the last memory seen."""
        at, behind, values = self._sql.unindexed("event_at"), "", {}
        if after is not None:
            behind, values = f"AND ({at}, row) < (:at, :row) ", {"at": after[0], "row": after[1]}
        return self._scope.memories(
            f"{self._sql.unindexed('namespace')} = :ns AND row IN "
            "(SELECT l.memory FROM links l WHERE l.namespace = :ns AND l.entity = :entity) "
            f"{behind}ORDER BY {at} DESC, row DESC LIMIT :limit",
            entity=entity,
            limit=limit,
            **values,
        )

    def _entities(self, condition: str, **values: object) -> list[Entity]:
        rows = self._scope.rows(
            f"SELECT e.key, e.name, e.kind, e.links, (SELECT CAST({self._sql.json_list}(own.alias) AS text) FROM "
            "(SELECT a.alias FROM entity_aliases a WHERE a.namespace = :ns AND a.entity = e.key ORDER BY a.alias) own) "
            f"FROM entities e WHERE e.namespace = :ns AND {condition}",
            **values,
        )
        return [
            Entity(key, name, kind, links, tuple(json.loads(aliases or "[]")))
            for key, name, kind, links, aliases in rows
        ]
