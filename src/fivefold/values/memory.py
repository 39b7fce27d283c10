"""What is remembered: the record a caller hands in, the memory that is stored, the report of a write."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypedDict, get_args

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


class AnyDataclass(Protocol):
    """A dataclass of the caller's own; its fields are those of a record."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


RecordInput: TypeAlias = str | Record | Mapping[str, object] | AnyDataclass
"""What a caller may hand in as a record."""


class RecordChanges(TypedDict, total=False):
    """The fields of a memory that an update may change; None clears one, a field left out stays."""

    content: str
    type: Type | None
    speaker: str | None
    predicate: str | None
    user_text: str | None
    assistant_text: str | None
    next_user_text: str | None
    tags: Collection[str] | None
    task_tag: str | None
    event_at: datetime | str | None
    valid_from: datetime | str | None
    valid_to: datetime | str | None
    importance: float | None
    memory_score: float | None
    confidence: float | None
    metadata: Mapping[str, Any] | None


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

    def known_at(self, t: datetime) -> bool:
        """Whether the memory had been stored or had happened by `t`."""
        return self.event_at <= t or self.created_at <= t

    def is_current(self, t: datetime) -> bool:
        """Whether the memory still holds at `t`."""
        return self.valid_to is None or self.valid_to > t


@dataclass(frozen=True, slots=True)
class Session(Value):
    """One conversation in the session log."""

    id: str
    started_at: datetime
    ended_at: datetime
    turns: int
    memory_id: str | None
