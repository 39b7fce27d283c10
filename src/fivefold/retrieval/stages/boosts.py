"""What time and use do to a score: decay (F4, D12), episodic decay, access and date match (E3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import log
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import NoConstants, Pool
from fivefold.values.decay import Decay, age_in_days
from fivefold.values.fields import About, Between
from fivefold.values.memory import Type
from fivefold.values.query import Window
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class DecayByType(Value):
    """One curve for all, or another for some types: conversations age, reference material does not (F4)."""

    all: Annotated[
        Decay,
        About(
            "The curve for all types: a table of curve, half_life_days and floor",
            left_out="exponential, 90 days, floor 0",
        ),
    ] = field(default_factory=lambda: Decay("exponential", 90.0))
    types: Annotated[
        Mapping[Type, Decay], About('Other curves for some types, as in { procedure = { curve = "none" } }')
    ] = field(default_factory=dict)


def decay(pool: Pool, context: SearchContext, by: DecayByType) -> Pool:
    """score × what age leaves of it."""
    decayed = []
    for candidate in pool.candidates:
        curve = by.types.get(candidate.memory.type, by.all)
        age = age_in_days(candidate.memory.event_at, context.query.now)
        left = curve.left(age)
        decayed.append(
            candidate.with_step("decay", candidate.score * left, f"× {left:.4f}, {age:.0f} d old, {curve.describe()}")
        )
    return pool.with_candidates(decayed)


@dataclass(frozen=True, slots=True)
class Episodic(Value):
    """Memories of these types fade, but never below the floor (E3)."""

    types: Annotated[tuple[Type, ...], About("Which types fade")] = ("event",)
    half_life_days: Annotated[float, Between(0.01, 1e6), About("After how many days half is left")] = 30.0
    floor: Annotated[float, Between(0, 1), About("The share that age always leaves")] = 0.5


def episodic(pool: Pool, context: SearchContext, by: Episodic) -> Pool:
    """score × max(floor, exp(−0.693 · age / half-life)) for what happened rather than what holds."""
    curve = Decay("exponential", by.half_life_days, by.floor)

    def fade(candidate: Candidate) -> Candidate:
        if candidate.memory.type not in by.types:
            return candidate
        age = age_in_days(candidate.memory.event_at, context.query.now)
        left = curve.left(age)
        return candidate.with_step("episodic", candidate.score * left, f"× {left:.4f}, an event {age:.0f} d ago")

    return pool.with_candidates(map(fade, pool.candidates))


@dataclass(frozen=True, slots=True)
class Access(Value):
    """How much use counts."""

    weight: Annotated[float, Between(0, 10), About("score × (1 + weight · ln(1 + uses))")] = 0.1


def access(pool: Pool, context: SearchContext, by: Access) -> Pool:
    """score × (1 + weight · ln(1 + uses)) (E3)."""

    def boost(candidate: Candidate) -> Candidate:
        uses = candidate.memory.access_count
        factor = 1 + by.weight * log(1 + uses)
        why = f"× {factor:.4f}, used {uses} times"
        return candidate.with_step("access", candidate.score * factor, why) if uses else candidate

    return pool.with_candidates(map(boost, pool.candidates))


@dataclass(frozen=True, slots=True)
class DateMatch(Value):
    """What a memory of the time asked about gains, and one of a time close to it (E3)."""

    factor: Annotated[
        float,
        Between(0, 100),
        About("What a memory is multiplied by when its date lies in the window that the question names"),
    ] = 2.0
    near_days: Annotated[
        float, Between(0, 36_500), About("How many days outside the window halve what it gains; 0 for nothing outside")
    ] = 0.0
    named: Annotated[bool, About("Whether a time that the memory's text names counts like its own date")] = False


LEAST_NEARNESS = 0.01
"""A time further away than this leaves the score as it is."""


def date_match(pool: Pool, context: SearchContext, by: DateMatch) -> Pool:
    """score × (1 + (factor − 1) · nearness): nearness is 1 in the window the question names, less outside (E3)."""
    window = context.query.window
    if window is None:
        return pool
    rows = [candidate.memory.row for candidate in pool.candidates]
    named = context.reader.memories.named_times(rows) if by.named else {}

    def boost(candidate: Candidate) -> Candidate:
        said = candidate.memory.event_at
        ways = [(_nearness((said, said), window, by.near_days), "")]
        ways += [
            (_nearness(time, window, by.near_days), ", by its text") for time in named.get(candidate.memory.row, ())
        ]
        near, how = max(ways, key=lambda way: way[0])
        if near < LEAST_NEARNESS:
            return candidate
        factor = 1 + (by.factor - 1) * near
        where = "within" if near == 1 else "near"
        return candidate.with_step(
            "date match", candidate.score * factor, f"× {factor:g}, {where} {window.text!r}{how}"
        )

    return pool.with_candidates(map(boost, pool.candidates))


def _nearness(time: tuple[datetime, datetime], window: Window, near_days: float) -> float:
    """1 in the window, halved by each `near_days` away from it; a time much longer than the window counts less."""
    start, end = time
    if start < window.end and (end > window.start or start >= window.start):
        length, day = window.end - window.start, timedelta(days=1)
        return 1.0 if end - start <= length + day else length / (end - start)
    if near_days <= 0:
        return 0.0
    away = max(window.start - end, start - window.end) / timedelta(days=1)
    return float(0.5 ** (away / near_days))


@dataclass(frozen=True, slots=True)
class MemoryScore(Value):
    """How much the stored quality counts."""

    weight: Annotated[float, Between(0, 10), About("score + weight · memory_score")] = 0.1


def memory_score(pool: Pool, context: SearchContext, by: MemoryScore) -> Pool:
    """score + weight · memory_score, a stored quality in 0..1 (M4)."""
    return pool.with_candidates(
        candidate.with_step(
            "memory score",
            candidate.score + by.weight * candidate.memory.memory_score,
            f"+ {by.weight:g} · {candidate.memory.memory_score:.3f}",
        )
        for candidate in pool.candidates
    )


def scale(pool: Pool, context: SearchContext, by: NoConstants) -> Pool:
    """Scores stretched to 0..1 over the candidates, so that what follows can be compared with them."""
    scores = [candidate.score for candidate in pool.candidates]
    if not scores:
        return pool
    low, span = min(scores), max(scores) - min(scores)
    return pool.with_candidates(
        candidate.with_step(
            "scale",
            (candidate.score - low) / span if span > 0 else 1.0,
            f"({candidate.score:.4f} − {low:.4f}) / {span:.4f}" if span > 0 else "all alike",
        )
        for candidate in pool.candidates
    )
