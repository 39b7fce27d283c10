"""The values that pass between the engine and a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from fivefold.values.entities import Extraction
from fivefold.values.memory import Memory
from fivefold.values.reports import Link
from fivefold.values.serialize import Value
from fivefold.values.vectors import PassageVectors, Vector, VectorField

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
    """Whether the model gives token vectors as well, so that every memory has some."""


@dataclass(frozen=True, slots=True)
class DensePreparation:
    """What a store did before the first dense search of a large field, in words; empty where it did nothing."""

    note: str = ""
    scans: bool = False
    """Whether the search reads all vectors from the disk, which may take longer than a route is given."""


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
    """JSON, or None where the recipe predicts no weights."""


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
    """Which request: its namespace, a hash of who sends what where, and the idempotency key it came with."""

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
