"""Reading memories: by id, by row, page by page, and what superseded what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.stores.protocol import LinkedPair, Succession
from fivefold.stores.rows import memory_of
from fivefold.stores.sql.filter_conditions import FilterConditions
from fivefold.stores.sql.memory_links import READ
from fivefold.stores.sql.memory_rows import COLUMNS, ID_ONLY, memories_of, with_extractions
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.values.entities import Extraction
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory, Type
from fivefold.values.reports import Link, ReadKind
from fivefold.values.times import from_micros, to_micros


class SqlMemoryReader:
    """A page begins behind the position of the last item before, so memories added in the meantime shift nothing.

    Where few of many memories are wanted, their own index finds them, and they are sorted by time afterwards.
    """

    def __init__(self, scope: ScopedReader) -> None:
        self._scope = scope
        self._sql = scope.sql

    def get(self, id: str) -> Memory | None:
        memories = self._scope.memories("namespace = :ns AND id = :id", id=id)
        return memories[0] if memories else None

    def get_many(self, ids: Sequence[str]) -> dict[str, Memory]:
        among = self._sql.among("id", ":ids")
        memories = self._scope.memories(f"namespace = :ns AND {among}", ids=self._scope.as_list(ids))
        return {memory.id: memory for memory in memories}

    def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        records = self._scope.rows(
            f"SELECT {COLUMNS} FROM memories WHERE {self._sql.among('row', ':rows')} "
            f"AND {self._sql.unindexed('namespace')} = :ns",
            rows=self._scope.as_list(rows),
        )
        return {columns[0]: memory_of(self._scope.namespace, columns) for columns in records}

    def fetch_with_ids(self, rows: Sequence[int], others: Sequence[int]) -> tuple[dict[int, Memory], dict[int, str]]:
        if not others:
            return self.fetch(rows), {}
        at, own = self._sql.among("row", ":rows"), f"{self._sql.unindexed('namespace')} = :ns"
        records = self._scope.rows(
            f"SELECT {COLUMNS} FROM memories WHERE {at} AND {own} UNION ALL "
            f"SELECT {ID_ONLY} FROM memories WHERE {self._sql.among('row', ':others')} AND {own}",
            rows=self._scope.as_list(rows),
            others=self._scope.as_list(others),
        )
        whole = [columns for columns in records if columns[2] is not None]
        ids = {columns[0]: columns[1] for columns in records if columns[2] is None}
        return {columns[0]: memory_of(self._scope.namespace, columns) for columns in whole}, ids

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        rows = self._scope.rows(
            f"SELECT id FROM memories WHERE namespace = :ns AND {self._sql.among('id', ':ids')}",
            ids=self._scope.as_list(ids),
        )
        return {id for (id,) in rows}

    def existing_notes(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these content hashes are those of a note that is not superseded."""
        rows = self._scope.rows(
            "SELECT content_hash FROM memories WHERE namespace = :ns AND kind = 'note' AND superseded_by IS NULL "
            f"AND {self._sql.among('content_hash', ':hashes')}",
            hashes=self._scope.as_list(hashes),
        )
        return {item for (item,) in rows}

    def last_written(self, until: datetime) -> datetime | None:
        """When the latest memory was written, of those that were not written after `until`."""
        sql = "SELECT max(created_at) FROM memories WHERE namespace = :ns AND created_at <= :until"
        ((last,),) = self._scope.rows(sql, until=to_micros(until)) or [(None,)]
        return None if last is None else from_micros(last)

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        rows = self._scope.rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE row > :after "
            f"AND {self._sql.unindexed('namespace')} = :ns ORDER BY row LIMIT :size",
            after=after,
            size=size,
        )
        return with_extractions(self._scope.namespace, rows)

    def expired(self, now: datetime, limit: int | None = None) -> list[Memory]:
        most = "" if limit is None else f" LIMIT {int(limit)}"
        return self._scope.memories(
            f"namespace = :ns AND expires_at <= :now AND pinned = 0 ORDER BY expires_at, row{most}", now=to_micros(now)
        )

    def has_type(self, type: Type, at_least: int) -> bool:
        row = self._scope.one(
            "SELECT count(*) FROM (SELECT 1 FROM memories WHERE namespace = :ns AND type = :type LIMIT :most) few",
            1,
            type=type,
            most=at_least,
        )
        return bool(row[0] and row[0] >= at_least)

    def page(self, keep: Filter, after: tuple[int, int] | None, limit: int) -> list[Memory]:
        """Latest first; `after` is the event time and the row of the last one seen."""
        found = bool(keep.session_ids or keep.tags or keep.all_tags or keep.metadata)
        at, own = (self._sql.unindexed(name) if found else name for name in ("event_at", "namespace"))
        wanted = FilterConditions(keep, self._sql, at)
        values: dict[str, object] = {**wanted.values, "limit": limit}
        conditions = [f"{'namespace' if keep.session_ids else own} = :ns", *wanted.on_memories()]
        if not keep.kinds:
            conditions.append(f"{self._sql.unindexed('kind')} <> 'session'")
        if after is not None:
            values |= {"at": after[0], "row": after[1]}
            conditions.append(f"({at}, row) < (:at, :row)")
        return self._scope.memories(f"{' AND '.join(conditions)} ORDER BY {at} DESC, row DESC LIMIT :limit", **values)

    def links(self, rows: Sequence[int]) -> dict[int, list[Link]]:
        """What each of these memories equals, repeats, supersedes, wholly or in part, or likely replaces."""
        records = self._scope.rows(
            "SELECT l.source, a.id, b.id, l.relation, l.why, l.chance "
            "FROM memory_links l CROSS JOIN memories a CROSS JOIN memories b "
            f"WHERE {self._sql.unindexed('l.namespace')} = :ns AND {self._sql.among('l.source', ':rows')} "
            f"AND a.row = l.source AND {self._sql.unindexed('a.namespace')} = :ns "
            f"AND b.row = l.target AND {self._sql.unindexed('b.namespace')} = :ns "
            "ORDER BY l.source, l.target, l.relation",
            rows=self._scope.as_list(rows),
        )
        links: dict[int, list[Link]] = {}
        for row, *parts in records:
            links.setdefault(row, []).append(Link(*parts))
        return links

    def linked(self, relation: ReadKind, after: tuple[int, int] | None = None, limit: int = 500) -> list[LinkedPair]:
        """The newest by the row of their source; `after` is the last one seen."""
        behind = "" if after is None else "AND (l.source, l.target) < (:source, :target) "
        values = {} if after is None else {"source": after[0], "target": after[1]}
        rows = self._scope.rows(
            "SELECT l.source, l.target, a.id, b.id, l.relation, l.why, l.chance FROM memory_links l "
            "JOIN memories a ON a.namespace = l.namespace AND a.row = l.source AND a.superseded_by IS NULL "
            "JOIN memories b ON b.namespace = l.namespace AND b.row = l.target AND b.superseded_by IS NULL "
            f"WHERE l.namespace = :ns AND {READ} AND l.relation = :relation {behind}"
            "ORDER BY l.source DESC, l.target DESC LIMIT :limit",
            relation=relation,
            limit=limit,
            **values,
        )
        return [LinkedPair(source, target, Link(*parts)) for source, target, *parts in rows]

    def links_around(self, row: int, among: Sequence[int]) -> list[Link]:
        """All links of a memory in both directions, and those between two of the others."""
        side = (
            "SELECT t.source, t.target, t.relation, t.why, t.chance FROM memory_links t "
            f"WHERE {self._sql.unindexed('t.namespace')} = :ns AND "
        )
        links = self._scope.rows(
            "SELECT l.source, l.target, a.id, b.id, l.relation, l.why, l.chance FROM "
            f"({side}{self._sql.among('t.source', ':rows')} UNION {side}{self._sql.among('t.target', ':rows')}) l "
            "CROSS JOIN memories a CROSS JOIN memories b "
            f"WHERE a.row = l.source AND {self._sql.unindexed('a.namespace')} = :ns AND b.row = l.target "
            f"AND {self._sql.unindexed('b.namespace')} = :ns ORDER BY l.target, l.source, l.relation",
            rows=self._scope.as_list([row, *among]),
        )
        inside = set(among)
        return [
            Link(*parts)
            for source, target, *parts in links
            if row in (source, target) or (source in inside and target in inside)
        ]

    def successions(self, rows: Sequence[int]) -> list[Succession]:
        """Links of both directions, each once."""
        side = (
            "SELECT t.source, t.target, t.chance, t.relation FROM memory_links t "
            f"WHERE {self._sql.unindexed('t.namespace')} = :ns AND t.relation IN ('supersedes', 'likely') AND "
        )
        links = self._scope.rows(
            "SELECT l.target, l.source, l.chance, m.event_at FROM "
            f"({side}{self._sql.among('t.source', ':rows')} UNION {side}{self._sql.among('t.target', ':rows')}) l "
            f"CROSS JOIN memories m WHERE m.row = l.source AND {self._sql.unindexed('m.namespace')} = :ns "
            f"AND (l.relation <> 'likely' OR NOT EXISTS (SELECT 1 FROM memories p WHERE p.row = l.target "
            f"AND {self._sql.unindexed('p.namespace')} = :ns AND p.pinned = 1)) ORDER BY l.target, l.source",
            rows=self._scope.as_list(rows),
        )
        return [Succession(older, newer, chance, from_micros(at)) for older, newer, chance, at in links]

    def named_times(self, rows: Sequence[int]) -> dict[int, tuple[tuple[datetime, datetime], ...]]:
        stretches = self._scope.rows(
            f"SELECT memory, starts_at, ends_at FROM memory_times WHERE {self._sql.among('memory', ':rows')} "
            f"AND {self._sql.unindexed('namespace')} = :ns ORDER BY memory, starts_at, ends_at",
            rows=self._scope.as_list(rows),
        )
        times: dict[int, tuple[tuple[datetime, datetime], ...]] = {}
        for row, start, end in stretches:
            times[row] = (*times.get(row, ()), (from_micros(start), from_micros(end)))
        return times

    def lineage(self, row: int) -> list[Memory]:
        """A memory with all that it supersedes and all that supersedes it, in any number of steps; oldest first."""
        steps = (
            "{0}(row) AS (SELECT CAST(:row AS bigint) UNION SELECT l.{1} FROM {0} CROSS JOIN memory_links l "
            f"WHERE l.{{2}} = {{0}}.row AND {self._sql.unindexed('l.namespace')} = :ns AND l.relation = 'supersedes')"
        )
        rows = self._scope.rows(
            f"WITH RECURSIVE {steps.format('older', 'target', 'source')}, {steps.format('newer', 'source', 'target')} "
            f"SELECT {COLUMNS} FROM memories WHERE {self._sql.unindexed('namespace')} = :ns AND row IN "
            "(SELECT older.row FROM older UNION SELECT newer.row FROM newer) "
            f"ORDER BY {self._sql.unindexed('event_at')}, row",
            row=row,
        )
        return memories_of(self._scope.namespace, rows)

    def event_span(self) -> tuple[datetime, datetime] | None:
        """When the oldest and the newest memory happened, each by one look into the index over times."""
        ends = (
            f"(SELECT event_at FROM memories WHERE namespace = :ns ORDER BY event_at {way} LIMIT 1)"
            for way in ("ASC", "DESC")
        )
        first, last = self._scope.one(f"SELECT {', '.join(ends)}", 2)
        return None if first is None else (from_micros(first), from_micros(last))
