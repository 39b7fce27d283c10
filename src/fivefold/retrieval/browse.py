"""Looking through a namespace without a question: pages of memories and sessions, a conversation, a history."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

from fivefold.errors import InvalidInput, NotFound
from fivefold.namespace import Namespace
from fivefold.retrieval import known
from fivefold.retrieval.agenda import agenda
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.stores.records import LinkedPair
from fivefold.text.secrets_in_text import mask_secrets
from fivefold.values.entities import Extraction
from fivefold.values.fields import Name, check
from fivefold.values.filters import EVERYTHING, Filter, FilterInput, filter_of, narrowed
from fivefold.values.known import Agenda, Changes, Fact, Profile, Recap
from fivefold.values.memory import Kind, Memory, Session, Type
from fivefold.values.reports import (
    HealthCheck,
    HealthExample,
    HealthFinding,
    HealthReport,
    Link,
    Page,
    ReadKind,
    Stats,
    page_of,
    read_cursor,
)
from fivefold.values.serialize import Value
from fivefold.values.times import EPOCH, as_utc, to_micros
from fivefold.values.validate import (
    MAX_NAME,
    MAX_TOKENS,
    checked_count,
    checked_limit,
    checked_name,
    checked_text,
    shorten,
)
from fivefold.writing.draft import kinds_of_secrets

LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class History(Value):
    """A memory among what it replaced and what replaced it, or the values that a question had one after the other.

    `chain` holds all of them, the memory itself too, oldest first; `links` say what replaced or equals what, and why.
    `facts` are the values of a question, each with the time from which and until which it held; of a question,
    `memory` is the one that holds now.
    """

    memory: Memory
    chain: tuple[Memory, ...]
    links: tuple[Link, ...]
    facts: tuple[Fact, ...] = ()


class Browser:
    """Reads a namespace as it is; the engine adds recall and writes to it."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    @property
    def location(self) -> str:
        """The location of the store: a path, ':memory:' or an address without its password."""
        return self._namespace.store.location

    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of the store."""
        return self._namespace.store.namespaces()

    @property
    def settings(self) -> Settings:
        """The namespace's settings, with defaults for all others."""
        return self._namespace.settings

    def own_settings(self) -> dict[str, Any]:
        """Only the settings that are stored with the namespace."""
        return self._namespace.reader.admin.settings()

    def exists(self) -> bool:
        """True if anything was ever written to the namespace."""
        return self._namespace.reader.exists()

    def embedder_pin(self) -> str | None:
        """The pin of the namespace's embedding model; None before the first write."""
        pinned = self._namespace.reader.search.vector_space()
        return None if pinned is None else pinned.embedder

    def get(self, id: str) -> Memory:
        """The memory with that id."""
        return self._namespace.get(id)

    def stored_ids(self, ids: Sequence[str]) -> set[str]:
        """The given ids that are stored."""
        return self._namespace.reader.memories.existing_ids(ids)

    def stored_notes(self, content_hashes: Sequence[bytes]) -> set[bytes]:
        """The given content hashes that notes have."""
        return self._namespace.reader.memories.existing_notes(content_hashes)

    def memories(
        self,
        *,
        kind: Kind | None = None,
        type: Type | None = None,
        speaker: str | None = None,
        session_id: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        superseded: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        filter: FilterInput | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Memory]:
        """Memories, latest first, all or those that match; session memories, which repeat turns, only by their kind.

        `text` is words that must all occur, in any letter case; `since` is included, `until` is not. `filter` says
        more, as a `Filter` or as text; the other arguments narrow it further.
        """
        limit = checked_limit(limit)
        matching = narrowed(
            filter_of(filter),
            kinds=_listed(check(kind, Kind | None, "kind")),
            types=_listed(check(type, Type | None, "type")),
            speakers=_listed(check(speaker, Name | None, "speaker")),
            session_ids=_listed(check(session_id, Name | None, "session_id")),
            all_tags=_listed(check(tag, Name | None, "tag")),
            words=_words(text),
            superseded=check(superseded, bool | None, "superseded"),
            since=None if since is None else as_utc(since, "since")[0],
            until=None if until is None else as_utc(until, "until")[0],
        )
        after = cast(tuple[int, int] | None, read_cursor(cursor, "memories", int, int))
        rows = self._namespace.reader.memories.page(matching, after, limit + 1)
        return page_of(rows, limit, "memories", lambda memory: (to_micros(memory.event_at), memory.row))

    def sessions(self, limit: int = 50, cursor: str | None = None) -> Page[Session]:
        """The session log, latest first."""
        limit = checked_limit(limit)
        after = cast(tuple[int, str] | None, read_cursor(cursor, "sessions", int, str))
        rows = self._namespace.reader.sessions.page(limit + 1, after)
        return page_of(rows, limit, "sessions", lambda session: (to_micros(session.ended_at), session.id))

    def turns(self, session_id: str) -> list[Memory]:
        """A conversation, turn by turn."""
        try:
            turns = self._namespace.reader.sessions.turns(checked_name(session_id, "session_id"))
        except InvalidInput:
            turns = []
        if not turns:
            raise NotFound(f"namespace {self._namespace.name!r} has no session {session_id!r}")
        return turns

    def last_turns(self, session_id: str, limit: int) -> list[Memory]:
        """The last turns of a conversation in their order, without reading the others; [] for an unknown session."""
        name = checked_name(session_id, "session_id")
        return self._namespace.reader.sessions.last_turns(name, LATEST, checked_limit(limit))

    def session_memories(self, session_ids: Sequence[str]) -> dict[str, Memory]:
        """The memory of each session that has one, by the session's id."""
        rows = self._namespace.reader.sessions.memory_rows(session_ids)
        stored = self._namespace.reader.memories.fetch(list(rows.values()))
        return {id: stored[row] for id, row in rows.items() if row in stored}

    def neighbours(self, memories: Sequence[Memory]) -> dict[str, tuple[Memory | None, Memory | None]]:
        """By id, the turns before and after each of these turns in its session."""
        reader = self._namespace.reader
        pairs = reader.sessions.neighbours([memory.row for memory in memories])
        stored = reader.memories.fetch(sorted({row for pair in pairs.values() for row in pair if row is not None}))
        return {
            memory.id: cast(
                tuple[Memory | None, Memory | None],
                tuple(None if row is None else stored.get(row) for row in pairs[memory.row]),
            )
            for memory in memories
            if memory.row in pairs
        }

    def history(self, id: str) -> History:
        """The earlier and later versions of a memory, and why one replaced the other."""
        memory, reader = self._namespace.get(id), self._namespace.reader
        chain = reader.memories.lineage(memory.row)
        links = reader.memories.links_around(memory.row, [other.row for other in chain])
        return History(memory, tuple(chain), tuple(links))

    def profile(
        self, about: str = "user", *, token_budget: int = 600, now: datetime | str | None = None, secrets: bool = False
    ) -> Profile:
        """The known facts of the user, or of the person, place or project that `about` names, within the budget.

        The lines are the words of memories, each with its sources. Keys and passwords are masked unless `secrets`.
        """
        budget = checked_count(token_budget, "token_budget", 1, MAX_TOKENS)
        return known.profile(self._namespace, checked_name(about, "about"), budget, self._time(now), secrets)

    def agenda(
        self,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
        *,
        limit: int = 50,
        secrets: bool = False,
    ) -> Agenda:
        """The dated facts from `start` (now) to `end`, by day, and overdue tasks.

        A moved event is on its new day; a cancelled one is only in `moved`.
        """
        first, last = self._time(start, "start"), None if end is None else as_utc(end, "end")[0]
        if not 2 <= first.year <= 9_990:
            raise InvalidInput("must be in the years 2 to 9990", field="start")
        if last is not None and last < first:
            raise InvalidInput("lies before", field="end", other="start")
        return agenda(self._namespace, first, last, checked_limit(limit), secrets)

    def changes(self, since: datetime | str | None = None, *, secrets: bool = False) -> Changes:
        """The facts that are new, that replaced others and that ended since a time, or since the latest session
        began."""
        if since is not None:
            at = as_utc(since, "since")[0]
        else:
            latest = self.sessions(1).items
            at = latest[0].started_at - timedelta(microseconds=1) if latest else EPOCH
        return known.changes(self._namespace, at, self._namespace.clock(), secrets)

    def recap(self, session_id: str | None = None, *, secrets: bool = False) -> Recap:
        """The decisions, facts, promises and open questions of a session, or of the latest one."""
        if session_id is None:
            latest = self.sessions(1).items
            if not latest:
                raise NotFound(f"namespace {self._namespace.name!r} has no session")
            session_id = latest[0].id
        return known.recap(self._namespace, session_id, self.turns(session_id), secrets)

    def _time(self, value: datetime | str | None, field: str = "now") -> datetime:
        return self._namespace.clock() if value is None else as_utc(value, field)[0]

    def links(self, relation: ReadKind, limit: int = 50, cursor: str | None = None) -> Page[Link]:
        """Near-duplicates (`repeats`) or likely replacements (`likely`) among current memories, newest first."""
        limit = checked_limit(limit)
        after = cast(tuple[int, int] | None, read_cursor(cursor, "links", int, int))
        pairs = self._namespace.reader.memories.linked(check(relation, ReadKind, "relation"), after, limit + 1)
        page = page_of(pairs, limit, "links", lambda pair: (pair.source, pair.target))
        return Page(tuple(pair.link for pair in page), page.cursor)

    def extraction(self, id: str) -> Extraction:
        """The extraction from a memory: the people it mentions, its statements, the dates it names."""
        return self._namespace.extraction_of(self._namespace.get(id))

    def stats(self) -> Stats:
        """The contents of the namespace."""
        return self._namespace.reader.admin.stats()


def _listed(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _words(text: str | None) -> tuple[str, ...]:
    words = () if text is None else tuple(dict.fromkeys(checked_text(text, "text", empty=True).split()))
    if sum(map(len, words)) > MAX_NAME:
        raise InvalidInput(
            f"is too long to search for, the maximum is {MAX_NAME} characters; use recall for more", field="text"
        )
    return words


def quarantined(namespace: Namespace, keep: Filter, limit: int, cursor: str | None) -> Page[Memory]:
    """Records that wait for approval and pass the filter, oldest first, as the memories they would become."""
    after = cast(tuple[int, str] | None, read_cursor(cursor, "quarantine", int, str))
    found: list[Memory] = []
    while len(found) <= limit and (rows := namespace.reader.quarantine.page(after, BATCH_ROWS)):
        found += filter(keep.matches, rows)
        after = (to_micros(rows[-1].created_at), rows[-1].id)
    return page_of(found, limit, "quarantine", lambda memory: (to_micros(memory.created_at), memory.id))


# A look through all memories of a namespace for what somebody should look at; nothing is changed.

BATCH_ROWS = 500
"""Memories and links that are read at once."""

TEXT_CHARACTERS = 160
"""Characters of a memory that are shown."""

MIN_LIKELY_CHANCE = 0.5
"""From which chance on a likely replacement counts: it is likelier than not. A recall weighs smaller ones too."""

MEANINGS: Mapping[HealthCheck, tuple[str, str]] = {
    "expired": ("no longer recalled, and still stored", "a sweep forgets them; a dry run lists them first"),
    "expiring": ("expire in the next days", "pin what should stay, or give it a later end"),
    "stale": ("neither written nor used for a long time", "check whether they still hold; forget, replace or pin them"),
    "never used": ("were never of use by any feedback", "forget what does not matter"),
    "near-duplicates": ("say nearly the same as an earlier memory", "forget one of them, or replace the older one"),
    "contradictions": (
        "likely replace an earlier memory that still counts",
        "replace the older one, or reinstate it if both hold",
    ),
    "secrets": (
        "seem to contain a key, a card number or a password",
        "edit or forget them; the settings secrets='mask' and passwords='mask' mask new ones",
    ),
}
NO_FEEDBACK = "there is no feedback yet about the use of memories"


@dataclass(slots=True)
class _Check:
    """The findings of one check so far; the first few are named."""

    most: int
    count: int = 0
    examples: list[HealthExample] = field(default_factory=list)

    def add(self, example: Callable[[], HealthExample]) -> None:
        self.count += 1
        if self.count <= self.most:
            self.examples.append(example())


def look_after(namespace: Namespace, filters: Mapping[HealthCheck, Filter], examples: int) -> HealthReport:
    """Each memory is read once, then the links; `filters` says what counts as old, unused or expiring."""
    reader, count, after = namespace.reader, 0, None
    found = {name: _Check(examples) for name in MEANINGS}
    while page := reader.memories.page(EVERYTHING, after, BATCH_ROWS):
        after = (to_micros(page[-1].event_at), page[-1].row)
        count += len(page)
        for memory in page:
            reasons = {name: _moment(memory, name) for name, keep in filters.items() if keep.matches(memory)}
            if kinds := kinds_of_secrets(memory):
                reasons["secrets"] = ", ".join(kinds)
            for name, why in reasons.items():
                found[name].add(partial(HealthExample, memory.id, _shown(memory), why))
    repeated = _add_pairs(found["near-duplicates"], reader, "repeats")
    _add_pairs(found["contradictions"], reader, "likely", MIN_LIKELY_CHANCE, repeated)
    findings = []
    for name, (meaning, advice) in MEANINGS.items():
        unknown = name == "never used" and found[name].count and not reader.feedback.count()
        done = NO_FEEDBACK if unknown else advice
        findings.append(HealthFinding(name, found[name].count, meaning, done, tuple(found[name].examples)))
    return HealthReport(namespace=namespace.name, at=namespace.clock(), memories=count, findings=tuple(findings))


def _moment(memory: Memory, check: HealthCheck) -> str:
    if check in ("expired", "expiring"):
        return f"{'expired' if check == 'expired' else 'expires'} {memory.expires_at:%Y-%m-%d %H:%M}"
    if memory.last_accessed_at is not None and memory.access_count:
        return f"last used {memory.last_accessed_at:%Y-%m-%d}"
    return f"written {memory.created_at:%Y-%m-%d}"


def _shown(memory: Memory | None) -> str:
    return shorten(mask_secrets(memory.content), TEXT_CHARACTERS) if memory else ""


def _add_pairs(
    check: _Check, reader: Reader, relation: ReadKind, least: float = 0, known: Collection[tuple[int, int]] = ()
) -> set[tuple[int, int]]:
    """Count the links of a kind with at least that chance, but for pairs that are known as something else.

    Gives all pairs by their rows.
    """

    def example(pair: LinkedPair) -> HealthExample:
        memories, link = reader.memories.fetch([pair.source, pair.target]), pair.link
        older, newer = (_shown(memories.get(row)) for row in (pair.target, pair.source))
        return HealthExample(link.source, newer, link.label, link.target, older)

    pairs: set[tuple[int, int]] = set()
    after = None
    while page := reader.memories.linked(relation, after, BATCH_ROWS):
        for pair in page:
            rows = after = (pair.source, pair.target)
            pairs.add(rows)
            if pair.link.chance >= least and rows not in known:
                check.add(partial(example, pair))
    return pairs
