"""Entities, which memories mention them under which names, and the edges between them (R6)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import combinations
from operator import attrgetter

from fivefold.stores.records import CONSIDERED_PER_HIT, AliasMatch, NewEdge, Walk
from fivefold.stores.sql.entities import EntityWriter, alias_of, extracted_of
from fivefold.stores.sql.scope import Gate, ReadScope, Transaction
from fivefold.stores.tables import micros_or_none, moment_or_none
from fivefold.text.names import IS_CALLED, KNOWN_AS, ONE_HOLDER, SURE_NAME, relation_of
from fivefold.values.entities import CO_MENTION, Edge, Entity, Mention, Relation
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import RouteHit
from fivefold.values.serialize import maker
from fivefold.values.times import to_micros

MAX_NAMESAKES = 64
"""Entities under one alias that are considered; a name that more than that share identifies none of them."""

MAX_CO_MENTIONED = 8
"""Named entities of one memory that get edges to each other; a longer list says little about any pair."""

SINGLE = frozenset({"reports to", "works at", "lives in", "married to", "leads"})
"""Relations of which a new target ends the old one."""
ONE_SOURCE = frozenset(relation_of(role) for role in ONE_HOLDER)
"""Relations of which a new source ends the old one: one has one dentist at a time."""

_new_match = maker(AliasMatch)


class GraphReader(ABC):
    """Entities, the edges between them, and the memories that mention them; the walk over them is each store's own."""

    def __init__(self, scope: ReadScope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, keep: Filter = EVERYTHING
    ) -> list[RouteHit]:
        """Memories that mention an entity within reach of the roots, by their best path; the path is the hit's note.

        Of equal scores, a memory that states a relation of the entity comes first, then one that mentions more of
        those in reach. Every entity is followed along its surest edges only, and gives its latest memories only, so
        that a hub costs no more than any other; entities further down are left out once those before have given enough.
        """
        if not roots:
            return []
        kept = self._scope.kept_rows(keep)
        values = {
            "now": to_micros(how.now),
            "expired": float(how.expired),
            **{kind: float(prior) for kind, prior in how.priors.items()},
            "fan": how.fan_out,
            "each": how.per_entity,
            "depth": depth,
            "enough": CONSIDERED_PER_HIT * depth,
            **kept.values("kept"),
        }
        sql, own = self._walk(roots, how, depth, kept)
        return [
            RouteHit(memory, score, path if hop else f"mentions {path}", how.far if hop else 1.0)
            for memory, score, hop, path, *_ in self._scope.rows(sql, **values, **own)
        ]

    @abstractmethod
    def _walk(
        self, roots: Sequence[tuple[int, float]], how: Walk, depth: int, kept: Gate
    ) -> tuple[str, dict[str, object]]:
        """A statement that gives memory, score, hop and path, best first, and the parameters that only it has."""

    def entities(self, alias: str | None, limit: int, after: tuple[int, int] | None = None) -> list[Entity]:
        """Entities with that alias, or all but topics; most mentioned first, `after` is mentions and key."""
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
        return self._entities(f"{self._sql.among('e.key', ':keys')} ORDER BY e.key", keys=self._sql.as_list(keys))

    def edges(self, entity: int, limit: int, after: tuple[int, float, int] | None = None) -> list[Edge]:
        """Edges of an entity: stated ones before co-mentions, then by confidence and key.

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
            "d.source, d.target FROM edges d "
            "JOIN entities a ON a.namespace = d.namespace AND a.key = d.source "
            "JOIN entities b ON b.namespace = d.namespace AND b.key = d.target WHERE d.namespace = :ns AND d.key IN "
            "(SELECT f.key FROM edges f WHERE f.namespace = :ns AND f.source = :entity UNION ALL "
            "SELECT t.key FROM edges t WHERE t.namespace = :ns AND t.target = :entity) "
            f"{behind}ORDER BY {order}, d.confidence DESC, d.key LIMIT :limit",
            entity=entity,
            limit=limit,
            **values,
        )
        return [
            Edge(key, one, relation, other, kind, sure, count, moment_or_none(since), moment_or_none(until), *ends)
            for key, one, relation, other, kind, sure, count, since, until, *ends in rows
        ]

    def find_aliases(self, aliases: Sequence[str]) -> list[AliasMatch]:
        """The entities known under any of these aliases, in the order of the aliases, then by key."""
        rows = self._scope.rows(
            "SELECT a.alias, e.key, e.name, e.kind, e.links, a.part, EXISTS (SELECT 1 FROM edges o WHERE "
            f"o.namespace = :ns AND o.target = e.key AND o.relation = '{IS_CALLED}' AND o.valid_to IS NULL "
            f"AND o.confidence >= {SURE_NAME}) FROM "
            f"{self._sql.each(':aliases', 'text')} CROSS JOIN entity_aliases a CROSS JOIN entities e "
            "WHERE a.namespace = :ns AND a.alias = wanted.value AND a.entity < coalesce("
            "(SELECT f.entity FROM entity_aliases f WHERE f.namespace = :ns AND f.alias = wanted.value "
            "ORDER BY f.entity LIMIT 1 OFFSET :most), 9223372036854775807) AND e.namespace = :ns AND e.key = a.entity",
            aliases=self._sql.as_list(aliases),
            most=MAX_NAMESAKES,
        )
        order = {alias: place for place, alias in enumerate(aliases)}
        names = [_new_match(*parts, bool(part), bool(own)) for *parts, part, own in rows]
        return sorted(sorted(names, key=attrgetter("entity")), key=lambda name: order[name.alias])

    def find_related(self, entity: int, relations: Sequence[str], inverse: bool) -> list[Entity]:
        """The entities that a current edge of one of these relations leads to, or comes from when `inverse`."""
        here, there = ("target", "source") if inverse else ("source", "target")
        return self._entities(
            f"e.key IN (SELECT d.{there} FROM edges d WHERE d.namespace = :ns AND d.{here} = :entity "
            f"AND d.valid_to IS NULL AND {self._sql.among('d.relation', ':relations')}) ORDER BY e.key",
            entity=entity,
            relations=self._sql.as_list(relations),
        )

    def own_names(self) -> list[Entity]:
        """The entities that are surely names of the user."""
        return self._entities(
            "e.key IN (SELECT d.target FROM entity_aliases a CROSS JOIN edges d WHERE a.namespace = :ns "
            "AND a.alias = 'user' AND d.namespace = :ns AND d.source = a.entity "
            f"AND d.relation = '{IS_CALLED}' AND d.valid_to IS NULL AND d.confidence >= {SURE_NAME}) ORDER BY e.key"
        )

    def mentions(self, ids: Sequence[str], entities: Sequence[int]) -> dict[str, set[int]]:
        """For each of these memories, those of these entities that it mentions; memories without any are left out."""
        records = self._scope.rows(
            "SELECT m.id, l.entity FROM memories m CROSS JOIN links l "
            f"WHERE m.namespace = :ns AND {self._sql.among('m.id', ':ids')} AND l.namespace = :ns "
            f"AND l.memory = m.row AND {self._sql.among('l.entity', ':entities')}",
            ids=self._sql.as_list(ids),
            entities=self._sql.as_list(entities),
        )
        found: dict[str, set[int]] = {}
        for id, entity in records:
            found.setdefault(id, set()).add(entity)
        return found

    def with_edges(self, entities: Sequence[int], relations: Collection[str]) -> set[int]:
        """The given entities at either end of an edge of one of these relations."""
        namespace = self._sql.unindexed("d.namespace")
        either = " OR ".join(
            f"EXISTS (SELECT 1 FROM edges d WHERE {namespace} = :ns AND d.{end} = wanted.value "
            f"AND {self._sql.among('d.relation', ':relations')})"
            for end in ("source", "target")
        )
        rows = self._scope.rows(
            f"SELECT wanted.value FROM {self._sql.each(':entities', 'bigint')} WHERE {either}",
            entities=self._sql.as_list(entities),
            relations=self._sql.as_list(sorted(relations)),
        )
        return {key for (key,) in rows}

    def neighbours_of(self, alias: str, entities: Sequence[int]) -> list[int]:
        """The given entities that share an edge with an entity of that alias."""
        pairs = (
            "EXISTS (SELECT 1 FROM entity_aliases a CROSS JOIN edges d WHERE a.namespace = :ns AND a.alias = :alias "
            "AND d.namespace = :ns AND d.source = {0} AND d.target = {1})"
        )
        rows = self._scope.rows(
            f"SELECT wanted.value FROM {self._sql.each(':entities', 'bigint')} WHERE "
            f"{pairs.format('a.entity', 'wanted.value')} OR {pairs.format('wanted.value', 'a.entity')}",
            alias=alias,
            entities=self._sql.as_list(entities),
        )
        return [key for (key,) in rows]

    def count_mentions(self, rows: Sequence[int], entities: Sequence[int]) -> dict[int, int]:
        """In how many of these memories each of these entities is mentioned; entities without any are left out."""
        records = self._scope.rows(
            f"SELECT l.entity, count(*) FROM {self._sql.each(':rows', 'bigint')} CROSS JOIN links l "
            f"WHERE l.namespace = :ns AND l.memory = wanted.value AND {self._sql.among('l.entity', ':entities')} "
            "GROUP BY l.entity",
            rows=self._sql.as_list(rows),
            entities=self._sql.as_list(entities),
        )
        return dict(records)

    def memories_about(self, entity: int, limit: int, after: tuple[int, int] | None = None) -> list[Memory]:
        """Memories that mention an entity, latest event first; `after` is event time in µs and row of the last one."""
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
        """Finds entities by their keys, if the condition has these, and else by their namespace."""
        namespace = self._sql.unindexed("e.namespace") if condition.startswith("e.key") else "e.namespace"
        rows = self._scope.rows(
            f"SELECT e.key, e.name, e.kind, e.links, (SELECT CAST({self._sql.json_list}(own.alias) AS text) FROM "
            "(SELECT a.alias FROM entity_aliases a WHERE a.namespace = :ns AND a.entity = e.key ORDER BY a.alias) own) "
            f"FROM entities e WHERE {namespace} = :ns AND {condition}",
            **values,
        )
        return [
            Entity(key, name, kind, links, tuple(json.loads(aliases or "[]")))
            for key, name, kind, links, aliases in rows
        ]


class EdgeWriter:
    """Edges between entities. Co-mentions are gathered and written at the end of the transaction."""

    def __init__(self, txn: Transaction, entities: EntityWriter) -> None:
        self._txn = txn
        self._entities = entities
        self._co_mentions: Counter[tuple[int, int]] = Counter()

    def add_co_mentions(self, entities: Sequence[int]) -> None:
        self._co_mentions.update(_pairs(entities))

    def flush(self) -> None:
        """Each further memory makes a co-mention surer: 0.5, 0.67, 0.75 …"""
        pairs: Counter[tuple[int, int]] = Counter()
        for pair, count in self._co_mentions.items():
            one, other = sorted(self._entities.moved.get(key, key) for key in pair)
            pairs[one, other] += count if one != other else 0
        self._txn.many(
            "INSERT INTO edges (key, namespace, source, target, relation, kind, confidence, count) "
            f"VALUES (?, ?, ?, ?, '{CO_MENTION}', 'semantic', ?, ?) "
            "ON CONFLICT (namespace, source, target, relation) DO UPDATE SET count = edges.count + excluded.count, "
            "confidence = CAST(edges.count + excluded.count AS double precision) / "
            "(edges.count + excluded.count + 1)",
            [
                (self._txn.new_key(), self._txn.key, source, target, count / (count + 1), count)
                for (source, target), count in sorted((+pairs).items())
            ],
        )
        self._co_mentions.clear()

    def remove_memory(self, row: int) -> None:
        """A memory is removed: its co-mentions count one less, and relations that only it stated are deleted."""
        self._entities.flush()
        self.flush()
        pairs = [(self._txn.key, *pair) for pair in _pairs(self._entities_in(row))]
        more = self._txn.sql.greatest
        self._txn.many(
            f"UPDATE edges SET count = count - 1, confidence = CAST({more}(count - 1, 0) AS double precision) "
            f"/ {more}(count, 1) WHERE namespace = ? AND source = ? AND target = ? AND relation = '{CO_MENTION}'",
            pairs,
        )
        edges = self._txn.rows(
            "SELECT namespace, edge FROM edge_memories WHERE namespace = :ns AND memory = :row", row=row
        )
        self._txn.run("DELETE FROM edge_memories WHERE namespace = :ns AND memory = :row", row=row)
        self._txn.many(
            "DELETE FROM edges WHERE namespace = ?1 AND key = ?2 AND by_hand = 0 AND kind <> 'semantic' "
            "AND NOT EXISTS (SELECT 1 FROM edge_memories s WHERE s.namespace = ?1 AND s.edge = ?2)",
            edges,
        )
        self._txn.many(
            "DELETE FROM edges WHERE count <= 0 AND by_hand = 0 AND namespace = ? AND source = ? AND target = ? "
            f"AND relation = '{CO_MENTION}'",
            pairs,
        )

    def _entities_in(self, row: int) -> list[int]:
        """The entities a memory names, in the order in which it does."""
        aliases = self._txn.rows(
            "SELECT a.alias, l.entity FROM links l JOIN entity_aliases a ON a.namespace = l.namespace "
            "AND a.entity = l.entity WHERE l.namespace = :ns AND l.memory = :row ORDER BY a.part DESC, l.entity DESC",
            row=row,
        )
        by_alias = dict(aliases)
        mentions = extracted_of(self._txn, row).get("mentions", ())
        entities = [by_alias.get(alias_of(name)) for name, kind, _ in mentions if kind != "topic"]
        return list(dict.fromkeys(key for key in entities if key is not None))

    def add_relations(self, row: int, relations: Sequence[Relation], at: datetime) -> None:
        """The relations a memory states; a newer target of a relation that has one ends the older."""
        for item in relations:
            if item.relation == KNOWN_AS:
                self._entities.call(item.source, item.target)
                continue
            source, target = (self._entities.find_or_add(Mention(name, "name")) for name in (item.source, item.target))
            until = at if item.ended else None
            key = self.put(NewEdge(source, target, item.relation, item.kind, item.confidence, at, until))
            stated = (
                "INSERT INTO edge_memories (namespace, edge, memory) VALUES (:ns, :key, :row) ON CONFLICT DO NOTHING"
            )
            self._txn.run(stated, key=key, row=row)
            if item.relation == IS_CALLED and item.confidence < SURE_NAME:
                self._confirm_name(key, source)
            same = "source" if item.relation in SINGLE else "target" if item.relation in ONE_SOURCE else ""
            if same and not item.ended:
                self._txn.run(
                    "UPDATE edges SET valid_to = :at, kind = 'lifecycle' WHERE namespace = :ns "
                    f"AND {same} = :entity AND relation = :relation AND key <> :key AND by_hand = 0 "
                    "AND valid_to IS NULL AND valid_from < :at",
                    at=to_micros(at),
                    entity=source if same == "source" else target,
                    relation=item.relation,
                    key=key,
                )

    def _confirm_name(self, key: int, owner: int) -> None:
        """A name that only greetings and signatures give is sure from the second on, unless they give another one."""
        self._txn.run(
            f"UPDATE edges SET confidence = {SURE_NAME} WHERE namespace = :ns AND key = :key "
            f"AND confidence < {SURE_NAME} AND 1 < (SELECT count(*) FROM edge_memories s WHERE s.namespace = :ns "
            "AND s.edge = :key) AND NOT EXISTS (SELECT 1 FROM edges o WHERE o.namespace = :ns AND o.source = :owner "
            f"AND o.relation = '{IS_CALLED}' AND o.key <> :key)",
            key=key,
            owner=owner,
        )

    def put(self, edge: NewEdge) -> int:
        """Add an edge or renew it: the earlier start, the higher confidence and the new end count. Gives its key."""
        less, more = self._txn.sql.least, self._txn.sql.greatest
        self._txn.insert(
            "INSERT INTO edges "
            "(key, namespace, source, target, relation, kind, confidence, valid_from, valid_to, by_hand) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, source, target, relation) DO UPDATE SET "
            f"kind = excluded.kind, confidence = {more}(edges.confidence, excluded.confidence), "
            f"valid_to = excluded.valid_to, valid_from = {less}(coalesce(edges.valid_from, excluded.valid_from), "
            "coalesce(excluded.valid_from, edges.valid_from)), "
            f"by_hand = {more}(edges.by_hand, excluded.by_hand)",
            *(self._txn.key, edge.source, edge.target, edge.relation, edge.kind, edge.confidence),
            *(micros_or_none(edge.valid_from), micros_or_none(edge.valid_to), int(edge.by_hand)),
        )
        key = self._txn.value(
            "SELECT key FROM edges WHERE namespace = :ns AND source = :source AND target = :target "
            "AND relation = :relation",
            source=edge.source,
            target=edge.target,
            relation=edge.relation,
        )
        self._entities.forget_edges(edge.source, edge.target)
        return int(key)

    def drop(self, key: int) -> bool:
        self._entities.forget_edges()
        return bool(self._txn.rows("DELETE FROM edges WHERE namespace = :ns AND key = :key RETURNING key", key=key))


def _pairs(entities: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs of one memory's entities that get an edge."""
    return combinations(sorted(entities[:MAX_CO_MENTIONED]), 2)
