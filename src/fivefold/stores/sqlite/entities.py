"""Writing entities: which a memory mentions, under which name, and how often each is mentioned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import apsw

from fivefold.memory import Mention
from fivefold.stores.sqlite.transaction import Transaction


class Entities(Transaction):
    """Link counts are gathered and written once, at the end of the transaction."""

    def __init__(self, connection: apsw.Connection, key: int, namespace: str, now: datetime) -> None:
        super().__init__(connection, key, namespace, now)
        self._entities: dict[str, int] = {}
        self._linked: Counter[int] = Counter()

    def expect(self, mentions: Sequence[Mention]) -> None:
        """Look up the entities a batch will mention in one go."""
        aliases = list({_alias(mention) for mention in mentions})
        found = self._rows(
            "SELECT a.alias, a.entity FROM json_each(?) wanted CROSS JOIN entity_aliases a "
            "ON a.namespace = ? AND a.alias = wanted.value JOIN entities e ON e.key = a.entity "
            "ORDER BY e.links, e.key DESC",
            json.dumps(aliases, ensure_ascii=False), self._key,
        )  # fmt: skip
        self._entities.update(found)  # of several entities with one alias the most mentioned comes last and stays

    def link(self, row: int, mentions: Sequence[Mention]) -> None:
        counts: dict[int, int] = {}
        for mention in mentions:
            entity = self._entity(mention)
            counts[entity] = counts.get(entity, 0) + mention.count
        self._db.executemany(
            "INSERT INTO links VALUES (?, ?, ?)", [(row, entity, count) for entity, count in counts.items()]
        )
        self._linked.update(counts.keys())

    def finish(self) -> None:
        """Write the link counts this transaction gathered; called before it ends."""
        counted = [(count, entity) for entity, count in self._linked.items()]
        self._db.executemany("UPDATE entities SET links = links + ? WHERE key = ?", counted)
        self._linked.clear()

    def unlink(self, row: int) -> None:
        """Take a memory's links away; an entity that nothing mentions any more goes with them."""
        self.finish()
        entities = [key for (key,) in self._rows("SELECT entity FROM links WHERE memory = ?", row)]
        self._db.execute("DELETE FROM links WHERE memory = ?", (row,))
        self._db.executemany("UPDATE entities SET links = links - 1 WHERE key = ?", [(key,) for key in entities])
        self._db.executemany(
            "DELETE FROM entities WHERE key = ? AND links <= 0 AND by_hand = 0", [(key,) for key in entities]
        )
        self._entities.clear()

    def _entity(self, mention: Mention) -> int:
        alias = _alias(mention)
        if alias not in self._entities:
            known = self._number(
                "SELECT a.entity FROM entity_aliases a JOIN entities e ON e.key = a.entity "
                "WHERE a.namespace = ? AND a.alias = ? ORDER BY e.links DESC, e.key LIMIT 1",
                self._key, alias,
            )  # fmt: skip
            self._entities[alias] = known if known is not None else self._new_entity(mention, alias)
        return self._entities[alias]

    def _new_entity(self, mention: Mention, alias: str) -> int:
        self._db.execute(
            "INSERT INTO entities (namespace, name, kind, created_at) VALUES (?, ?, ?, ?)",
            (self._key, mention.name, mention.kind, self._now),
        )
        key = self._db.last_insert_rowid()
        self._db.execute("INSERT INTO entity_aliases VALUES (?, ?, ?)", (self._key, alias, key))
        return key


def _alias(mention: Mention) -> str:
    return " ".join(mention.name.casefold().split())
