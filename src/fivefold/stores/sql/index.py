"""Writing what is derived from a memory: lexemes, vectors, statements, labels, named times, mentions and relations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.records import Entry, StoredFact, VectorSpace
from fivefold.stores.sql.entities import EntityWriter
from fivefold.stores.sql.graph import EdgeWriter
from fivefold.stores.sql.scope import LABELLED, Scope, Transaction, label_rows, put_labels
from fivefold.stores.sql.search import MAX_TIMES, put_times
from fivefold.stores.sql.sessions import SessionWriter
from fivefold.stores.sql.vectors import VectorWriter, missing_vectors, unsound_passages
from fivefold.stores.tables import SPACE_COLUMNS, space_of
from fivefold.values.entities import Statement
from fivefold.values.known import SECTIONS, FactSpan
from fivefold.values.memory import Memory
from fivefold.values.reports import BY_HAND, WITH_CHANCE, Finding, LinkKind
from fivefold.values.times import from_micros, is_hash_of, to_micros
from fivefold.values.vectors import FIELDS

READ_LINKS = "relation IN ('likely', 'repeats')"
"""Links that are read out of two texts; the condition of their index."""

_HOLDS = (
    "ended_by IS NULL AND (SELECT m.superseded_by FROM memories m "
    "WHERE m.namespace = :ns AND m.row = slots.memory) IS NULL"
)
"""The condition that a statement still holds: nothing has ended it, neither alone nor with its whole memory."""

_OF_TARGET = "DELETE FROM memory_links WHERE namespace = :ns AND target = :row AND relation = :relation"


def link_memories(
    txn: Transaction, source: int, target: int, relation: LinkKind, why: str, chance: float = 1.0
) -> None:
    """Link two memories; a link that exists stays as it is, but for a likely one that becomes sure.

    A superseded memory is neither likely replaced nor repeated by the same memory.
    """
    pair = "namespace = :ns AND ((source = :source AND target = :target) OR (source = :target AND target = :source))"
    if relation == "supersedes":
        txn.run(f"DELETE FROM memory_links WHERE {pair} AND {READ_LINKS}", source=source, target=target)
    sure = f"SELECT 1 FROM memory_links WHERE {pair} AND relation = 'supersedes' LIMIT 1"
    if relation in WITH_CHANCE and txn.rows(sure, source=source, target=target):
        return
    txn.run(
        "INSERT INTO memory_links (namespace, source, target, relation, why, chance) "
        "VALUES (:ns, :source, :target, :relation, :why, :chance) ON CONFLICT DO NOTHING",
        source=source,
        target=target,
        relation=relation,
        why=why,
        chance=chance,
    )


WEIGHT_PARTS = 100
"""The weight of a fact is stored as a whole number of hundredths."""


def put_facts(txn: Transaction, row: int, facts: Sequence[FactSpan]) -> None:
    """Store the facts of a memory."""
    if facts:
        txn.gather(
            _write_facts,
            [(txn.key, row, each.start, each.end, each.section, round(WEIGHT_PARTS * each.weight)) for each in facts],
        )


def _write_facts(txn: Transaction, rows: list[tuple[Any, ...]]) -> None:
    sql = "INSERT INTO facts (namespace, memory, starts, ends, section, weight) VALUES (?, ?, ?, ?, ?, ?)"
    txn.many(f"{sql} ON CONFLICT DO NOTHING", rows)


class StatementWriter:
    """Statements (subject, attribute, value) of memories: which hold, and which ended by what."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    def current(self, subject: str, attribute: str) -> list[tuple[int, Statement]]:
        """The statements that hold for a subject and an attribute with their memories' rows, latest row first."""
        rows = self._txn.rows(
            "SELECT memory, subject, attribute, value FROM slots WHERE namespace = :ns AND subject = :subject "
            f"AND attribute = :attribute AND {_HOLDS} ORDER BY memory DESC",
            subject=subject,
            attribute=attribute,
        )
        return [(row, Statement(*parts)) for row, *parts in rows]

    def current_with_value(self, value: str) -> list[Statement]:
        """The statements that hold and whose value begins with these words, ASCII letters compared without case."""
        rows = self._txn.rows(
            f"SELECT subject, attribute, value FROM slots WHERE namespace = :ns AND {_HOLDS} AND "
            "substr(lower(value) || ' ', 1, length(:value) + 1) = :value || ' ' ORDER BY memory, subject, attribute",
            value="".join(sign.lower() if sign.isascii() else sign for sign in value.strip()),
        )
        return [Statement(*parts) for parts in rows]

    def of_memory(self, row: int) -> list[Statement]:
        """All statements of a memory, also those that ended."""
        rows = self._txn.rows(
            "SELECT subject, attribute, value FROM slots WHERE namespace = :ns AND memory = :row "
            "ORDER BY subject, attribute, value",
            row=row,
        )
        return [Statement(*parts) for parts in rows]

    def add(self, row: int, statements: Sequence[Statement]) -> None:
        self._txn.many(
            "INSERT INTO slots (namespace, subject, attribute, value, memory) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [(self._txn.key, item.subject, item.attribute, item.value, row) for item in statements],
        )

    def end(self, row: int, statement: Statement, by: int) -> int:
        """End a memory's statements with that value by another memory; gives how many of its statements still hold."""
        sql = "UPDATE slots SET ended_by = :by WHERE namespace = :ns AND memory = :row AND value = :value"
        self._txn.run(sql, by=by, row=row, value=statement.value)
        return self._txn.count(f"slots WHERE namespace = :ns AND memory = :row AND {_HOLDS}", row=row)

    def end_superseded(self, row: int | None = None) -> None:
        """End the statements that a superseding memory states again; of one memory, or of the whole namespace."""
        self._txn.run(
            "UPDATE slots SET ended_by = (SELECT l.source FROM memory_links l JOIN slots newer "
            "ON newer.namespace = l.namespace AND newer.memory = l.source AND newer.subject = slots.subject "
            "AND newer.attribute = slots.attribute WHERE l.namespace = :ns AND l.target = slots.memory "
            "AND l.relation = 'supersedes' ORDER BY l.source LIMIT 1) "
            "WHERE namespace = :ns AND ended_by IS NULL AND memory = coalesce(:row, memory)",
            row=row,
        )

    def supersede(self, old: Memory, new: Memory, why: str) -> None:
        """A memory replaces another, which is valid until the new one's event time."""
        ended = self._txn.rows(
            "UPDATE memories SET superseded_by = :new, given_valid_to = valid_to, valid_to = :until "
            "WHERE namespace = :ns AND row = :row RETURNING content_hash",
            new=new.id,
            until=to_micros(new.event_at),
            row=old.row,
        )
        for (content_hash,) in ended:
            self._txn.notes.pop(content_hash, None)
        link_memories(self._txn, new.row, old.row, "supersedes", why)

    def reinstate(self, row: int) -> None:
        """A superseded memory is current again with all its statements, and nothing is likely to replace it."""
        self._reinstate(row)
        self._txn.run(_OF_TARGET, row=row, relation="likely")

    def reinstate_ended_by(self, row: int) -> None:
        """Reinstate what this memory superseded by its wording; what it replaced by hand stays superseded."""
        for target, why in self._superseded(row):
            if why != BY_HAND:
                self._reinstate(target)

    def pass_on(self, row: int) -> None:
        """A memory is removed: what it superseded is now superseded by its own successor, or holds again."""
        removed = self._txn.at(row)
        assert removed is not None
        successor = None
        if removed.superseded_by is not None:
            successor = self._txn.memory("id = :id", id=removed.superseded_by)
        for target, why in self._superseded(row):
            if successor is None:
                self._reinstate(target)
                continue
            self._txn.run(
                "UPDATE memories SET superseded_by = :new "
                "WHERE namespace = :ns AND row = :row AND superseded_by = :old",
                new=successor.id,
                row=target,
                old=removed.id,
            )
            sql = "UPDATE slots SET ended_by = :new WHERE namespace = :ns AND memory = :row AND ended_by = :old"
            self._txn.run(sql, new=successor.row, row=target, old=row)
            link_memories(self._txn, successor.row, target, "supersedes", why)

    def _superseded(self, row: int) -> list[tuple[int, str]]:
        superseded = "source = :row AND relation = 'supersedes' ORDER BY target"
        return self._txn.rows(f"SELECT target, why FROM memory_links WHERE namespace = :ns AND {superseded}", row=row)

    def _reinstate(self, row: int) -> None:
        self._txn.notes.clear()
        self._txn.run(
            "UPDATE memories SET superseded_by = NULL, valid_to = given_valid_to, given_valid_to = NULL "
            "WHERE namespace = :ns AND row = :row",
            row=row,
        )
        self._txn.run("UPDATE slots SET ended_by = NULL WHERE namespace = :ns AND memory = :row", row=row)
        self._txn.run(_OF_TARGET, row=row, relation="supersedes")


PREDICATE_WEIGHT = 4
"""A hit in the short predicate weighs four times one in the content (R4)."""

COUNT_BITS = 16
"""The low bits of a count: places in the content, and four times those in the predicate. Above are the latter alone."""

MAX_COUNT = (1 << COUNT_BITS) - 1
MAX_NAMED = (1 << 15) - 1


def packed_counts(predicate: Sequence[str], content: Sequence[str]) -> dict[str, int]:
    """Number of times each lexeme occurs in a document, in both of its fields: one number in all."""
    named, counts = Counter(predicate), Counter(content)
    return {
        lexeme: min(counts[lexeme] + PREDICATE_WEIGHT * named[lexeme], MAX_COUNT)
        | min(named[lexeme], MAX_NAMED) << COUNT_BITS
        for lexeme in {**counts, **named}
    }


class LexemeWriter(ABC):
    """The lexical index. Session memories repeat their turns, so their lexemes are counted apart."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn

    @abstractmethod
    def add(self, row: int, entry: Entry) -> None:
        """Put a memory's lexemes into the index."""

    @abstractmethod
    def remove(self, row: int, kind: str) -> None:
        """Delete a memory's lexemes from the index."""

    @abstractmethod
    def clear(self) -> None:
        """Empty the index of the namespace; what is added afterwards decides again what form it has."""

    @abstractmethod
    def flush(self) -> None:
        """Write what the transaction gathered; called before it ends."""


class IndexWriter:
    """Everything that can be derived again from the memories and their extraction, but for what was made by hand."""

    def __init__(self, txn: Transaction, lexemes: LexemeWriter, vectors: VectorWriter) -> None:
        self._txn = txn
        self.lexemes = lexemes
        self.vectors = vectors
        self.statements: StatementWriter = StatementWriter(txn)
        self.entities: EntityWriter = EntityWriter(txn)
        self.edges: EdgeWriter = EdgeWriter(txn, self.entities)
        self.sessions: SessionWriter = SessionWriter(txn, vectors)

    def add(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        self.lexemes.add(row, entry)
        self.vectors.put_all(row, memory, entry.vectors, entry.passages)
        self.statements.add(row, entry.extraction.statements)
        put_labels(self._txn, row, memory)
        if memory.kind != "session":
            put_facts(self._txn, row, entry.facts)
            put_times(self._txn, row, entry.extraction.dates)
            self.edges.add_co_mentions(self.entities.link(row, memory, entry.extraction))
            self.edges.add_relations(row, entry.extraction.relations, memory.event_at)

    def renew_facts(self, row: int, facts: Sequence[FactSpan]) -> None:
        """Replace the facts of a memory."""
        self._txn.run("DELETE FROM facts WHERE namespace = :ns AND memory = :row", row=row)
        put_facts(self._txn, row, facts)

    def remove(self, row: int) -> None:
        self._txn.write_gathered()
        kind = self._txn.value("SELECT kind FROM memories WHERE namespace = :ns AND row = :row", row=row)
        self.lexemes.remove(row, kind)
        self.vectors.drop_vectors(row)
        for table in ("slots", "facts", "memory_times", "memory_labels"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = :ns AND memory = :row", row=row)
        self.edges.remove_memory(row)
        self.entities.unlink(row)

    def clear(self) -> None:
        """Delete lexemes, mentions, statements, named times, vectors without a memory, and edges not made by hand."""
        self._txn.write_gathered()
        self.vectors.drop_stray_vectors()
        self.lexemes.clear()
        for table in ("links", "slots", "facts", "memory_times", "memory_labels"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = :ns")
        self._txn.run("DELETE FROM edges WHERE namespace = :ns AND by_hand = 0")
        self._txn.run("UPDATE entities SET links = 0 WHERE namespace = :ns")
        self.entities.forget_names()

    def finish_rebuild(self) -> None:
        """Delete entities that nothing mentions, end superseded statements, and count the sessions again."""
        self.flush()
        self.entities.drop_unused()
        self.statements.end_superseded()
        self.sessions.recount_all()

    def rebuild_lexical(self, entries: Iterable[Entry]) -> None:
        self.lexemes.clear()
        for entry in entries:
            self.lexemes.add(entry.memory.row, entry)

    def flush(self) -> None:
        self._txn.write_gathered()
        self.entities.flush()
        self.edges.flush()
        self.vectors.flush()
        self.lexemes.flush()


# Facts: the clauses of memories that a profile is made of, by section and weight.

_FACT_COLUMNS = (
    "m.row, m.id, f.section, f.weight, "
    "substr(m.content, CAST(f.starts + 1 AS integer), CAST(f.ends - f.starts AS integer)), f.starts, m.event_at, "
    "m.speaker, m.valid_to, m.superseded_by, m.expires_at, m.pinned, m.tags"
)


class FactReader:
    """The facts of a namespace with the fields of their memories that a view needs."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def best(self, limit: int) -> list[StoredFact]:
        """The facts of highest weight in each section, of memories that nothing replaced; the newest of equal ones."""
        parts = (
            f"SELECT * FROM (SELECT {_FACT_COLUMNS} FROM facts f CROSS JOIN memories m WHERE f.namespace = :ns "
            f"AND f.section = '{section}' AND m.row = f.memory AND {self._sql.unindexed('m.namespace')} = :ns "
            "AND m.superseded_by IS NULL ORDER BY f.weight DESC, f.memory DESC LIMIT :most) AS of_section"
            for section in SECTIONS
        )
        return list(map(_fact, self._scope.rows(" UNION ALL ".join(parts), most=limit)))

    def of_memories(self, rows: Sequence[int]) -> list[StoredFact]:
        """All facts of these memories, also of those that were replaced, in the order of the text."""
        found = self._scope.rows(
            f"SELECT {_FACT_COLUMNS} FROM facts f CROSS JOIN memories m WHERE f.namespace = :ns "
            f"AND {self._sql.among('f.memory', ':rows')} AND m.row = f.memory "
            f"AND {self._sql.unindexed('m.namespace')} = :ns ORDER BY f.memory, f.starts",
            rows=self._sql.as_list(rows),
        )
        return list(map(_fact, found))

    def since(self, at: datetime, limit: int) -> list[StoredFact]:
        """The facts of memories that were said or written after that time, the latest first."""
        found = self._scope.rows(
            f"SELECT {_FACT_COLUMNS} FROM (SELECT * FROM memories WHERE namespace = :ns AND event_at > :at "
            "AND kind <> 'session' ORDER BY event_at DESC, row DESC LIMIT :most) AS m "
            f"JOIN facts f ON f.namespace = :ns AND f.memory = m.row ORDER BY m.event_at DESC, m.row DESC, f.starts",
            at=to_micros(at),
            most=limit,
        )
        return list(map(_fact, found))

    def ended_since(self, at: datetime, until: datetime, limit: int) -> list[int]:
        """The rows of memories that ended after that time, by another memory or by their own end."""
        sql = (
            "SELECT row FROM memories WHERE namespace = :ns AND valid_to > :at AND valid_to <= :until "
            "AND kind <> 'session' ORDER BY valid_to DESC, row DESC LIMIT :most"
        )
        found = self._scope.rows(sql, at=to_micros(at), until=to_micros(until), most=limit)
        return [row for (row,) in found]

    def dated(self, start: datetime, end: datetime, longest: int, limit: int) -> list[int]:
        """The rows of memories that name a stretch beginning in the window, no longer than that many µs."""
        found = self._scope.rows(
            "SELECT memory, min(starts_at) FROM memory_times WHERE namespace = :ns AND starts_at >= :first "
            "AND starts_at < :last AND ends_at - starts_at <= :longest "
            "GROUP BY memory ORDER BY min(starts_at), memory LIMIT :most",
            first=to_micros(start),
            last=to_micros(end),
            longest=longest,
            most=limit,
        )
        return [row for row, _ in found]


def _fact(columns: tuple[Any, ...]) -> StoredFact:
    row, id, section, weight, text, start, event_at, speaker, valid_to, by, expires_at, pinned, tags = columns
    return StoredFact(
        row=row,
        id=id,
        section=section,
        weight=weight / WEIGHT_PARTS,
        text=text,
        start=start,
        event_at=from_micros(event_at),
        speaker=speaker,
        valid_to=None if valid_to is None else from_micros(valid_to),
        superseded_by=by,
        expires_at=None if expires_at is None else from_micros(expires_at),
        pinned=bool(pinned),
        tags=tags,
    )


# The checks of every SQL store: everything derived agrees with the memories.

BATCH = 2_000
"""Texts that are read together."""

MAX_NAMED_IDS = 10
"""The most ids that a finding names."""


def listed(ids: list[str]) -> str:
    return ", ".join(ids[:MAX_NAMED_IDS]) + (" …" if len(ids) > MAX_NAMED_IDS else "")


def check_texts(scope: Scope) -> Iterator[Finding]:
    """Each text is still the one that was stored, by the hash that was stored with it."""
    changed, after = [], 0
    while batch := scope.rows(
        "SELECT row, id, content_hash, CASE kind WHEN 'session' THEN session_id ELSE speaker END, content "
        f"FROM memories WHERE row > :after AND {scope.sql.unindexed('namespace')} = :ns ORDER BY row LIMIT {BATCH}",
        after=after,
    ):
        changed += [str(id) for _, id, stored, first, content in batch if not is_hash_of(bytes(stored), first, content)]
        after = batch[-1][0]
    detail = (
        f"{len(changed)} texts are not what was stored: {listed(changed)}" if changed else "all are what was stored"
    )
    yield Finding("texts", not changed, detail)


def check_entities(scope: Scope) -> Iterator[Finding]:
    links = "(SELECT count(*) FROM links l WHERE l.namespace = :ns AND l.entity = e.key)"
    wrong = scope.count(f"entities e WHERE namespace = :ns AND links <> {links}")
    yield Finding("entity links", wrong == 0, f"{wrong} entities count wrongly" if wrong else "counts agree")


def check_sessions(scope: Scope) -> Iterator[Finding]:
    wrong = scope.count(
        "sessions s WHERE namespace = :ns AND (turns, started_at, ended_at) <> "
        "(SELECT count(*), min(event_at), max(event_at) FROM memories m "
        "WHERE m.namespace = :ns AND m.session_id = s.id AND m.kind = 'turn')"
    )
    wrong += scope.count(
        "(SELECT session_id FROM memories WHERE namespace = :ns AND kind = 'turn' EXCEPT "
        "SELECT id FROM sessions WHERE namespace = :ns) AS unlogged"
    )
    yield Finding("session log", wrong == 0, f"{wrong} sessions count wrongly" if wrong else "counts agree")


def check_times(scope: Scope) -> Iterator[Finding]:
    """Each memory has the stretches of time that were extracted from it, up to the most that are stored."""
    wrong = scope.count(
        "(SELECT memory FROM (SELECT memory, starts_at, ends_at, max(named) AS named, max(stored) AS stored FROM ("
        f"SELECT memory, starts_at, ends_at, 1 AS named, 0 AS stored FROM {scope.sql.extracted_times} AS extracted "
        "UNION ALL SELECT memory, starts_at, ends_at, 0, 1 FROM memory_times WHERE namespace = :ns) AS both_sides "
        "GROUP BY memory, starts_at, ends_at) AS stretches "
        f"GROUP BY memory HAVING sum(stored) <> {scope.sql.least}({MAX_TIMES}, sum(named)) OR min(named) = 0) AS wrong"
    )
    yield Finding("named times", wrong == 0, f"{wrong} memories differ" if wrong else "agree with the memories")


def check_labels(scope: Scope) -> Iterator[Finding]:
    """Each memory has the labels of its tags and its metadata, and nothing else has any."""
    memories = scope.rows(f"SELECT namespace, row, tags, metadata FROM memories WHERE namespace = :ns AND {LABELLED}")
    stored = scope.rows("SELECT namespace, name, value, memory FROM memory_labels WHERE namespace = :ns")
    wrong = len({memory for *_, memory in set(label_rows(memories)) ^ set(stored)})
    yield Finding("labels", wrong == 0, f"{wrong} memories differ" if wrong else "agree with the memories")


def check_facts(scope: Scope) -> Iterator[Finding]:
    """Each fact is a part of a memory's text."""
    inside = f"m.row = f.memory AND {scope.sql.unindexed('m.namespace')} = :ns AND f.ends <= length(m.content)"
    wrong = scope.count(f"facts f WHERE f.namespace = :ns AND NOT EXISTS (SELECT 1 FROM memories m WHERE {inside})")
    yield Finding("facts", wrong == 0, f"{wrong} are not part of a memory" if wrong else "agree with the memories")


DERIVED: dict[str, Callable[[Scope], Iterator[Finding]]] = {
    "entity links": check_entities,
    "session log": check_sessions,
    "named times": check_times,
    "labels": check_labels,
    "facts": check_facts,
}
"""The checks of what was derived from memories, but for lexemes and vectors, by the part that they check."""


def check_vectors(
    scope: Scope, stray: Callable[[VectorSpace], int], stray_tokens: Callable[[], int]
) -> Iterator[Finding]:
    """`stray` counts the vectors of a space that are lost, `stray_tokens` token vectors.

    There is no finding on passages if there are neither long texts nor token vectors.
    """
    spaces = scope.rows(f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = :ns AND state = 'active'")
    if not spaces:
        yield Finding("vectors", scope.count("memories WHERE namespace = :ns") == 0, "none pinned yet")
        return
    space = space_of(spaces[0])
    missing, lost = len(missing_vectors(scope, space.key)), stray(space)
    yield Finding(
        "vectors",
        missing + lost == 0,
        f"{missing} memories have none, {lost} are lost" if missing + lost else f"complete, by {space.embedder}",
    )
    lost, unsound = stray_tokens(), len(unsound_passages(scope, space.key))
    has_passages = scope.rows(
        f"SELECT 1 FROM vectors WHERE {scope.sql.in_space} AND field = {FIELDS.index('passage')} LIMIT 1",
        space=space.key,
    )
    if has_passages or space.tokens or unsound or lost:
        with_passages = f"{unsound} memories disagree with their passages"
        yield Finding("passages", unsound == 0, with_passages if unsound else "agree with their memories")
    if space.tokens or lost:
        missing = len(missing_vectors(scope, space.key, tokens=space.tokens))
        yield Finding(
            "token vectors",
            missing + lost == 0,
            f"{missing} memories have none, {lost} belong to no memory" if missing + lost else "complete",
        )
