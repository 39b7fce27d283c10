"""The entity graph for its user: look entities up, add, rename, merge, split and relate them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast, get_args

from fivefold.errors import InvalidInput, NotFound
from fivefold.namespace import Namespace
from fivefold.stores.records import NewEdge
from fivefold.values.entities import EDGE_KINDS, Edge, EdgeKind, Entity, EntityKind, Mention
from fivefold.values.memory import Memory
from fivefold.values.reports import MAX_PLACE, Page, page_of, read_cursor
from fivefold.values.times import as_utc, to_micros
from fivefold.values.validate import checked_choice, checked_limit, checked_name, checked_text


class Graph:
    """`mem.graph`. An argument names an entity by its id, or by a name or alias that no other entity has."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def entities(self, name: str | None = None, limit: int = 50, cursor: str | None = None) -> Page[Entity]:
        """Entities with that name or alias, or all except topics, most frequent first."""
        limit, after = checked_limit(limit), read_cursor(cursor, "entities", int, int)
        alias = None if name is None else folded(checked_text(name, "an entity's name", empty=True))
        items = self._namespace.reader.graph.entities(alias, limit + 1, cast(tuple[int, int] | None, after))
        return page_of(items, limit, "entities", lambda entity: (entity.links, entity.id))

    def entity(self, which: str | int) -> Entity:
        """The entity with that id or name; an ambiguous name is an error that lists the candidates."""
        if isinstance(which, int):
            matches = self._namespace.reader.graph.entities_by_key([which]) if abs(which) < MAX_PLACE else []
        else:
            matches = list(self.entities(which))
        exact = [item for item in matches if folded(item.name) == folded(str(which))]
        if not matches:
            raise NotFound(f"namespace {self._namespace.name!r} has no entity {which!r}")
        if len(matches) > 1 and len(exact) != 1:
            names = ", ".join(f"{item.name} (id {item.id})" for item in matches[:5])
            raise InvalidInput(f"{which!r} may be {names}; say which by its id")
        return exact[0] if len(exact) == 1 else matches[0]

    def entities_by_id(self, ids: Sequence[int]) -> list[Entity]:
        """The entities with these ids, in their order; unknown ids are left out."""
        stored = {item.id: item for item in self._namespace.reader.graph.entities_by_key(ids)}
        return [stored[id] for id in ids if id in stored]

    def named(self, names: Sequence[str]) -> dict[str, int]:
        """The id of the entity that each of these names or aliases means; unknown names are left out."""
        matches = self._namespace.reader.graph.find_aliases([folded(name) for name in names])
        known = {match.alias: match.entity for match in reversed(matches)}
        return {name: known[folded(name)] for name in names if folded(name) in known}

    def edges(self, which: str | int, limit: int = 100, cursor: str | None = None) -> Page[Edge]:
        """The relations of an entity, surest first."""
        limit, after = checked_limit(limit), read_cursor(cursor, "edges", int, float, int)
        key = cast(tuple[int, float, int] | None, after)
        items = self._namespace.reader.graph.edges(self.entity(which).id, limit + 1, key)
        return page_of(
            items, limit, "edges", lambda edge: (int(edge.kind == "semantic"), float(edge.confidence), edge.id)
        )

    def memories(self, which: str | int, limit: int = 50, cursor: str | None = None) -> Page[Memory]:
        """The memories that mention an entity, latest first."""
        limit, after = checked_limit(limit), read_cursor(cursor, "memories", int, int)
        key = cast(tuple[int, int] | None, after)
        items = self._namespace.reader.graph.memories_about(self.entity(which).id, limit + 1, key)
        return page_of(items, limit, "memories", lambda memory: (to_micros(memory.event_at), memory.row))

    def add(self, name: str, kind: str = "name", aliases: Sequence[str] = ()) -> Entity:
        """Add an entity, or return the existing one of that name; it stays even if no memory mentions it."""
        name = checked_name(name, "an entity's name")
        others = [checked_name(alias, "an alias") for alias in aliases]
        known_kind: EntityKind = checked_choice(kind, get_args(EntityKind), "kind")
        known = next((item for item in self.entities(name) if folded(item.name) == folded(name)), None)
        with self._namespace.transaction() as txn:
            if known is None:
                key = txn.entities.add(Mention(name, known_kind), by_hand=True)
            else:
                key = known.id
                txn.entities.rename(key, known.name)  # it is there by hand now
            for alias in others:
                txn.entities.add_alias(key, folded(alias))
        return self.entity(key)

    def alias(self, which: str | int, alias: str) -> Entity:
        """Add another name for an entity."""
        key = self.entity(which).id
        with self._namespace.transaction() as txn:
            txn.entities.add_alias(key, folded(checked_name(alias, "an alias")))
        return self.entity(key)

    def rename(self, which: str | int, name: str) -> Entity:
        """Give an entity a new name; the old one stays as an alias."""
        key, name = self.entity(which).id, checked_name(name, "an entity's name")
        with self._namespace.transaction() as txn:
            txn.entities.rename(key, name)
        return self.entity(key)

    def merge(self, into: str | int, other: str | int) -> Entity:
        """Merge two entities: links, aliases and edges of `other` move to `into`.

        `split` with the name and the memories of `other` undoes it.
        """
        target, source = self.entity(into).id, self.entity(other).id
        if target == source:
            raise InvalidInput("an entity cannot be merged into itself")
        with self._namespace.transaction() as txn:
            txn.entities.merge(target, source)
        return self.entity(target)

    def split(self, which: str | int, name: str, memories: Sequence[str]) -> Entity:
        """Split one entity into two: these memories mention another one, called `name`; `merge` undoes it.

        Relations that only these memories state move too, and so does `name` if it was an alias.
        """
        key, name = self.entity(which).id, checked_name(name, "an entity's name")
        rows = [self._namespace.get(id).row for id in memories]
        if not rows:
            raise InvalidInput("name at least one memory that mentions the other entity")
        with self._namespace.transaction() as txn:
            new = txn.entities.split(key, name, rows)
        return self.entity(new)

    def relate(
        self,
        source: str | int,
        relation: str,
        target: str | int,
        kind: EdgeKind = "structural",
        confidence: float = 1.0,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
    ) -> Edge:
        """Add a relation, or change an existing one."""
        if kind not in EDGE_KINDS:
            raise InvalidInput(f"{kind!r} is unknown; it is one of {', '.join(EDGE_KINDS)}", field="kind")
        if not 0 < confidence <= 1:
            raise InvalidInput(f"confidence must be > 0 and ≤ 1, not {confidence!r}")
        one, other = self.entity(source).id, self.entity(target).id
        relation = checked_name(relation, "a relation")
        since = None if valid_from is None else as_utc(valid_from, "valid_from")[0]
        until = None if valid_to is None else as_utc(valid_to, "valid_to")[0]
        with self._namespace.transaction() as txn:
            key = txn.edges.put(NewEdge(one, other, relation, kind, confidence, since, until, by_hand=True))
        cursor = None
        while True:
            page = self.edges(one, 1_000, cursor)
            if found := next((edge for edge in page if edge.id == key), None):
                return found
            if page.cursor is None:
                raise NotFound(f"namespace {self._namespace.name!r} has no edge {key!r} any more")
            cursor = page.cursor

    def unrelate(self, edge_id: int) -> None:
        """Remove a relation."""
        with self._namespace.transaction() as txn:
            if not isinstance(edge_id, int) or abs(edge_id) >= MAX_PLACE or not txn.edges.drop(edge_id):
                raise NotFound(f"namespace {self._namespace.name!r} has no edge {edge_id!r}")


def folded(name: str) -> str:
    """A name in the form of a stored alias: lower case, single spaces."""
    return " ".join(str(name).casefold().split())
