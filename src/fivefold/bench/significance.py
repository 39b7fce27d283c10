"""Is a difference more than luck? A paired randomisation test on the questions, with Holm's correction.

If two recipes were equally good, either could have given each of a question's two scores. So the signs of the
differences are flipped at random, and p is the share of flips that give at least the difference seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fivefold.bench.scores import Scores
from fivefold.values.serialize import Value

ROUNDS = 20_000
"""Random flips; the smallest p they can show is 1 in 20,001."""

EXACT = 14
"""Up to this number of questions that differ, all flips are tried instead."""

CHUNK = 500
METRICS = ("recall@5", "recall@10")

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison(Value):
    """One recipe compared with another: the mean difference (positive: `recipe` is better), and how likely luck is."""

    recipe: str
    against: str
    metric: str
    difference: float
    better: int
    worse: int
    p: float
    p_holm: float


def compare(recipe: str, against: str, scored: Mapping[str, Scores], metric: str, seed: int) -> Comparison:
    """`recipe` against `against` on the same questions."""
    mine, theirs = scored[recipe], scored[against]
    gaps = np.array([mine[id][metric] - theirs[id][metric] for id in mine])
    p = p_value(gaps, seed)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return Comparison(recipe, against, metric, round(mean, 6), int((gaps > 0).sum()), int((gaps < 0).sum()), p, p)


def compare_all(scored: Mapping[str, Scores], against: str, seed: int) -> list[Comparison]:
    """Every recipe against one, corrected within each metric."""
    return [
        item
        for metric in METRICS
        for item in holm([compare(name, against, scored, metric, seed) for name in scored if name != against])
    ]


def reference_recipe(overall: Mapping[str, Mapping[str, float]]) -> str:
    """The recipe that all are compared with: `default` where it runs, else the best by recall@10."""
    return "default" if "default" in overall else max(overall, key=lambda name: overall[name]["recall@10"])


def p_value(gaps: Numbers, seed: int, rounds: int = ROUNDS) -> float:
    """Two-sided. Questions without a difference change nothing under any flip and are left out."""
    differing = gaps[np.abs(gaps) > 1e-12]
    if not len(differing):
        return 1.0
    seen = abs(float(differing.sum())) - 1e-9
    if len(differing) <= EXACT:
        sums = _all_signs(len(differing)) @ differing
        return float((np.abs(sums) >= seen).mean())
    chance = np.random.default_rng(seed)
    extreme = sum(
        int((np.abs(_random_signs(chance, min(CHUNK, rounds - done), len(differing)) @ differing) >= seen).sum())
        for done in range(0, rounds, CHUNK)
    )
    return (extreme + 1) / (rounds + 1)


def holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, each p raised for how many were made at once; the order stays."""
    raised: dict[int, float] = {}
    floor = 0.0
    for place, index in enumerate(_ascending(item.p for item in comparisons)):
        floor = max(floor, min(1.0, comparisons[index].p * (len(comparisons) - place)))
        raised[index] = floor
    return [replace(item, p_holm=raised[index]) for index, item in enumerate(comparisons)]


def _ascending(values: Iterable[float]) -> list[int]:
    known = list(values)
    return sorted(range(len(known)), key=known.__getitem__)


def _all_signs(count: int) -> Numbers:
    bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
    return np.asarray(2.0 * bits - 1.0)


def _random_signs(chance: np.random.Generator, rows: int, columns: int) -> Numbers:
    return np.asarray(2.0 * chance.integers(0, 2, size=(rows, columns), dtype=np.int8) - 1.0)
