"""The answer of a recall without the trace of how it was found."""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.values.memory import Memory
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class HitSummary(Value):
    """One recalled memory: its score, how likely it answers, and one short reason why it came back."""

    rank: int
    score: float
    chance: float | None
    reason: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class RecallSummary(Value):
    """The memories that answer a question best, and how likely one of them does."""

    id: str
    question: str
    found: bool
    chance: float | None
    hits: tuple[HitSummary, ...]
    recent: tuple[Memory, ...]
    degraded: tuple[str, ...]
    """Routes and stages that failed or were late."""
