"""What an operation did or found: reports of writes, links between memories, statistics, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class Merged(Value):
    """A record that was not stored again because the namespace has it already."""

    id: str
    why: str


LinkKind = Literal["equal", "supersedes", "likely", "repeats"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
"""`likely` is a newer memory that likely replaces an older one; nothing is marked as superseded by it.

`repeats` is one that says nearly the same.
"""
ReadKind = Literal["likely", "repeats"]
WITH_CHANCE: tuple[ReadKind, ...] = get_args(ReadKind)
"""Links that are read out of two texts and have a chance; the others are sure."""


BY_HAND = "said so by the caller"
"""Why a memory was superseded when nobody read it out of the wording."""


@dataclass(frozen=True, slots=True)
class Link(Value):
    """Two memories that belong together."""

    source: str
    target: str
    relation: LinkKind
    why: str
    chance: float = 1.0
    """How likely the one replaces the other, or which share of the words one has that repeats the other."""

    @property
    def label(self) -> str:
        """The relation as people read it, with the chance where it has one."""
        words = {"likely": "likely supersedes"}.get(self.relation, self.relation)
        return f"{words} ({self.chance:.2f})" if self.relation in WITH_CHANCE else words


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
class Drift(Value):
    """A look at a namespace's vocabulary: how much of it the look before had found too (R5)."""

    checked_at: datetime
    lexemes: int
    jaccard: float | None
    """Lexemes of both looks over lexemes of either; None when there was none before."""
    reindexed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Value):
    """What a namespace holds."""

    namespace: str
    memories: int
    by_kind: Mapping[str, int]
    by_type: Mapping[str, int]
    superseded: int
    sessions: int
    entities: int
    links: int
    edges: int
    vectors: int
    embedder: str | None
    recalls: int
    feedback: int
    first_event_at: datetime | None
    last_event_at: datetime | None
    bytes_on_disk: int | None
    """Of the whole store; None for a caller who may not see all of it."""
    drift: Drift | None = None
    """The last look at the vocabulary."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the namespace has set; all else is at its default."""

    @property
    def graph_expectation(self) -> str:
        """What the entity graph is said to add in a namespace of this size, by the document of R6."""
        if self.memories < 500:
            return "adds little below 500 memories"
        if self.memories < 2_000:
            return "begins to help; it adds much from 2,000 memories on"
        return "adds much" if self.memories < 10_000 else "adds most"


@dataclass(frozen=True, slots=True)
class Sweep(Value):
    """The memories that had expired and were forgotten; after a dry run, those that would be."""

    at: datetime
    swept: tuple[str, ...]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Erasure(Value):
    """Whether the bytes of what was forgotten are gone from every file of the store, or until when some may remain."""

    complete: bool
    detail: str
    since: datetime | None = None
    """When something was last forgotten whose bytes may remain."""


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """One thing the doctor looked at."""

    check: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class MaintenanceResult(Value):
    """One thing that maintenance looked at, in a namespace or the whole store, and whether it changed something."""

    part: str
    changed: bool
    detail: str
    namespace: str | None = None
    ok: bool = True
