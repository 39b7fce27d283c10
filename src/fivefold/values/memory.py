"""What is remembered: the record a caller hands in, the memory that is stored, the report of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from fivefold.values.serialize import Value, hidden

Kind = Literal["turn", "session", "note"]
Type = Literal["fact", "preference", "event", "entity", "procedure"]
Facet = Literal["personal_info", "preferences", "events"]

KINDS: tuple[Kind, ...] = get_args(Kind)
TYPES: tuple[Type, ...] = get_args(Type)
FACETS: tuple[Facet, ...] = get_args(Facet)

ROLES = frozenset({"user", "assistant", "system", "human", "ai", "tool"})
"""Speakers that name a part in the talk rather than a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Value):
    """What a caller wants remembered. Only `content` (or a user and assistant text) is needed."""

    content: str = ""
    id: str | None = None
    speaker: str | None = None
    session_id: str | None = None
    turn_index: int | None = None
    kind: Kind | None = None
    type: Type | None = None
    predicate: str | None = None
    user_text: str | None = None
    assistant_text: str | None = None
    next_user_text: str | None = None
    tags: tuple[str, ...] = ()
    task_tag: str | None = None
    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    importance: float | None = None
    memory_score: float | None = None
    confidence: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = hidden(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Value):
    """One stored memory. Times are UTC; `superseded_by` names the memory that replaced this one."""

    id: str
    namespace: str
    content: str
    kind: Kind
    type: Type
    speaker: str | None
    session_id: str | None
    turn_index: int | None
    predicate: str | None
    user_text: str | None
    assistant_text: str | None
    next_user_text: str | None
    tags: tuple[str, ...]
    task_tag: str | None
    event_at: datetime
    created_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: str | None
    importance: float
    memory_score: float
    confidence: float
    seen_count: int
    access_count: int
    last_accessed_at: datetime | None
    metadata: Mapping[str, Any]
    row: int = hidden(default=0)

    def known(self, now: datetime) -> bool:
        """Whether it had been told or had happened by then."""
        return self.event_at <= now or self.created_at <= now

    def current(self, now: datetime) -> bool:
        """Whether the memory still holds at `now`."""
        return self.valid_to is None or self.valid_to > now


Sort = Literal["person", "name", "identifier", "topic"]


@dataclass(frozen=True, slots=True)
class Mention(Value):
    """An entity or topic a text speaks of."""

    name: str
    kind: Sort
    count: int = 1


@dataclass(frozen=True, slots=True)
class Slot(Value):
    """A statement of the form subject – attribute – value, by which a later statement replaces an earlier one."""

    subject: str
    attribute: str
    value: str
    update: bool = False


EdgeKind = Literal["structural", "semantic", "lifecycle"]
EDGE_KINDS: tuple[EdgeKind, ...] = get_args(EdgeKind)


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """A relation between two entities that a text states; lifecycle when it has ended or is said to end (R6)."""

    source: str
    relation: str
    target: str
    kind: EdgeKind = "structural"
    ended: bool = False
    confidence: float = 0.9


@dataclass(frozen=True, slots=True)
class Entity(Value):
    """Someone or something the namespace knows by name."""

    id: int
    name: str
    kind: str
    links: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge(Value):
    """A relation between two entities of the graph; past `valid_to` it counts for less (R6)."""

    id: int
    source: str
    relation: str
    target: str
    kind: EdgeKind
    confidence: float
    count: int
    valid_from: datetime | None
    valid_to: datetime | None
    source_id: int = 0
    target_id: int = 0


@dataclass(frozen=True, slots=True)
class Correction(Value):
    """A new value for something said before, and the old value where the text repeats it."""

    value: str
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Span(Value):
    """A stretch of time a text speaks of; the end is exclusive."""

    start: datetime
    end: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(Value):
    """What the extractor read out of one record."""

    type: Type = "fact"
    predicate: str | None = None
    importance: float = 0.5
    memory_score: float = 0.5
    mentions: tuple[Mention, ...] = ()
    slots: tuple[Slot, ...] = ()
    relations: tuple[Relation, ...] = ()
    dates: tuple[Span, ...] = ()
    facets: Mapping[Facet, str] = field(default_factory=dict)
    refers_back: Correction | None = None
    source: str = "rules"


@dataclass(frozen=True, slots=True)
class Merged(Value):
    """A record that was not stored anew because the namespace already holds it."""

    id: str
    why: str


Tie = Literal["equal", "supersedes"]
TIES: tuple[Tie, ...] = get_args(Tie)

BY_HAND = "said so by the caller"
"""Why a memory was superseded when nobody read it out of the wording."""


@dataclass(frozen=True, slots=True)
class Link(Value):
    """Two memories that belong together."""

    source: str
    target: str
    relation: Tie
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Value):
    """What a write did: everything that was stored, merged, linked and superseded, and why."""

    stored: tuple[str, ...] = ()
    merged: tuple[Merged, ...] = ()
    linked: tuple[Link, ...] = ()
    superseded: tuple[Link, ...] = ()
    entities: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the one memory a single `remember` stored or merged into."""
        ids = self.stored + tuple(merge.id for merge in self.merged)
        if len(ids) != 1:
            raise ValueError(f"this report covers {len(ids)} memories; read .stored and .merged")
        return ids[0]


@dataclass(frozen=True, slots=True)
class Session(Value):
    """One conversation in the session log."""

    id: str
    started_at: datetime
    ended_at: datetime
    turns: int
    memory_id: str | None
