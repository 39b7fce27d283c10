"""Writing entities: which a memory mentions, under which name, and how often each is mentioned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.rows import compact
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.extraction import Mention


class Entities(Transaction):
    """Links and their counts are gathered and written once, at the end of the transaction."""

    def __init__(self, db: Database, key: int, namespace: str, now: datetime) -> None:
        super().__init__(db, key, namespace, now)
        self._entities: dict[str, int] = {}
        self._linked: Counter[int] = Counter()
        self._links: list[tuple[int, int, int, int]] = []

    def expect_entities(self, mentions: Sequence[Mention]) -> None:
        """Look up the entities a batch will mention in one go."""
        aliases = list({alias_of(mention.name) for mention in mentions})
        found = self._rows(
            f"SELECT a.alias, a.entity, a.part FROM {self._sql.each('?', 'text')} CROSS JOIN entity_aliases a "
            "CROSS JOIN entities e WHERE a.namespace = ?2 AND a.alias = wanted.value AND e.namespace = ?2 "
            "AND e.key = a.entity ORDER BY a.alias, a.part, e.links DESC, e.key",
            self._sql.listed(aliases),
            self._key,
        )
        candidates: dict[str, list[tuple[int, int]]] = {}
        for alias, entity, part in found:
            candidates.setdefault(alias, []).append((entity, part))
        for alias, known in candidates.items():
            meant = _meant(known)
            if meant is not None:
                self._entities[alias] = meant

    def link(self, row: int, mentions: Sequence[Mention]) -> list[int]:
        """Link a memory to all it mentions; gives the named entities among them."""
        counts: dict[int, int] = {}
        named: dict[int, None] = {}
        for mention in mentions:
            entity = self.entity_of(mention)
            counts[entity] = counts.get(entity, 0) + mention.count
            if mention.kind != "topic":
                named.setdefault(entity)
        self._links += [(self._key, row, entity, count) for entity, count in counts.items()]
        self._linked.update(counts.keys())
        return list(named)

    def write_counts(self) -> None:
        """Write the links this transaction gathered, and their counts."""
        self._db.put("links", ("namespace", "memory", "entity", "count"), self._links)
        self._links.clear()
        counted = [(count, self._key, entity) for entity, count in self._linked.items()]
        self._db.many("UPDATE entities SET links = links + ? WHERE namespace = ? AND key = ?", counted)
        self._linked.clear()

    def unlink(self, row: int) -> None:
        """Take a memory's links away; an entity that nothing mentions any more goes with them."""
        self.write_counts()
        found = self._rows("SELECT entity FROM links WHERE namespace = ? AND memory = ?", self._key, row)
        entities = [(self._key, key) for (key,) in found]
        self._run("DELETE FROM links WHERE namespace = ? AND memory = ?", self._key, row)
        self._db.many("UPDATE entities SET links = links - 1 WHERE namespace = ? AND key = ?", entities)
        self._db.many(_DELETE_UNUSED, entities)
        self._entities.clear()

    def drop_unused(self) -> None:
        unused = self._rows("SELECT namespace, key FROM entities WHERE namespace = ? AND links <= 0", self._key)
        self._db.many(_DELETE_UNUSED, unused)
        self._entities.clear()

    def entity_of(self, mention: Mention) -> int:
        """The entity a mention means. A first name means the one full name it is part of; of several, none."""
        alias = alias_of(mention.name)
        if alias not in self._entities:
            known = self._rows(
                "SELECT a.entity, a.part FROM entity_aliases a JOIN entities e ON e.namespace = a.namespace "
                "AND e.key = a.entity WHERE a.namespace = ? AND a.alias = ? ORDER BY a.part, e.links DESC, e.key",
                self._key,
                alias,
            )
            meant = _meant([(entity, part) for entity, part in known])
            self._entities[alias] = self.make_entity(mention) if meant is None else meant
        return self._entities[alias]

    def make_entity(self, mention: Mention, by_hand: bool = False) -> int:
        """A new entity; a full name takes over the entity known by its first or last name alone."""
        alias = alias_of(mention.name)
        parts = name_parts(mention)
        key = self._known_by_part(alias.split()) if parts else None
        if key is None:
            key = self._db.insert(_INSERT, self._key, mention.name, mention.kind, int(by_hand), self._now)
        else:
            self._run("UPDATE entities SET name = ? WHERE namespace = ? AND key = ?", mention.name, self._key, key)
        self.add_alias(key, alias)
        for part in parts:
            self.add_alias(key, part, part=True)
        self._entities[alias] = key
        return key

    def add_alias(self, entity: int, alias: str, part: bool = False) -> None:
        self._run(
            "INSERT INTO entity_aliases (namespace, alias, entity, part) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (namespace, alias, entity) DO UPDATE SET "
            f"part = {self._sql.least}(entity_aliases.part, excluded.part)",
            self._key,
            alias,
            entity,
            int(part),
        )
        self._entities.pop(alias, None)

    def rename_entity(self, key: int, name: str) -> None:
        self._run("UPDATE entities SET name = ?, by_hand = 1 WHERE namespace = ? AND key = ?", name, self._key, key)
        self.add_alias(key, alias_of(name))

    def merge_entities(self, into: int, out: int) -> None:
        """Everything of `out` becomes `into`'s; counts are taken anew."""
        for table, column, others in (
            ("links", "entity", ("memory",)),
            ("entity_aliases", "entity", ("alias",)),
            ("edges", "source", ("target", "relation")),
            ("edges", "target", ("source", "relation")),
        ):
            same = " AND ".join(f"twin.{other} = {table}.{other}" for other in others)
            self._run(
                f"UPDATE {table} SET {column} = ?2 WHERE namespace = ?1 AND {column} = ?3 AND NOT EXISTS "
                f"(SELECT 1 FROM {table} twin WHERE twin.namespace = ?1 AND twin.{column} = ?2 AND {same})",
                self._key,
                into,
                out,
            )
        self._run("DELETE FROM edges WHERE namespace = ? AND source = target", self._key)
        self._run("DELETE FROM entities WHERE namespace = ? AND key = ?", self._key, out)
        self._recount(into, by_hand=True)

    def split_entity(self, key: int, name: str, memories: Sequence[int]) -> int:
        kind = self._rows("SELECT kind FROM entities WHERE namespace = ? AND key = ?", self._key, key)[0][0]
        new = self._db.insert(_INSERT, self._key, name, kind, 1, self._now)
        self.add_alias(new, alias_of(name))
        self._db.many(
            "UPDATE links SET entity = ? WHERE namespace = ? AND entity = ? AND memory = ?",
            [(new, self._key, key, memory) for memory in dict.fromkeys(memories)],
        )
        for memory in memories:
            self._call_anew(memory, key, name)
        self._recount(key, by_hand=True)
        self._recount(new, by_hand=True)
        return new

    def _call_anew(self, memory: int, key: int, name: str) -> None:
        """Note in what was read out of the memory whom it means, so that a rebuild knows it too."""
        known = self._rows("SELECT alias FROM entity_aliases WHERE namespace = ? AND entity = ?", self._key, key)
        aliases = {alias for (alias,) in known}
        found = self._rows("SELECT extracted FROM memories WHERE namespace = ? AND row = ?", self._key, memory)
        extracted = json.loads(found[0][0])
        extracted["mentions"] = [
            [name if alias_of(called) in aliases else called, kind, count]
            for called, kind, count in extracted.get("mentions", ())
        ]
        self._run(
            "UPDATE memories SET extracted = ? WHERE namespace = ? AND row = ?", compact(extracted), self._key, memory
        )

    def _recount(self, key: int, by_hand: bool) -> None:
        self._run(
            f"UPDATE entities SET by_hand = {self._sql.greatest}(by_hand, ?1), links = "
            "(SELECT count(*) FROM links l WHERE l.namespace = ?2 AND l.entity = ?3) WHERE namespace = ?2 AND key = ?3",
            int(by_hand),
            self._key,
            key,
        )
        self._entities.clear()

    def _known_by_part(self, words: Sequence[str]) -> int | None:
        """The one entity known by the new name's part alone, unless another full name shares that part.

        A first name grows into a full one; a last word only behind a title, as 'Kestrel' into 'Project Kestrel'.
        """
        part = words[-1] if words[0] in TITLES else words[0]
        known = self._rows("SELECT entity, part FROM entity_aliases WHERE namespace = ? AND alias = ?", self._key, part)
        return int(known[0][0]) if len(known) == 1 and not known[0][1] else None


TITLES = frozenset("project team dr mr mrs ms miss prof professor aunt uncle captain lake mount".split())
"""Words that go before a name without being part of it."""

_INSERT = "INSERT INTO entities (key, namespace, name, kind, by_hand, created_at) VALUES (?, ?, ?, ?, ?, ?)"

_DELETE_UNUSED = (
    "DELETE FROM entities WHERE namespace = ?1 AND key = ?2 AND links <= 0 AND by_hand = 0 AND NOT EXISTS "
    "(SELECT 1 FROM edges d WHERE d.namespace = ?1 AND (d.source = ?2 OR d.target = ?2) "
    "AND (d.by_hand = 1 OR d.kind <> 'semantic'))"
)


def alias_of(name: str) -> str:
    return " ".join(name.casefold().split())


def name_parts(mention: Mention) -> list[str]:
    """First and last name of a person-like name, by which it may be called."""
    words = alias_of(mention.name).split()
    if mention.kind not in ("name", "person") or not 2 <= len(words) <= 4:
        return []
    return [word for word in dict.fromkeys((words[0], words[-1])) if len(word) > 2 and word not in TITLES]


def _meant(candidates: Sequence[tuple[int, int]]) -> int | None:
    """Of entities under one alias, best first: a whole name before a part of one, and a part only if it is the sole."""
    whole = [entity for entity, part in candidates if not part]
    if whole:
        return whole[0]
    return candidates[0][0] if len(candidates) == 1 else None
