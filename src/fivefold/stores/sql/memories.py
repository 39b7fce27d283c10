"""Memories: reading them by id, by row and by page, what links them, and writing them with all derived from them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b

from fivefold.stores.records import Entry, LinkedPair, Succession
from fivefold.stores.sql.index import READ_LINKS, IndexWriter, link_memories
from fivefold.stores.sql.scope import COLUMNS, FilterConditions, Scope, Transaction, put_labels
from fivefold.stores.tables import MEMORY_COLUMNS, compact, memory_of, micros_or_none, moment_or_none, values_of
from fivefold.values.entities import Extraction, Mention, extraction_data
from fivefold.values.fields import build
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory, Origin, Type
from fivefold.values.reports import Link, LinkKind, ReadKind
from fivefold.values.times import content_hash as hash_of
from fivefold.values.times import from_micros, to_micros
from fivefold.values.validate import MAX_TAGS

_ID_ONLY = ", ".join(name if name in ("row", "id") else "NULL" for name in MEMORY_COLUMNS)
"""As wide as a memory, with nothing but its row and its id."""
_STORED_COLUMNS = [name for name in MEMORY_COLUMNS if name != "row"]
"""The columns of a memory that are written, in the order of `values_of`."""
_INSERT = (
    f"INSERT INTO memories (row, namespace, content_hash, extracted, {', '.join(_STORED_COLUMNS)}) "
    f"VALUES (?, ?, ?, ?, {', '.join('?' * len(_STORED_COLUMNS))})"
)
_UPDATE = (
    f"UPDATE memories SET content_hash = ?, extracted = ?, {', '.join(f'{name} = ?' for name in _STORED_COLUMNS)} "
    "WHERE namespace = ? AND row = ?"
)


class MemoryReader:
    """Memories by id, by row, by page, and the links between them."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def get(self, id: str) -> Memory | None:
        return self._scope.memory("id = :id", id=id)

    def get_many(self, ids: Sequence[str]) -> dict[str, Memory]:
        among = self._sql.among("id", ":ids")
        memories = self._scope.memories(f"namespace = :ns AND {among}", ids=self._sql.as_list(ids))
        return {memory.id: memory for memory in memories}

    def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        own = f"{self._sql.among('row', ':rows')} AND {self._sql.unindexed('namespace')} = :ns"
        return {memory.row: memory for memory in self._scope.memories(own, rows=self._sql.as_list(rows))}

    def fetch_with_ids(self, rows: Sequence[int], others: Sequence[int]) -> tuple[dict[int, Memory], dict[int, str]]:
        """The memories at `rows` and only the ids of those at `others`, by row, in one round trip."""
        if not others:
            return self.fetch(rows), {}
        own = f"{self._sql.unindexed('namespace')} = :ns"
        records = self._scope.rows(
            f"SELECT {COLUMNS} FROM memories WHERE {self._sql.among('row', ':rows')} AND {own} UNION ALL "
            f"SELECT {_ID_ONLY} FROM memories WHERE {self._sql.among('row', ':others')} AND {own}",
            rows=self._sql.as_list(rows),
            others=self._sql.as_list(others),
        )
        whole = [columns for columns in records if columns[2] is not None]
        ids = {columns[0]: columns[1] for columns in records if columns[2] is None}
        return {columns[0]: memory_of(self._scope.namespace, columns) for columns in whole}, ids

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        sql = f"SELECT id FROM memories WHERE namespace = :ns AND {self._sql.among('id', ':ids')}"
        return {id for (id,) in self._scope.rows(sql, ids=self._sql.as_list(ids))}

    def existing_notes(self, hashes: Sequence[bytes]) -> set[bytes]:
        """The given content hashes of notes that are not superseded."""
        rows = self._scope.rows(
            "SELECT content_hash FROM memories WHERE namespace = :ns AND kind = 'note' AND superseded_by IS NULL "
            f"AND {self._sql.among('content_hash', ':hashes')}",
            hashes=self._sql.as_list(hashes),
        )
        return {item for (item,) in rows}

    def last_written(self, until: datetime) -> datetime | None:
        """Time of the latest write among the memories that were not written after `until`."""
        sql = "SELECT max(created_at) FROM memories WHERE namespace = :ns AND created_at <= :until"
        return moment_or_none(self._scope.value(sql, until=to_micros(until)))

    def scan(self, after: int = 0, size: int = 500) -> list[tuple[Memory, Extraction]]:
        """Memories with their extraction in the order of their rows, beginning after a row."""
        own = f"row > :after AND {self._sql.unindexed('namespace')} = :ns ORDER BY row LIMIT :size"
        return self._scope.with_extractions(own, after=after, size=size)

    def with_extractions(self, rows: Sequence[int]) -> list[tuple[Memory, Extraction]]:
        """The memories at these rows with their extraction, in the order of the rows."""
        own = f"{self._sql.among('row', ':rows')} AND {self._sql.unindexed('namespace')} = :ns ORDER BY row"
        return self._scope.with_extractions(own, rows=self._sql.as_list(rows)) if rows else []

    def page(self, keep: Filter, after: tuple[int, int] | None, limit: int) -> list[Memory]:
        """Memories that pass the filter, latest event first; `after` is event time in µs and row of the last one.

        Without a kind, session memories are left out, which only repeat their turns.
        """
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

    def expired(self, now: datetime, limit: int | None = None) -> list[Memory]:
        """Memories that have expired by `now` and are not pinned, those that expired first come first."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        sql = f"namespace = :ns AND expires_at <= :now AND pinned = 0 ORDER BY expires_at, row{most}"
        return self._scope.memories(sql, now=to_micros(now))

    def has_type(self, type: Type, at_least: int) -> bool:
        """True if there are at least that many memories of the type."""
        few = "(SELECT 1 FROM memories WHERE namespace = :ns AND type = :type LIMIT :most) few"
        count = self._scope.count(few, type=type, most=at_least)
        return bool(count and count >= at_least)

    def links(self, rows: Sequence[int]) -> dict[int, list[Link]]:
        """The links of each of these memories to those it equals, supersedes, repeats or likely replaces, by row, in
        order of targets."""
        records = self._scope.rows(
            "SELECT l.source, a.id, b.id, l.relation, l.why, l.chance "
            "FROM memory_links l CROSS JOIN memories a CROSS JOIN memories b "
            f"WHERE {self._sql.unindexed('l.namespace')} = :ns AND {self._sql.among('l.source', ':rows')} "
            f"AND a.row = l.source AND {self._sql.unindexed('a.namespace')} = :ns "
            f"AND b.row = l.target AND {self._sql.unindexed('b.namespace')} = :ns "
            "ORDER BY l.source, l.target, l.relation",
            rows=self._sql.as_list(rows),
        )
        links: dict[int, list[Link]] = {}
        for row, *parts in records:
            links.setdefault(row, []).append(Link(*parts))
        return links

    def linked(self, relation: ReadKind, after: tuple[int, int] | None = None, limit: int = 500) -> list[LinkedPair]:
        """The links of that kind between two current memories, newest first; `after` is the last pair of rows."""
        behind = "" if after is None else "AND (l.source, l.target) < (:source, :target) "
        values = {} if after is None else {"source": after[0], "target": after[1]}
        rows = self._scope.rows(
            "SELECT l.source, l.target, a.id, b.id, l.relation, l.why, l.chance FROM memory_links l "
            "JOIN memories a ON a.namespace = l.namespace AND a.row = l.source AND a.superseded_by IS NULL "
            "JOIN memories b ON b.namespace = l.namespace AND b.row = l.target AND b.superseded_by IS NULL "
            f"WHERE l.namespace = :ns AND {READ_LINKS} AND l.relation = :relation {behind}"
            "ORDER BY l.source DESC, l.target DESC LIMIT :limit",
            relation=relation,
            limit=limit,
            **values,
        )
        return [LinkedPair(source, target, Link(*parts)) for source, target, *parts in rows]

    def links_around(self, row: int, among: Sequence[int]) -> list[Link]:
        """All links of a memory in both directions, and those between two of the memories in `among`."""
        links = self._scope.rows(
            f"SELECT l.source, l.target, a.id, b.id, l.relation, l.why, l.chance FROM ({self._either_end('t.why')}) l "
            "CROSS JOIN memories a CROSS JOIN memories b "
            f"WHERE a.row = l.source AND {self._sql.unindexed('a.namespace')} = :ns AND b.row = l.target "
            f"AND {self._sql.unindexed('b.namespace')} = :ns ORDER BY l.target, l.source, l.relation",
            rows=self._sql.as_list([row, *among]),
        )
        inside = set(among)
        return [
            Link(*parts)
            for source, target, *parts in links
            if row in (source, target) or (source in inside and target in inside)
        ]

    def successions(self, rows: Sequence[int]) -> list[Succession]:
        """The replacements, sure or likely, with either end among these; nothing likely replaces a pinned one."""
        replaces = self._either_end("1", " AND t.relation IN ('supersedes', 'likely')")
        links = self._scope.rows(
            "SELECT l.target, l.source, l.chance, m.event_at, m.origin, "
            "(SELECT o.origin FROM memories o WHERE o.row = l.target) FROM "
            f"({replaces}) l "
            f"CROSS JOIN memories m WHERE m.row = l.source AND {self._sql.unindexed('m.namespace')} = :ns "
            f"AND (l.relation <> 'likely' OR NOT EXISTS (SELECT 1 FROM memories p WHERE p.row = l.target "
            f"AND {self._sql.unindexed('p.namespace')} = :ns AND p.pinned = 1)) ORDER BY l.target, l.source",
            rows=self._sql.as_list(rows),
        )
        return [
            Succession(older, newer, chance, from_micros(at), *origins) for older, newer, chance, at, *origins in links
        ]

    def _either_end(self, why: str, only: str = "") -> str:
        """The links of which either end is one of `:rows`, each once."""
        links = f"SELECT t.source, t.target, t.relation, t.chance, {why} AS why FROM memory_links t "
        own = f"WHERE {self._sql.unindexed('t.namespace')} = :ns{only} AND "
        return " UNION ".join(links + own + self._sql.among(end, ":rows") for end in ("t.source", "t.target"))

    def named_times(self, rows: Sequence[int]) -> dict[int, tuple[tuple[datetime, datetime], ...]]:
        """The stretches of time that these memories name, by row, in time order; memories without any are left out."""
        stretches = self._scope.rows(
            f"SELECT memory, starts_at, ends_at FROM memory_times WHERE {self._sql.among('memory', ':rows')} "
            f"AND {self._sql.unindexed('namespace')} = :ns ORDER BY memory, starts_at, ends_at",
            rows=self._sql.as_list(rows),
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
        return [memory_of(self._scope.namespace, columns) for columns in rows]

    def event_span(self) -> tuple[datetime, datetime] | None:
        """Times of the oldest and the newest event, each by one look into the index; None without a memory."""
        ends = (
            f"(SELECT event_at FROM memories WHERE namespace = :ns ORDER BY event_at {way} LIMIT 1)"
            for way in ("ASC", "DESC")
        )
        first, last = self._scope.one(f"SELECT {', '.join(ends)}", 2)
        return None if first is None else (from_micros(first), from_micros(last))


class QuarantineReader:
    """Records that wait for approval, as the memories they would become. Nothing is derived from them."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def page(self, after: tuple[int, str] | None, limit: int) -> list[Memory]:
        """The records that wait, those that came first come first; `after` is time in µs and id of the last one."""
        at, id = after or (-1, "")
        own = "namespace = :ns AND (held_at, id) > (:at, :id) ORDER BY held_at, id LIMIT :limit"
        return self._memories(own, at=at, id=id, limit=limit)

    def get(self, ids: Sequence[str]) -> list[Memory]:
        own = f"namespace = :ns AND {self._sql.among('id', ':ids')} ORDER BY held_at, id"
        return self._memories(own, ids=self._sql.as_list(ids))

    def count(self) -> int:
        return self._scope.count("quarantine WHERE namespace = :ns")

    def _memories(self, condition: str, /, **values: object) -> list[Memory]:
        rows = self._scope.rows(f"SELECT record FROM quarantine WHERE {condition}", **values)
        return [build(Memory, {**json.loads(record), "namespace": self._scope.namespace}) for (record,) in rows]


class QuarantineWriter(QuarantineReader):
    """Holds records and lets them go; what it reads is as it sees it."""

    def __init__(self, txn: Transaction) -> None:
        super().__init__(txn)
        self._txn = txn

    def add(self, memory: Memory, content_hash: bytes) -> str | None:
        """Hold what would become this memory; gives the id of the record that says the same, if one waits already."""
        same = "id = :id OR (content_hash = :hash AND coalesce(session_id, '') = :session)"
        held: str | None = self._txn.value(
            f"SELECT id FROM quarantine WHERE namespace = :ns AND ({same}) LIMIT 1",
            id=memory.id,
            hash=content_hash,
            session=memory.session_id or "",
        )
        if held is None:
            data = {**replace(memory, metadata={}).to_dict(), "metadata": memory.metadata}
            self._txn.many(
                "INSERT INTO quarantine (namespace, id, session_id, content_hash, held_at, record) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        self._txn.key,
                        memory.id,
                        memory.session_id,
                        content_hash,
                        to_micros(memory.created_at),
                        compact(data),
                    )
                ],
            )
        return held

    def take(self, ids: Sequence[str]) -> int:
        """Take records out; gives how many were there."""
        sql = f"DELETE FROM quarantine WHERE namespace = :ns AND {self._sql.among('id', ':ids')} RETURNING 1"
        taken = len(self._txn.rows(sql, ids=self._sql.as_list(ids)))
        self._txn.removed.extend(ids)
        return taken

    def ids_of_session(self, session_id: str) -> list[str]:
        sql = "SELECT id FROM quarantine WHERE namespace = :ns AND session_id = :session"
        return [id for (id,) in self._txn.rows(sql, session=session_id)]


class ForgottenMarks:
    """Marks of forgotten memories: digests of ids, texts and sessions under a key of the namespace, and no text.

    A turn is known by its id or as the same turn, something imported by its id or its text. Any other is known by its
    id with its text only, since whoever chose the id may use it for something new.
    """

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._key: bytes | None = None
        self._looked_up: set[str] = set()
        self._found: set[str] = set()
        self._sessions: set[str] | None = None

    def add(self, memory: Memory, content_hash: bytes) -> None:
        key = self._read_key()
        if key is None:
            key = self._key = secrets.token_bytes(32)
            sql = "INSERT INTO learned (namespace, name, value) VALUES (:ns, :name, :value)"
            self._txn.run(sql, name=MARKS_KEY, value=compact({"key": key.hex()}))
        marks = _marks(key, memory, content_hash)
        self._txn.run(
            "INSERT INTO forgotten (namespace, memory_mark, text_mark, said_mark, session_mark) "
            "VALUES (:ns, :memory, :text, :said, :session) ON CONFLICT (namespace, memory_mark) DO UPDATE SET "
            "text_mark = excluded.text_mark, said_mark = excluded.said_mark, session_mark = excluded.session_mark",
            session=None if memory.session_id is None else _mark(key, "session", memory.session_id),
            **marks,
        )
        self._found.update(marks.values())
        self._sessions = None

    def look_up(self, memories: Sequence[tuple[Memory, bytes]]) -> None:
        """Read in one step which of these were forgotten, each with the hash of its content; may do nothing."""
        self._looked_up.update(memory.id for memory, _ in memories)
        key = self._read_key() if memories else None
        if key is None:
            return
        marks = [_marks(key, memory, content_hash) for memory, content_hash in memories]
        for name in ("memory", "said"):
            among = self._txn.sql.among(f"{name}_mark", ":marks")
            sql = f"SELECT memory_mark, text_mark, said_mark FROM forgotten WHERE namespace = :ns AND {among}"
            for row in self._txn.rows(sql, marks=self._txn.sql.as_list([each[name] for each in marks])):
                self._found.update(row)

    def has(self, memory: Memory, content_hash: bytes) -> bool:
        """True if a memory was forgotten: a turn or an import by its source, any other by its id and text."""
        if memory.id not in self._looked_up:
            self.look_up([(memory, content_hash)])
        if self._key is None or not self._found:
            return False
        marks = _marks(self._key, memory, content_hash)
        by_source = memory.kind == "turn" or memory.origin == "import"
        return any(marks[name] in self._found for name in (("memory", "said") if by_source else ("text",)))

    def has_session(self, session_id: str) -> bool:
        """True if a turn of a session was forgotten, so that an older memory of the session may have its text."""
        if self._sessions is None:
            sql = "SELECT DISTINCT session_mark FROM forgotten WHERE namespace = :ns AND session_mark IS NOT NULL"
            self._sessions = {mark for (mark,) in self._txn.rows(sql)} if self._read_key() else set()
        return self._key is not None and _mark(self._key, "session", session_id) in self._sessions

    def lift(self, id: str) -> int:
        """Remove the mark of a memory, or all marks of a session; returns their number."""
        key = self._read_key()
        if key is None:
            return 0
        self._sessions = None
        sql = "DELETE FROM forgotten WHERE namespace = :ns AND (memory_mark = :memory OR session_mark = :session) "
        return len(
            self._txn.rows(f"{sql}RETURNING 1", memory=_mark(key, "memory", id), session=_mark(key, "session", id))
        )

    def _read_key(self) -> bytes | None:
        if self._key is None:
            value = self._txn.value("SELECT value FROM learned WHERE namespace = :ns AND name = :name", name=MARKS_KEY)
            self._key = None if value is None else bytes.fromhex(json.loads(value)["key"])
        return self._key


MARKS_KEY = "forgotten"
"""The name of the learned value with the key of the marks, without which no text can be told from its mark."""


def _marks(key: bytes, memory: Memory, content_hash: bytes) -> dict[str, str]:
    text = content_hash.hex()
    said = ("note", text)
    if memory.session_id is not None:
        said = ("turn", "\x1f".join((memory.session_id, text, str(to_micros(memory.event_at)))))
    return {
        "memory": _mark(key, "memory", memory.id),
        "text": _mark(key, "text", memory.id, text),
        "said": _mark(key, *said),
    }


def _mark(key: bytes, *parts: str) -> str:
    return blake2b("\x1f".join(parts).encode(), digest_size=16, key=key).hexdigest()


class MemoryWriter(MemoryReader):
    """Adds, replaces and removes memories with all that is derived from them; what it reads is as it sees it."""

    def __init__(self, txn: Transaction, index: IndexWriter, forgotten: ForgottenMarks) -> None:
        super().__init__(txn)
        self._txn = txn
        self._index = index
        self._forgotten = forgotten

    def preload(self, mentions: Sequence[Mention], hashes: Sequence[bytes]) -> None:
        """Look up in two statements what a batch will mention and may repeat; may do nothing."""
        self._index.entities.preload(mentions)
        rows = self._txn.rows(
            "SELECT content_hash, row FROM memories WHERE namespace = :ns AND kind = 'note' AND superseded_by IS NULL "
            f"AND {self._sql.among('content_hash', ':hashes')} ORDER BY row DESC",
            hashes=self._sql.as_list(hashes),
        )
        self._txn.notes = dict.fromkeys(hashes) | dict(rows)

    def add(self, entry: Entry) -> int:
        """Store a memory with its lexemes, vectors, statements, named times, mentions and relations; gives its row."""
        extracted = compact(extraction_data(entry.extraction))
        row = self._txn.insert(_INSERT, self._txn.key, entry.content_hash, extracted, *values_of(entry.memory))
        self._index.add(row, entry)
        if entry.memory.kind == "note" and self._txn.notes.get(entry.content_hash, row) is None:
            self._txn.notes[entry.content_hash] = row
        return row

    def save_extraction(self, row: int, extraction: Extraction) -> None:
        sql = "UPDATE memories SET extracted = :extracted WHERE namespace = :ns AND row = :row"
        self._txn.run(sql, extracted=compact(extraction_data(extraction)), row=row)

    def replace(self, row: int, entry: Entry) -> None:
        """Store an entry in place of the memory at that row, and derive everything again.

        Its links `likely` and `repeats` are removed: they came from the old text.
        """
        self._txn.notes.clear()
        old = self._txn.at(row)
        if old is not None and old.content != entry.memory.content:
            self._txn.reworded.append(old.id)
        self._index.remove(row)
        for end in ("source", "target"):
            self._txn.run(f"DELETE FROM memory_links WHERE namespace = :ns AND {end} = :row AND {READ_LINKS}", row=row)
        extracted = compact(extraction_data(entry.extraction))
        self._txn.many(_UPDATE, [(entry.content_hash, extracted, *values_of(entry.memory), self._txn.key, row)])
        self._index.add(row, entry)

    def remove(self, row: int) -> None:
        """Delete a memory, everything derived from it, and the recalls and stored responses that name it.

        Memories that it superseded are superseded by its own successor, or are current again. A mark of it stays to
        recognise its source; the memory of a session has no source.
        """
        memory = self._txn.at(row)
        assert memory is not None
        if memory.kind != "session":
            self._forgotten.add(memory, hash_of(memory.speaker, memory.content))
        self._txn.notes.clear()
        self._txn.removed.append(memory.id)
        self._index.remove(row)
        self._index.statements.pass_on(row)
        self._txn.run("UPDATE slots SET ended_by = NULL WHERE namespace = :ns AND ended_by = :row", row=row)
        self._txn.run("UPDATE sessions SET memory = NULL WHERE namespace = :ns AND memory = :row", row=row)
        naming = f"{self._sql.position}(returned, :id) > 0"
        self._txn.run(f"DELETE FROM recalls WHERE namespace = :ns AND {naming}", id=compact(memory.id))
        self._txn.run("DELETE FROM memories WHERE namespace = :ns AND row = :row", row=row)

    def by_row(self, row: int) -> Memory | None:
        return self._txn.at(row)

    def find_note(self, content_hash: bytes) -> int | None:
        """The first row of a current note with that content."""
        if content_hash in self._txn.notes:
            return self._txn.notes[content_hash]
        row: int | None = self._txn.value(
            "SELECT row FROM memories WHERE namespace = :ns AND content_hash = :hash AND kind = 'note' "
            "AND superseded_by IS NULL ORDER BY row LIMIT 1",
            hash=content_hash,
        )
        return row

    def find_earlier_equal(self, content_hash: bytes, before: int) -> int | None:
        """The last row before another with the same content."""
        sql = "SELECT max(row) FROM memories WHERE namespace = :ns AND content_hash = :hash AND row < :before"
        row: int | None = self._txn.value(sql, hash=content_hash, before=before)
        return row

    def count_repeat(self, row: int, tags: Sequence[str]) -> None:
        """A memory was given again: its `seen_count` grows by one and it gets the new tags too, as many as it may."""
        memory = self._txn.at(row)
        assert memory is not None
        joined = tuple(dict.fromkeys((*memory.tags, *tags)))[: max(MAX_TAGS, len(memory.tags))]
        sql = "UPDATE memories SET seen_count = seen_count + 1, tags = :tags WHERE namespace = :ns AND row = :row"
        self._txn.run(sql, tags=compact(list(joined)), row=row)
        if joined != memory.tags:
            self._txn.write_gathered()
            self._txn.run("DELETE FROM memory_labels WHERE namespace = :ns AND memory = :row", row=row)
            put_labels(self._txn, row, replace(memory, tags=joined))

    def count_echo(self, row: int) -> None:
        """A memory that was recalled was stored again by the assistant or a tool: its `echo_count` grows by one."""
        self._txn.run("UPDATE memories SET echo_count = echo_count + 1 WHERE namespace = :ns AND row = :row", row=row)

    def set_life(self, row: int, expires_at: datetime | None, pinned: bool) -> None:
        """Change when a memory expires and whether it is pinned, and nothing else of it."""
        sql = "UPDATE memories SET expires_at = :expires, pinned = :pinned WHERE namespace = :ns AND row = :row"
        self._txn.run(sql, expires=micros_or_none(expires_at), pinned=int(pinned), row=row)

    def set_origin(self, row: int, origin: Origin | None) -> None:
        """Change who wrote a memory, and nothing else of it."""
        self._txn.run(
            "UPDATE memories SET origin = :origin WHERE namespace = :ns AND row = :row", origin=origin, row=row
        )

    def link(self, source: int, target: int, relation: LinkKind, why: str, chance: float = 1.0) -> None:
        """Link two memories; a link that exists stays, and a sure replacement takes the place of any other."""
        link_memories(self._txn, source, target, relation, why, chance)
