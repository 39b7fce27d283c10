"""How much more often one recipe is right at once than another, with an interval over people and their questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.bench.everyday.lives import NEVER
from fivefold.bench.everyday.outcomes import Outcome
from fivefold.bench.significance import Numbers
from fivefold.values.serialize import Value

ROUNDS = 10_000
CONFIDENCE = 95


@dataclass(frozen=True, slots=True)
class Difference(Value):
    """The mean difference of hit@1 (positive: `recipe` is better), and where it lies with 95 % confidence."""

    recipe: str
    against: str
    difference: float
    low: float
    high: float


def difference(
    recipe: str, against: str, mine: Sequence[Outcome], theirs: Sequence[Outcome], seed: int = 0
) -> Difference:
    """A bootstrap in two steps: lives are drawn, then the questions of each life, since those of a life are alike."""
    gaps: dict[str, list[float]] = {}
    for one, other in zip(mine, theirs, strict=True):
        if one.kind != NEVER:
            gaps.setdefault(one.life, []).append(float(one.rank == 1) - float(other.rank == 1))
    every = [gap for life in gaps.values() for gap in life]
    if not every:
        return Difference(recipe, against, 0.0, 0.0, 0.0)
    sums, counts = _draws(list(gaps.values()), np.random.default_rng(seed))
    low, high = np.percentile(sums / counts, ((100 - CONFIDENCE) / 2, (100 + CONFIDENCE) / 2))
    return Difference(recipe, against, sum(every) / len(every), float(low), float(high))


def _draws(lives: Sequence[Sequence[float]], chance: np.random.Generator) -> tuple[Numbers, Numbers]:
    """For each round the sum of the drawn gaps, and their number."""
    sums, counts = np.zeros(ROUNDS), np.zeros(ROUNDS)
    chosen = chance.multinomial(len(lives), [1 / len(lives)] * len(lives), size=ROUNDS)
    for place, life in enumerate(lives):
        values = np.asarray(life)
        for row in np.flatnonzero(chosen[:, place]):
            times = int(chosen[row, place])
            sums[row] += values[chance.integers(0, len(values), size=times * len(values))].sum()
            counts[row] += times * len(values)
    return sums, counts
