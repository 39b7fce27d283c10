"""Writing entities: which a memory mentions, under which name, and how often each is mentioned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from fivefold.stores.rows import compact
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.entities import Mention


class SqlEntityWriter:
    """Mentions and their counts are gathered and written once, at the end of the transaction."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._entities: dict[str, int] = {}
        self._linked: Counter[int] = Counter()
        self._links: list[tuple[int, int, int, int]] = []

    def preload(self, mentions: Sequence[Mention]) -> None:
        """Look up the entities that a batch will mention in one statement."""
        aliases = list({alias_of(mention.name) for mention in mentions})
        rows = self._txn.rows(
            f"SELECT a.alias, a.entity, a.part FROM {self._txn.sql.each('?', 'text')} CROSS JOIN entity_aliases a "
            "CROSS JOIN entities e WHERE a.namespace = ?2 AND a.alias = wanted.value AND e.namespace = ?2 "
            "AND e.key = a.entity ORDER BY a.alias, a.part, e.links DESC, e.key",
            self._txn.sql.as_list(aliases),
            self._txn.key,
        )
        candidates: dict[str, list[tuple[int, int]]] = {}
        for alias, entity, part in rows:
            candidates.setdefault(alias, []).append((entity, part))
        for alias, known in candidates.items():
            found_key = _disambiguate(known)
            if found_key is not None:
                self._entities[alias] = found_key

    def link(self, row: int, mentions: Sequence[Mention]) -> list[int]:
        """Link a memory to all it mentions; gives the named entities among them."""
        counts: dict[int, int] = {}
        entities: dict[int, None] = {}
        for mention in mentions:
            entity = self.find_or_add(mention)
            counts[entity] = counts.get(entity, 0) + mention.count
            if mention.kind != "topic":
                entities.setdefault(entity)
        self._links += [(self._txn.key, row, entity, count) for entity, count in counts.items()]
        self._linked.update(counts.keys())
        return list(entities)

    def flush(self) -> None:
        """Write the links this transaction gathered, and their counts."""
        self._txn.db.put("links", ("namespace", "memory", "entity", "count"), self._links)
        self._links.clear()
        counts = [(count, self._txn.key, entity) for entity, count in self._linked.items()]
        self._txn.db.many("UPDATE entities SET links = links + ? WHERE namespace = ? AND key = ?", counts)
        self._linked.clear()

    def unlink(self, row: int) -> None:
        """Delete a memory's mentions, and the entities that nothing mentions any more."""
        self.flush()
        rows = self._txn.rows("SELECT entity FROM links WHERE namespace = ? AND memory = ?", self._txn.key, row)
        entities = [(self._txn.key, key) for (key,) in rows]
        self._txn.run("DELETE FROM links WHERE namespace = ? AND memory = ?", self._txn.key, row)
        self._txn.db.many("UPDATE entities SET links = links - 1 WHERE namespace = ? AND key = ?", entities)
        self._txn.db.many(_DELETE_UNUSED, entities)
        self._entities.clear()

    def forget_names(self) -> None:
        """Look every name up again from here on."""
        self._entities.clear()

    def drop_unused(self) -> None:
        """Delete entities that nothing mentions."""
        unused = self._txn.rows("SELECT namespace, key FROM entities WHERE namespace = ? AND links <= 0", self._txn.key)
        self._txn.db.many(_DELETE_UNUSED, unused)
        self._entities.clear()

    def find_or_add(self, mention: Mention) -> int:
        """The entity a mention means. A first name means the one full name it is part of; of several, none."""
        alias = alias_of(mention.name)
        if alias not in self._entities:
            known = self._txn.rows(
                "SELECT a.entity, a.part FROM entity_aliases a JOIN entities e ON e.namespace = a.namespace "
                "AND e.key = a.entity WHERE a.namespace = ? AND a.alias = ? ORDER BY a.part, e.links DESC, e.key",
                self._txn.key,
                alias,
            )
            entity_key = _disambiguate([(entity, part) for entity, part in known])
            self._entities[alias] = self.add(mention) if entity_key is None else entity_key
        return self._entities[alias]

    def add(self, mention: Mention, by_hand: bool = False) -> int:
        """A new entity; a full name takes over the entity known by its first or last name alone."""
        alias = alias_of(mention.name)
        parts = name_parts(mention)
        key = self._find_by_part(alias.split()) if parts else None
        if key is None:
            key = self._txn.db.insert(_INSERT, self._txn.key, mention.name, mention.kind, int(by_hand), self._txn.now)
        else:
            self._txn.run(
                "UPDATE entities SET name = ? WHERE namespace = ? AND key = ?", mention.name, self._txn.key, key
            )
        self.add_alias(key, alias)
        for part in parts:
            self.add_alias(key, part, part=True)
        self._entities[alias] = key
        return key

    def add_alias(self, entity: int, alias: str, part: bool = False) -> None:
        self._txn.run(
            "INSERT INTO entity_aliases (namespace, alias, entity, part) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (namespace, alias, entity) DO UPDATE SET "
            f"part = {self._txn.sql.least}(entity_aliases.part, excluded.part)",
            self._txn.key,
            alias,
            entity,
            int(part),
        )
        self._entities.pop(alias, None)

    def rename(self, key: int, name: str) -> None:
        self._txn.run(
            "UPDATE entities SET name = ?, by_hand = 1 WHERE namespace = ? AND key = ?", name, self._txn.key, key
        )
        self.add_alias(key, alias_of(name))

    def merge(self, into: int, out: int) -> None:
        """Everything of `out` becomes `into`'s, and the mentions are counted again."""
        for table, column, others in (
            ("links", "entity", ("memory",)),
            ("entity_aliases", "entity", ("alias",)),
            ("edges", "source", ("target", "relation")),
            ("edges", "target", ("source", "relation")),
        ):
            same = " AND ".join(f"twin.{other} = {table}.{other}" for other in others)
            self._txn.run(
                f"UPDATE {table} SET {column} = ?2 WHERE namespace = ?1 AND {column} = ?3 AND NOT EXISTS "
                f"(SELECT 1 FROM {table} twin WHERE twin.namespace = ?1 AND twin.{column} = ?2 AND {same})",
                self._txn.key,
                into,
                out,
            )
        self._txn.run("DELETE FROM edges WHERE namespace = ? AND source = target", self._txn.key)
        self._txn.run("DELETE FROM entities WHERE namespace = ? AND key = ?", self._txn.key, out)
        self._recount(into, by_hand=True)

    def split(self, key: int, name: str, memories: Sequence[int]) -> int:
        kind = self._txn.rows("SELECT kind FROM entities WHERE namespace = ? AND key = ?", self._txn.key, key)[0][0]
        new = self._txn.db.insert(_INSERT, self._txn.key, name, kind, 1, self._txn.now)
        self.add_alias(new, alias_of(name))
        self._txn.db.many(
            "UPDATE links SET entity = ? WHERE namespace = ? AND entity = ? AND memory = ?",
            [(new, self._txn.key, key, memory) for memory in dict.fromkeys(memories)],
        )
        for memory in memories:
            self._rename_mentions(memory, key, name)
        self._recount(key, by_hand=True)
        self._recount(new, by_hand=True)
        return new

    def _rename_mentions(self, memory: int, key: int, name: str) -> None:
        """Rename the mentions in the memory's extraction, so that a rebuild links them to the new entity too."""
        alias_rows = self._txn.rows(
            "SELECT alias FROM entity_aliases WHERE namespace = ? AND entity = ?", self._txn.key, key
        )
        aliases = {alias for (alias,) in alias_rows}
        rows = self._txn.rows("SELECT extracted FROM memories WHERE namespace = ? AND row = ?", self._txn.key, memory)
        extracted = json.loads(rows[0][0])
        extracted["mentions"] = [
            [name if alias_of(called) in aliases else called, kind, count]
            for called, kind, count in extracted.get("mentions", ())
        ]
        self._txn.run(
            "UPDATE memories SET extracted = ? WHERE namespace = ? AND row = ?",
            compact(extracted),
            self._txn.key,
            memory,
        )

    def _recount(self, key: int, by_hand: bool) -> None:
        self._txn.run(
            f"UPDATE entities SET by_hand = {self._txn.sql.greatest}(by_hand, ?1), links = "
            "(SELECT count(*) FROM links l WHERE l.namespace = ?2 AND l.entity = ?3) WHERE namespace = ?2 AND key = ?3",
            int(by_hand),
            self._txn.key,
            key,
        )
        self._entities.clear()

    def _find_by_part(self, words: Sequence[str]) -> int | None:
        """The one entity known only by a part of the new name, unless another full name shares that part.

        A first name grows into a full one; a last word only behind a title, as 'Kestrel' into 'Project Kestrel'.
        """
        part = words[-1] if words[0] in TITLES else words[0]
        known = self._txn.rows(
            "SELECT entity, part FROM entity_aliases WHERE namespace = ? AND alias = ?", self._txn.key, part
        )
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
    """The first and the last word of a person-like name, which alone may stand for it."""
    words = alias_of(mention.name).split()
    if mention.kind not in ("name", "person") or not 2 <= len(words) <= 4:
        return []
    return [word for word in dict.fromkeys((words[0], words[-1])) if len(word) > 2 and word not in TITLES]


def _disambiguate(candidates: Sequence[tuple[int, int]]) -> int | None:
    """Of entities under one alias, best first: a whole name before a part, and a part only if it is the only one."""
    whole = [entity for entity, part in candidates if not part]
    if whole:
        return whole[0]
    return candidates[0][0] if len(candidates) == 1 else None
