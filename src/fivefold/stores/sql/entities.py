"""Writing entities: who or what a mention means, which memories mention it, and the edges between entities (R6, R7)."""

from __future__ import annotations

import json
from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from fivefold.stores.sql.scope import Transaction
from fivefold.stores.tables import compact
from fivefold.text.lexemes import given_names, places
from fivefold.text.names import EXCLUSIVE, IS_CALLED, RELATIVES, SURE_NAME, TELLING, kin_said, role_in, wider
from fivefold.values.entities import PROPER, Extraction, Mention, Relation
from fivefold.values.memory import Memory
from fivefold.values.times import to_micros

TITLES = frozenset("project team dr mr mrs ms miss prof professor aunt uncle captain lake mount".split())
"""Words that go before a name without being part of it."""

OWNER = "user"
"""The name of the entity whose memory this is."""

RECENT_TIME = timedelta(hours=6)
"""A bare name means the person of that name mentioned last in the session, or so short a time before."""

MIN_USUAL_LINKS, USUAL_TIMES = 6, 5
"""Otherwise it means the one with so many mentions, and so many times those of all others of that name."""

MAX_LOOKED_BACK = 40
"""Latest mentions of a person that are compared with the session and the time of a new one, or for the kind."""

_INSERT_ENTITY = "INSERT INTO entities (key, namespace, name, kind, by_hand, created_at) VALUES (?, ?, ?, ?, ?, ?)"

_DELETE_UNUSED = (
    "DELETE FROM entities WHERE namespace = ?1 AND key = ?2 AND links <= 0 AND by_hand = 0 AND NOT EXISTS "
    "(SELECT 1 FROM edges d WHERE d.namespace = ?1 AND (d.source = ?2 OR d.target = ?2) "
    "AND (d.by_hand = 1 OR d.kind <> 'semantic'))"
)


def alias_of(name: str) -> str:
    return " ".join(name.casefold().split())


def name_parts(mention: Mention) -> list[str]:
    """The first and the last word of a person-like name, which alone may stand for it; a city is another thing."""
    words = alias_of(mention.name).split()
    if mention.kind in ("identifier", "topic") or not 2 <= len(words) <= 4:
        return []
    return [word for word in dict.fromkeys((words[0], words[-1])) if len(word) > 2 and word not in TITLES | places()]


class Candidate(NamedTuple):
    """An entity known under an alias, as a whole name or as a part of its name."""

    entity: int
    part: int
    links: int
    name: str


class PersonMention(NamedTuple):
    """A memory that mentions somebody."""

    row: int
    event_at: int
    session_id: str | None


class Role(NamedTuple):
    """A person's role to another: "cousin of" the user, say."""

    relation: str
    other: int
    is_target: bool


Roles = frozenset[Role]
_NO_ROLES: Roles = frozenset()


def _role(relation: str, other: int, is_target: bool) -> Role:
    relation, is_target = role_in(relation, is_target)
    return Role(relation, other, is_target)


def are_same(one: Roles, other: Roles) -> bool:
    """True if two texts give somebody one role: both speak of the cousin of the user."""
    return not one.isdisjoint(other)


def are_apart(one: Roles, other: Roles) -> bool:
    """True if nobody is both: the cousin and the manager of one person."""
    return not are_same(one, other) and any(
        mine.other == yours.other
        and wider(mine.relation) != wider(yours.relation)
        and not EXCLUSIVE.isdisjoint((mine.relation, yours.relation))
        for mine in one
        for yours in other
    )


def _is_open(one: Candidate, roles: Roles, alias: str) -> bool:
    """True if an entity stands for a bare name of which it is not known whose it is."""
    return alias_of(one.name) == alias and EXCLUSIVE.isdisjoint(role.relation for role in roles)


def _usual(people: Sequence[Candidate], links: int) -> int | None:
    """The one whom nearly all `links` of a name mean."""
    most = max(people, key=lambda one: one.links, default=None)
    usual = most is not None and most.links >= max(MIN_USUAL_LINKS, USUAL_TIMES * (links - most.links))
    return most.entity if most is not None and usual else None


@dataclass(slots=True)
class _Text:
    """The people of one text while its mentions are linked."""

    memory: Memory | None = None
    roles: Mapping[str, Roles] = field(default_factory=dict)
    """The roles that the text states, by alias."""
    full: Mapping[str, str] = field(default_factory=dict)
    """The only full name of the text that a bare name is a part of, by the bare name."""
    meant: dict[str, int] = field(default_factory=dict)
    """Whom its names turned out to mean."""


class EntityWriter:
    """Entities and their names. Mentions and their counts are gathered and written at the end of the transaction."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._known: dict[str, list[Candidate]] = {}
        self._linked: Counter[int] = Counter()
        self._links: list[tuple[int, int, int, int]] = []
        self._told: dict[int, set[str]] = {}
        """The kinds that the texts of this transaction tell of an entity."""
        self._kinds: dict[int, tuple[str, str]] = {}
        """The kind and the name that an entity is stored with."""
        self._text = _Text()
        self._own: set[int] | None = None
        self._roles: dict[int, Roles] = {}
        self._spoken: dict[int, list[PersonMention]] = {}
        self.moved: dict[int, int] = {}
        """Entities that were merged into others in this transaction, with the new ones."""

    def preload(self, mentions: Sequence[Mention]) -> None:
        """Look up the entities that a batch will mention, and the roles of those that share a name."""
        self._look_up({alias_of(mention.name) for mention in mentions})
        self._roles_of({one.entity for people in self._known.values() if len(people) > 1 for one in people})

    def _look_up(self, aliases: Iterable[str]) -> None:
        wanted = set(aliases)
        rows = self._txn.rows(
            f"SELECT a.alias, a.entity, a.part, e.links, e.name, e.kind FROM {self._txn.sql.each(':aliases', 'text')} "
            "CROSS JOIN entity_aliases a CROSS JOIN entities e WHERE a.namespace = :ns AND a.alias = wanted.value "
            "AND e.namespace = :ns AND e.key = a.entity",
            aliases=self._txn.sql.as_list(wanted),
        )
        self._known.update((alias, []) for alias in wanted)
        for alias, entity, part, links, name, kind in rows:
            self._kinds[entity] = (kind, name)
            self._known[alias].append(Candidate(entity, part, links + self._linked[entity], name))
        for alias in wanted:
            self._known[alias].sort(key=lambda one: (one.part, -one.links, one.entity))

    def _candidates(self, alias: str) -> list[Candidate]:
        if alias not in self._known:
            self._look_up([alias])
        return self._known[alias]

    def link(self, row: int, memory: Memory, extraction: Extraction) -> list[int]:
        """Link a memory to all it mentions; gives the named entities among them."""
        counts: dict[int, int] = {}
        entities: dict[int, None] = {}
        mentions = extraction.mentions
        self._text = self._read(memory, mentions, extraction.relations)
        for mention in sorted(mentions, key=lambda mention: " " not in mention.name):  # full names first
            self.find_or_add(mention)
        for mention in mentions:
            entity = self.find_or_add(mention)
            counts[entity] = counts.get(entity, 0) + mention.count
            if mention.kind != "topic":
                entities.setdefault(entity)
            if mention.kind in PROPER:
                self._told.setdefault(entity, set()).add(mention.kind)
        for entity in self._relatives(memory):
            counts.setdefault(entity, 1)
            entities.setdefault(entity)
        self._links += [(self._txn.key, row, entity, count) for entity, count in counts.items()]
        self._linked.update(counts.keys())
        for entity in counts.keys() & self._spoken.keys():
            insort(self._spoken[entity], PersonMention(row, to_micros(memory.event_at), memory.session_id))
            del self._spoken[entity][:-MAX_LOOKED_BACK]
        return list(entities)

    def _read(self, memory: Memory, mentions: Sequence[Mention], relations: Sequence[Relation]) -> _Text:
        """The people that a text names and their roles, before it is known who they are."""
        roles: dict[str, Roles] = {}
        for item in relations:
            if item.relation in TELLING and not item.ended:
                ends = alias_of(item.source), alias_of(item.target)
                for is_target, (alias, other) in enumerate((ends, ends[::-1])):
                    known = [one.entity for one in self._candidates(other) if not one.part]
                    if alias != OWNER and (known or other == OWNER):
                        role = _role(item.relation, known[0] if known else 0, bool(is_target))
                        roles[alias] = roles.get(alias, _NO_ROLES) | {role}
        full: dict[str, str] = {}
        for mention in mentions:
            for part in name_parts(mention):
                full[part] = "" if part in full else alias_of(mention.name)
        return _Text(memory, roles, full)

    def _relatives(self, memory: Memory) -> Iterator[int]:
        """Those whom a text means by "my sister" or "the user's boss", if the user has only one."""
        said = kin_said(memory.content, (memory.speaker or OWNER).casefold() in (OWNER, "human"))
        owner = next((one.entity for one in self._candidates(OWNER) if not one.part), None) if said else None
        for word in said if owner is not None else ():
            people = {
                other for relation, inverse in RELATIVES[word].edges for other in self._ends(owner, relation, inverse)
            }
            if len(people) == 1:
                yield from people

    def _ends(self, entity: int | None, relation: str, inverse: bool) -> list[int]:
        """Whom a current relation leads to from an entity, or comes from."""
        here, there = ("target", "source") if inverse else ("source", "target")
        sql = f"SELECT {there} FROM edges WHERE namespace = :ns AND {here} = :entity AND relation = :relation"
        rows = self._txn.rows(f"{sql} AND valid_to IS NULL", entity=entity, relation=relation)
        return [other for (other,) in rows]

    def _roles_of(self, entities: Collection[int]) -> dict[int, Roles]:
        """The present roles of each of these in the graph."""
        roles = dict.fromkeys((entity for entity in entities if entity not in self._roles), _NO_ROLES)
        for here, there in (("source", "target"), ("target", "source")) if roles else ():
            rows = self._txn.rows(
                f"SELECT d.{here}, d.relation, d.{there} FROM edges d WHERE d.namespace = :ns AND d.valid_to IS NULL "
                f"AND {self._txn.sql.among(f'd.{here}', ':keys')} "
                f"AND {self._txn.sql.among('d.relation', ':relations')}",
                keys=self._txn.sql.as_list(roles),
                relations=self._txn.sql.as_list(sorted(TELLING)),
            )
            for entity, relation, other in rows:
                roles[entity] |= {_role(relation, other, here == "target")}
        self._roles.update(roles)
        return {entity: self._roles[entity] for entity in entities}

    def flush(self) -> None:
        """Write the links this transaction gathered, and their counts."""
        self._txn.put("links", ("namespace", "memory", "entity", "count"), self._links)
        self._links.clear()
        counts = [(count, self._txn.key, entity) for entity, count in self._linked.items()]
        self._txn.many("UPDATE entities SET links = links + ? WHERE namespace = ? AND key = ?", counts)
        self._linked.clear()
        told, self._told = self._told, {}
        for entity, kinds in told.items():
            key = self.moved.get(entity, entity)
            kind, name = self._kinds.get(key) or self._kinds[entity]
            if kinds != {kind} and (kind in ("name", *PROPER) or (kind == "topic" and " " in name)):
                new = self._usual_kind(key) if kind in PROPER or len(kinds) > 1 else min(kinds)
                self._set_kind(key, new, name)

    def _set_kind(self, key: int, kind: str, name: str) -> None:
        """A kind that was given by hand stays."""
        self._kinds[key] = (kind, name)
        sql = "UPDATE entities SET kind = :kind WHERE namespace = :ns AND key = :key"
        self._txn.run(f"{sql} AND (by_hand = 0 OR kind IN ('name', 'topic'))", key=key, kind=kind)

    def _usual_kind(self, key: int) -> str:
        """The kind that most of the latest texts tell that tell any."""
        aliases = self._txn.rows("SELECT alias FROM entity_aliases WHERE namespace = :ns AND entity = :key", key=key)
        texts = (extracted_of(self._txn, one.row) for one in self._latest(key))
        told = Counter(
            kind
            for text in texts
            for name, kind, _ in text.get("mentions", ())
            if kind in PROPER and (alias_of(name),) in aliases
        )
        return told.most_common(1)[0][0] if told else "name"

    def unlink(self, row: int) -> None:
        """Delete a memory's mentions, and the entities that nothing mentions any more."""
        self.flush()
        entities = self._txn.rows(
            "SELECT namespace, entity FROM links WHERE namespace = :ns AND memory = :row", row=row
        )
        self._txn.run("DELETE FROM links WHERE namespace = :ns AND memory = :row", row=row)
        self._txn.many("UPDATE entities SET links = links - 1 WHERE namespace = ? AND key = ?", entities)
        self._txn.many(_DELETE_UNUSED, entities)
        self.forget_names()

    def forget_names(self) -> None:
        self._forget()
        self._text = _Text()

    def _forget(self) -> None:
        self._known.clear()
        self._spoken.clear()
        self.forget_edges()

    def forget_edges(self, *ends: int) -> None:
        """Look up again what the edges of these say, or all edges, since one has changed."""
        self._own = None
        for entity in [
            one
            for one, roles in self._roles.items()
            if not ends or one in ends or any(role.other in ends for role in roles)
        ]:
            del self._roles[entity]

    def drop_unused(self) -> None:
        unused = self._txn.rows("SELECT namespace, key FROM entities WHERE namespace = :ns AND links <= 0")
        self._txn.many(_DELETE_UNUSED, unused)
        self.forget_names()

    def find_or_add(self, mention: Mention) -> int:
        """The entity a mention means; a bare name by what the text says of its bearer, and by who was spoken of."""
        alias = alias_of(mention.name)
        key = self._text.meant.get(alias)
        if key is None:
            key = self._text.meant[alias] = self._find(mention, alias)
        return key

    def _find(self, mention: Mention, alias: str) -> int:
        candidates, roles = self._candidates(alias), self._text.roles.get(alias, _NO_ROLES)
        whole = [one.entity for one in candidates if not one.part]
        if " " in alias or mention.kind in ("topic", "identifier"):
            if not whole:
                return candidates[0].entity if len(candidates) == 1 else self.add(mention)
            for bare in self._bare_names(mention) if roles else ():
                if bare.entity != whole[0] and are_same(self._roles_of([bare.entity])[bare.entity], roles):
                    self.merge(whole[0], bare.entity, by_hand=False)
            return whole[0]
        candidates = self._of_user(candidates, roles)
        if len(candidates) == 1 and not roles:
            return candidates[0].entity
        return self._whose(mention, alias, candidates, roles) if candidates else self.add(mention)

    def _of_user(self, candidates: list[Candidate], roles: Roles) -> list[Candidate]:
        """The user speaks of a namesake by the user's own name; others speak of the user."""
        if self._text.memory is None or any(role.relation == IS_CALLED for role in roles):
            return candidates
        own = self._own_names()
        if own.isdisjoint(one.entity for one in candidates):
            return candidates
        is_own = (self._text.memory.speaker or "").casefold() not in (OWNER, "human") and not roles
        return [one for one in candidates if (one.entity in own) == is_own]

    def _own_names(self) -> set[int]:
        """The entities of the names that the user has."""
        if self._own is None:
            rows = self._txn.rows(
                f"SELECT target FROM edges WHERE namespace = :ns AND relation = '{IS_CALLED}' AND valid_to IS NULL "
                f"AND confidence >= {SURE_NAME} AND source IN "
                f"(SELECT entity FROM entity_aliases WHERE namespace = :ns AND alias = '{OWNER}')"
            )
            self._own = {key for (key,) in rows}
        return self._own

    def _whose(self, mention: Mention, alias: str, candidates: Sequence[Candidate], roles: Roles) -> int:
        """Whom a bare name means that may be several people's; an entity for the bare name if that stays open."""
        known = self._roles_of([one.entity for one in candidates])
        full = self._text.meant.get(self._text.full.get(alias, ""))
        left = [one for one in candidates if not are_apart(known[one.entity], roles)]
        people = [one for one in left if one.part or not _is_open(one, known[one.entity], alias)]
        same = [one.entity for one in candidates if are_same(known[one.entity], roles)]
        called = [one.entity for one in people if not one.part and alias_of(one.name) != alias]
        for sure in (same[:1], [one.entity for one in left if one.entity == full], called):
            if len(sure) == 1:
                return sure[0]
        if len(left) == 1 or (roles and len(people) == 1):
            return (people or left)[0].entity
        meant = self._recent(people) or _usual(people, sum(one.links for one in left))
        unknown = (one.entity for one in left if one not in people)
        return next(unknown, None) or self._insert(mention) if meant is None else meant

    def _recent(self, people: Sequence[Candidate]) -> int | None:
        """The one of these who was spoken of last in the session of the text, or shortly before it."""
        memory = self._text.memory
        if memory is None or len(people) < 2:
            return None
        at, since = to_micros(memory.event_at), to_micros(memory.event_at - RECENT_TIME)
        found: list[tuple[bool, int, int, int]] = []
        for one in people:
            for row, spoken_at, session in self._latest(one.entity):
                together = session is not None and session == memory.session_id
                if spoken_at <= at and (together or spoken_at >= since):
                    found.append((together, spoken_at, row, one.entity))
        in_session = [spoken for spoken in found if spoken[0]]
        if in_session or len({spoken[-1] for spoken in found}) == 1:
            return max(in_session or found)[-1]
        return None

    def _latest(self, entity: int) -> Sequence[PersonMention]:
        """The latest mentions of somebody, by row."""
        if entity not in self._spoken:
            if entity in self._linked:
                self.flush()
            rows = self._txn.rows(  # CROSS JOIN: by event_at, SQLite would read the whole namespace
                "SELECT m.row, m.event_at, m.session_id FROM (SELECT memory FROM links WHERE namespace = :ns "
                "AND entity = :entity ORDER BY memory DESC LIMIT :most) l CROSS JOIN memories m "
                "WHERE m.row = l.memory AND m.namespace = :ns",
                entity=entity,
                most=MAX_LOOKED_BACK,
            )
            self._spoken[entity] = sorted(PersonMention(*row) for row in rows)
        return self._spoken[entity]

    def _bare_names(self, mention: Mention) -> list[Candidate]:
        """Entities that so far have only the first name of a full one; behind a title, only the last."""
        words = alias_of(mention.name).split()
        word = words[-1] if words[0] in TITLES else words[0]
        known = () if word in places() else self._candidates(word)
        return [one for one in known if not one.part and alias_of(one.name) == word]

    def add(self, mention: Mention, by_hand: bool = False) -> int:
        """A new entity; a full name takes over the entity known only by its first or last name. Gives its key.

        A first name grows into a full one; a last word only behind a title, as 'Kestrel' into 'Project Kestrel'. It
        stays as it is if another full name shares that part, or if it is somebody's cousin and this one is not.
        """
        bare = self._bare_names(mention) if name_parts(mention) and not by_hand else []
        key = self._grows(mention, bare) if bare else None
        if key is None:
            return self._insert(mention, by_hand)
        self._txn.run(
            "UPDATE entities SET name = :name WHERE namespace = :ns AND key = :key", name=mention.name, key=key
        )
        self._kinds[key] = (self._kinds[key][0], mention.name)
        (old,) = {alias_of(one.name) for one in bare}
        self._txn.run(
            "UPDATE entity_aliases SET part = 1 WHERE namespace = :ns AND alias = :alias AND entity = :key "
            "AND NOT EXISTS (SELECT 1 FROM entities e WHERE e.namespace = :ns AND e.key = :key AND e.by_hand = 1)",
            alias=old,
            key=key,
        )
        self._known.pop(old, None)
        return self._name(key, mention)

    def _grows(self, mention: Mention, bare: Sequence[Candidate]) -> int | None:
        """The one of those known by a bare name who has this full one."""
        roles = self._text.roles.get(alias_of(mention.name), _NO_ROLES)
        known = self._roles_of([one.entity for one in bare])
        same = next((one.entity for one in bare if are_same(known[one.entity], roles)), None)
        shared = any(one.part for one in self._candidates(alias_of(bare[0].name)))
        own = known[bare[0].entity]
        if same is not None or shared or len(bare) > 1 or are_apart(own, roles):
            return same
        return None if any(role.relation in EXCLUSIVE for role in own) else bare[0].entity

    def _insert(self, mention: Mention, by_hand: bool = False) -> int:
        known = mention.kind == "name" and alias_of(mention.name).split()[0] in given_names()
        kind = "person" if known else mention.kind
        values = (self._txn.key, mention.name, kind, int(by_hand), self._txn.now)
        key = self._txn.insert(_INSERT_ENTITY, *values)
        self._kinds[key] = (kind, mention.name)
        return self._name(key, mention)

    def _name(self, key: int, mention: Mention) -> int:
        self.add_alias(key, alias_of(mention.name))
        for part in name_parts(mention):
            self.add_alias(key, part, part=True)
        return key

    def add_alias(self, entity: int, alias: str, part: bool = False) -> None:
        self._txn.run(
            "INSERT INTO entity_aliases (namespace, alias, entity, part) VALUES (:ns, :alias, :entity, :part) "
            "ON CONFLICT (namespace, alias, entity) DO UPDATE SET "
            f"part = {self._txn.sql.least}(entity_aliases.part, excluded.part)",
            alias=alias,
            entity=entity,
            part=int(part),
        )
        self._known.pop(alias, None)

    def call(self, name: str, nickname: str) -> None:
        """Somebody has a nickname: whoever is known by it alone, and is nobody else, is the same person."""
        key, alias = self.find_or_add(Mention(name, "name")), alias_of(nickname)
        own = self._roles_of([key])[key]
        for one in self._candidates(alias):
            bare = one.entity != key and not one.part and alias_of(one.name) == alias
            if bare and not are_apart(self._roles_of([one.entity])[one.entity], own):
                self.merge(key, one.entity, by_hand=False)
        self.add_alias(key, alias)
        self._text.meant[alias] = key

    def rename(self, key: int, name: str) -> None:
        """Give an entity another name; the old one stays as an alias."""
        sql = "UPDATE entities SET name = :name, by_hand = 1 WHERE namespace = :ns AND key = :key"
        self._txn.run(sql, name=name, key=key)
        self.add_alias(key, alias_of(name))

    def merge(self, into: int, out: int, by_hand: bool = True) -> None:
        """Everything of `out` becomes `into`'s, and `out` is deleted; the mentions are counted again."""
        self.flush()
        for table, column, others in (
            ("links", "entity", ("memory",)),
            ("entity_aliases", "entity", ("alias",)),
            ("edges", "source", ("target", "relation")),
            ("edges", "target", ("source", "relation")),
        ):
            same = " AND ".join(f"twin.{other} = {table}.{other}" for other in others)
            self._txn.run(
                f"UPDATE {table} SET {column} = :into WHERE namespace = :ns AND {column} = :out AND NOT EXISTS "
                f"(SELECT 1 FROM {table} twin WHERE twin.namespace = :ns AND twin.{column} = :into AND {same})",
                into=into,
                out=out,
            )
        self._txn.run("DELETE FROM edges WHERE namespace = :ns AND source = target")
        sql = "DELETE FROM entities WHERE namespace = :ns AND key = :out RETURNING kind"
        out_kind = self._txn.value(sql, out=out)
        if out_kind in PROPER:
            sql = "UPDATE entities SET kind = :kind WHERE namespace = :ns AND key = :into AND kind = 'name'"
            self._txn.run(sql, kind=out_kind, into=into)
        self.moved |= {key: into for key, moved in self.moved.items() if moved == out} | {out: into}
        self._text.meant.update((alias, into) for alias, key in self._text.meant.items() if key == out)
        self._recount(into, by_hand)

    def split(self, key: int, name: str, memories: Sequence[int]) -> int:
        """A new entity, to which go these memories' mentions of the old one and what only they state; gives its key."""
        kind = self._txn.value("SELECT kind FROM entities WHERE namespace = :ns AND key = :key", key=key)
        sql = "SELECT alias FROM entity_aliases WHERE namespace = :ns AND entity = :key"
        aliases = {alias for (alias,) in self._txn.rows(sql, key=key)}
        self._txn.run(
            "DELETE FROM entity_aliases WHERE namespace = :ns AND entity = :key AND alias = :alias AND 1 < "
            "(SELECT count(*) FROM entity_aliases a WHERE a.namespace = :ns AND a.entity = :key AND a.part = 0)",
            key=key,
            alias=alias_of(name),
        )
        new = self._insert(Mention(name, kind), by_hand=True)
        self._txn.many(
            "UPDATE links SET entity = ? WHERE namespace = ? AND entity = ? AND memory = ?",
            [(new, self._txn.key, key, memory) for memory in dict.fromkeys(memories)],
        )
        stated = "EXISTS (SELECT 1 FROM edge_memories s WHERE s.namespace = :ns AND s.edge = edges.key AND {})"
        by_these = self._txn.sql.among("s.memory", ":rows")
        for end in ("source", "target"):
            self._txn.run(
                f"UPDATE edges SET {end} = :new WHERE namespace = :ns AND {end} = :key AND kind <> 'semantic' "
                f"AND {stated.format(by_these)} AND NOT {stated.format(f'NOT ({by_these})')}",
                new=new,
                key=key,
                rows=self._txn.sql.as_list(list(dict.fromkeys(memories))),
            )
        for memory in memories:
            extracted = extracted_of(self._txn, memory)
            extracted["mentions"] = [
                [name if alias_of(called) in aliases else called, *rest]
                for called, *rest in extracted.get("mentions", ())
            ]
            extracted["relations"] = [
                [name if alias_of(one) in aliases else one, said, name if alias_of(two) in aliases else two, *rest]
                for one, said, two, *rest in extracted.get("relations", ())
            ]
            sql = "UPDATE memories SET extracted = :extracted WHERE namespace = :ns AND row = :row"
            self._txn.run(sql, extracted=compact(extracted), row=memory)
        self._recount(key)
        self._recount(new)
        return new

    def _recount(self, key: int, by_hand: bool = True) -> None:
        self._txn.run(
            f"UPDATE entities SET by_hand = {self._txn.sql.greatest}(by_hand, :hand), links = (SELECT count(*) "
            "FROM links l WHERE l.namespace = :ns AND l.entity = :key) WHERE namespace = :ns AND key = :key",
            key=key,
            hand=int(by_hand),
        )
        self._forget()


def extracted_of(txn: Transaction, row: int) -> dict[str, list[list[str]]]:
    text = txn.value("SELECT extracted FROM memories WHERE namespace = :ns AND row = :row", row=row)
    return dict(json.loads(text))
