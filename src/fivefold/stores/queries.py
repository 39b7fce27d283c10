"""What a search gives a store, and what it gets back; no SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fivefold.values.decay import Decay
from fivefold.values.vectors import VectorField


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
    """What multiplies the route's weight for this memory, where each result has weights of its own (D12)."""


@dataclass(frozen=True, slots=True)
class AliasMatch:
    """An entity known under an alias; `part` when the alias is only a part of its name."""

    alias: str
    entity: int
    name: str
    kind: str
    links: int
    part: bool


SAID_IN_WINDOW = "said in it"
NAMES_WINDOW = "names it"
SAID_AND_NAMES_WINDOW = f"{SAID_IN_WINDOW}, {NAMES_WINDOW}"
"""The notes of hits of a search by time: the memory was said in the window, or its text names a part of it, or both."""

CONSIDERED_PER_HIT = 10
"""A graph search considers about that many memories for each one it returns."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How far a graph search goes and what a hop is worth (R6)."""

    now: datetime
    hops: int = 2
    hop_scores: tuple[float, ...] = (1.0, 0.6, 0.35, 0.15)
    fan_out: int = 32
    per_entity: int = 200
    priors: Mapping[str, float] = field(default_factory=lambda: {"structural": 1.0, "semantic": 0.9, "lifecycle": 0.3})
    expired: float = 0.3
    far: float = 0.8
