"""The values that pass between the engine and a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from fivefold.values.entities import Extraction
from fivefold.values.known import FactSpan, Section
from fivefold.values.memory import Memory, Origin
from fivefold.values.query import Decay
from fivefold.values.reports import Link
from fivefold.values.serialize import Value
from fivefold.values.vectors import PassageVectors, Vector, VectorField


@dataclass(frozen=True, slots=True)
class Arm:
    """One route's share in a statement that searches and fuses at once: a dense field, or words.

    With `sessions` it finds session memories: by their words, or by that field of the best of their turns.
    """

    route: str
    depth: int
    weight: float
    field: VectorField | None = None
    sessions: bool = False


@dataclass(frozen=True, slots=True)
class Composite:
    """The signals of D1: the nearest `depth`, scored by similarity, recency and frequency with these weights."""

    depth: int
    similarity: tuple[str, float]
    recency: tuple[str, float] | None
    frequency: tuple[str, float] | None
    decay: Decay
    now: datetime


@dataclass(frozen=True, slots=True)
class FusedHit:
    """One memory's share from one route, as the store computed it, and the sum over its routes."""

    route: str
    row: int
    rank: int
    score: float
    contribution: float
    total: float
    factor: float = 1.0
    """Factor of the route's weight for this memory, if each result has weights of its own (D12)."""


@dataclass(frozen=True, slots=True)
class AliasMatch:
    """An entity known under an alias; `part` when the alias is only a part of its name, `own` when it is the user's."""

    alias: str
    entity: int
    name: str
    kind: str
    links: int
    part: bool
    own: bool = False


SAID_IN_WINDOW = "said in it"
NAMES_WINDOW = "names it"
SAID_AND_NAMES_WINDOW = f"{SAID_IN_WINDOW}, {NAMES_WINDOW}"
"""The notes of hits of a search by time: the memory was said in the window, or its text names a part of it, or both."""

CONSIDERED_PER_HIT = 10
"""A graph search considers about that many memories for each one it returns."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The reach of a graph search and the value of a hop (R6)."""

    now: datetime
    hops: int = 2
    hop_scores: tuple[float, ...] = (1.0, 0.6, 0.35, 0.15)
    fan_out: int = 32
    per_entity: int = 200
    priors: Mapping[str, float] = field(default_factory=lambda: {"structural": 1.0, "semantic": 0.9, "lifecycle": 0.3})
    expired: float = 0.3
    far: float = 0.8


SpaceState = Literal["active", "building"]
"""The active vector space serves searches; a second one may be building (R3)."""

VOCABULARY = "vocabulary"
"""The name of the learned value that describes a namespace's vocabulary when it was last measured."""

TYPE_VOCABULARY = "type vocabulary"
"""The name of the learned value that says which words the memories of each type have (R2)."""


@dataclass(frozen=True, slots=True)
class VectorSpace(Value):
    """The vectors of a namespace under one embedding model (R3)."""

    key: int
    embedder: str
    dimension: int
    tokens: bool = False
    """True if the model gives token vectors as well, so that every memory has some."""


@dataclass(frozen=True, slots=True)
class DensePreparation:
    """The work of a store before the first dense search of a large field, in words; empty if it did nothing."""

    note: str = ""
    scans: bool = False
    """True if the search reads all vectors from the disk, which may take longer than a route is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory ready to be stored: its fields, what was extracted from it, its lexemes and its vectors."""

    memory: Memory
    extraction: Extraction
    content_hash: bytes
    predicate_lexemes: Sequence[str] = ()
    content_lexemes: Sequence[str] = ()
    vectors: Mapping[VectorField, Vector] = field(default_factory=dict)
    passages: Sequence[PassageVectors] = ()
    """The passages of the full text in their order."""
    facts: Sequence[FactSpan] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """A fact with the fields of its memory that a view needs; `tags` is their JSON."""

    row: int
    id: str
    section: Section
    weight: float
    text: str
    start: int
    event_at: datetime
    speaker: str | None
    valid_to: datetime | None
    superseded_by: str | None
    expires_at: datetime | None
    pinned: bool
    tags: str


@dataclass(frozen=True, slots=True)
class NewEdge:
    """A relation between two entities, by their keys, ready to be stored."""

    source: int
    target: int
    relation: str
    kind: str
    confidence: float
    valid_from: datetime | None
    valid_to: datetime | None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Succession:
    """A memory that replaces an older one, by their rows: surely, with a chance of 1, or likely."""

    older: int
    newer: int
    chance: float
    newer_at: datetime
    """The event time of the newer one."""
    newer_origin: Origin | None = None
    older_origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class LinkedPair:
    """Two memories with the link between them, by their rows."""

    source: int
    target: int
    link: Link


@dataclass(frozen=True, slots=True)
class ReturnedHit:
    """One memory that a recall returned, with its rank and score."""

    memory_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRecall:
    """A recall as the log stores it. The store does not look into `features` and `signals`, which learning computes."""

    id: str
    namespace: str
    at: datetime
    recipe: str
    question: str
    returned: Sequence[ReturnedHit]
    features: bytes
    signals: str | None
    """JSON: if an answer was found, the time in milliseconds, and the weights if the recipe predicts them."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A logged recall with feedback: what it returned, best first, what was used and what was of no use."""

    recall: str
    returned: tuple[str, ...]
    used: frozenset[str]
    features: bytes | None
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A question of the log and the ids of what answered it: what was used, or without feedback the best hit."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The key of a request: its namespace, a hash of the caller and the call, and its idempotency key."""

    namespace: str
    scope: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request that was begun before. Without a status it is still running; `body` is None once it was erased."""

    digest: bytes
    leased_until: datetime
    status: int | None
    body: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The result of claiming a request: the number of this attempt, or the request that is already there.

    Both are None when another process gave the request up at that moment; then claim it again.
    """

    attempt: int | None
    existing: StoredRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """One record that waits."""

    write: str
    """The id of the write that brought it."""
    place: int
    """Its place among the records of that write."""
    memory_id: str
    session_id: str | None
    key_id: str | None
    """The key under which it came."""
    added_at: datetime
    record: str
    """The record as JSON."""
    tries: int = 0
    """Number of failed tries to store it."""


@dataclass(frozen=True, slots=True)
class QueueLength:
    """The waiting writes of a namespace: records, and the bytes of their JSON."""

    namespace: str
    records: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedState:
    """The state of a write: its records that still wait, and the report of those that are stored."""

    done: bool
    waiting: tuple[str, ...]
    """Ids of the memories that are not stored yet."""
    ahead: int
    """Records that are stored before the first of them."""
    report: str | None
    """JSON; None if nothing is stored yet, or the stored memories have been forgotten."""
    problem: str | None = None
    """Why the last try failed."""
    next_try_at: datetime | None = None
