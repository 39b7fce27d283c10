"""Engram: association, boosts of date, age and use, noise, and a gate against garbage (E1–E8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from typing import Annotated

import numpy as np

from fivefold.errors import FivefoldError
from fivefold.learning.reranker import search_kinds
from fivefold.models.embedders import Matrix, unit
from fivefold.models.rerankers import SCORES, reranker
from fivefold.retrieval.protocols import CosineRoute, Pool, SearchContext, Stage
from fivefold.retrieval.stages.reading import RERANKED, log_odds
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.memory import Type
from fivefold.values.query import Decay, Window, age_in_days
from fivefold.values.recall_trace import Candidate, RouteHit, StageNote
from fivefold.values.serialize import Value
from fivefold.values.times import content_hash
from fivefold.values.vectors import Passage, Vector, VectorField

# Association: modern Hopfield retrieval, which completes a cue to the pattern it belongs to (E7).

SETTLED_COSINE = 1 - 1e-6
"""The cosine from which on an update has not moved the state."""


@dataclass(frozen=True, slots=True)
class AssociativeOptions:
    """`sharpness` is the inverse temperature: low blends many patterns, high holds on to the nearest one."""

    sharpness: Annotated[float, Between(0.1, 1_000), About("Low blends many memories, high keeps to the nearest")] = (
        16.0
    )
    steps: Annotated[int, Between(1, 20), About("Updates of the state at most; it stops when nothing moves")] = 3
    patterns: Annotated[
        int,
        Between(2, 4_096),
        About("Number of the nearest memories it attends to at each step, which bounds the cost"),
    ] = 256


class Associative(CosineRoute):
    """Scores are cosines between the settled state and the memory."""

    options = AssociativeOptions

    def vector_fields(self, options: AssociativeOptions) -> tuple[VectorField, ...]:
        return ("full",)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: AssociativeOptions) -> list[RouteHit]:
        if context.space is None:
            return []
        state = context.question_vector()
        for _ in range(options.steps):
            patterns = context.reader.search.patterns(context.space, "full", state, options.patterns, keep)
            if not len(patterns):
                return []
            previous, state = state, attend(patterns, state, options.sharpness)
            if float(previous @ state) > SETTLED_COSINE:
                break
        return context.reader.search.dense(context.space, "full", state, depth, keep)


def attend(patterns: Matrix, state: Vector, sharpness: float) -> Vector:
    """One update: the patterns' mean, weighted by the softmax of their nearness to the state, at unit length."""
    nearness = sharpness * (patterns @ state)
    weights = np.exp(nearness - nearness.max())
    blend: Vector = unit(((weights / weights.sum()) @ patterns)[None, :])[0]
    return blend


# What date, age and use do to a score (E3).


@dataclass(frozen=True, slots=True)
class Episodic(Value):
    """Memories of these types fade, but never below the floor (E3)."""

    types: Annotated[tuple[Type, ...], About("Types that fade")] = ("event",)
    half_life_days: Annotated[float, Between(0.01, 1e6), About("Days after which half is left")] = 30.0
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
    """The weight of use."""

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
    """The gain of a memory of the time asked about, and of one of a time close to it (E3)."""

    factor: Annotated[
        float, Between(0, 100), About("Factor of a memory whose date lies in the window that the question names")
    ] = 2.0
    near_days: Annotated[
        float, Between(0, 36_500), About("Days outside the window that halve its gain; 0 for no gain outside")
    ] = 0.0
    named: Annotated[bool, About("Counts a time that the memory's text names like its own date")] = False


MIN_NEARNESS = 0.01
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
        if near < MIN_NEARNESS:
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


# Noise for variation, and a threshold that gates out garbage (E6).

WORDLESS = Passage("-", "")
"""A memory that says nothing. Hosted models refuse a text without any character."""

TIMEOUT_S = 2.0
"""Seconds that a model may take for it."""


@dataclass(frozen=True, slots=True)
class Noise(Value):
    """Gaussian of this width. Drawn from the recall's id, or from `seed` and the question if it must not vary."""

    sigma: Annotated[float, Between(0, 10), About("Width of the Gaussian")] = 0.02
    seed: Annotated[
        int | None, About("Makes the noise the same for the same question; without a seed each recall draws its own")
    ] = None


def noise(pool: Pool, context: SearchContext, by: Noise) -> Pool:
    """score + N(0, sigma), the same for the same recall id and memory."""
    if by.sigma == 0:
        return pool
    seed_text = context.recall_id if by.seed is None else f"{by.seed}:{context.query.text}"
    noisy = []
    for candidate in pool.candidates:
        seed = int.from_bytes(content_hash(seed_text, candidate.memory.id)[:8])
        chance = float(np.random.default_rng(seed).normal(0.0, by.sigma))
        noisy.append(candidate.with_step("noise", candidate.score + chance, f"{chance:+.4f}, drawn for this recall"))
    return pool.with_candidates(noisy)


@dataclass(frozen=True, slots=True)
class Threshold(Value):
    """The score that the best of the memories that a cross-encoder read must reach, so that anything is returned."""

    least: Annotated[
        float, Between(0, 1), About("Minimum score of the best memory read; below it nothing is returned")
    ] = 0.0
    strange: Annotated[
        float,
        Between(0, 1_000),
        About(
            "If no candidate shares a word with the question: the odds that the best must have, relative to a memory "
            "without words; 0 asks for nothing"
        ),
    ] = 0.0


def threshold(pool: Pool, context: SearchContext, by: Threshold) -> Pool:
    """All candidates or none, by the best score that a cross-encoder gave: fused scores are on another scale (E6).

    It gives words that it does not know a middling score over any memory. Therefore a question that shares no word with
    the candidates is compared with what the model says of a memory without words.
    """
    # what was not read has less than the worst that was, so that the maximum is of a memory that was read
    read = [step.after for one in pool.candidates for step in one.steps if step.stage == RERANKED]
    if not read or not pool.judge:
        return pool
    best, why = max(read), ""
    if best < by.least:
        why = f"the best memory read has {best:.4f}, below the minimum score of {by.least:g}"
    elif by.strange and _is_strange(pool, context):
        try:
            (empty,), _ = SCORES.of(reranker(pool.judge), context.query.to_read, [WORDLESS], TIMEOUT_S)
        except FivefoldError as error:
            return pool.with_note(StageNote("threshold", "failed", f"{type(error).__name__}: {error}", pool.judge))
        if log_odds(best) - log_odds(empty) < log(by.strange):
            why = (
                f"no word in common, and the best memory read has {best:.4f}, less than {by.strange:g} times the odds "
                f"of a memory without words, {empty:.4f}"
            )
    return pool.without([(candidate, why) for candidate in pool.candidates], "threshold") if why else pool


def _is_strange(pool: Pool, context: SearchContext) -> bool:
    """True if the question has words that were searched for, and no candidate has any of them."""
    kinds = search_kinds(context.plan)
    routes = {item.route for one in pool.candidates for item in one.evidence}
    return (
        bool(context.query.lexemes) and "lexical" in kinds.values() and all(kinds[name] != "lexical" for name in routes)
    )


ASSOCIATIVE = Associative()
EPISODIC = Stage(episodic, Episodic, "boosts", rests="no candidate has a type that fades")
ACCESS = Stage(access, Access, "boosts", rests="no candidate was used before")
DATE_MATCH = Stage(date_match, DateMatch, "boosts", rests="no candidate is from a time in the question")
NOISE = Stage(noise, Noise, "select", rests="its width is 0")
THRESHOLD = Stage(threshold, Threshold, "select", rests="no cross-encoder has judged, or its best score is high enough")
