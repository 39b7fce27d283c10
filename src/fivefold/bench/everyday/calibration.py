"""Whether chances are what they say: of hits given .8, eight in ten should be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fivefold.bench.everyday.outcomes import Outcome
from fivefold.values.serialize import Value

BINS = 10
FIRST = 5
"""First hits of each question that are counted."""


@dataclass(frozen=True, slots=True)
class Bin(Value):
    """Hits whose chance lies between two bounds: how many, their mean chance, and the share that is right."""

    start: float
    end: float
    n: int
    chance: float
    right: float


@dataclass(frozen=True, slots=True)
class Calibration(Value):
    """The expected calibration error: the mean gap between chance and truth over the bins, weighted by their hits."""

    error: float
    hits: int
    bins: tuple[Bin, ...]


def calibrate(outcomes: Iterable[Outcome]) -> Calibration | None:
    """Over the first five hits of every question; None where no hit has a chance."""
    pairs = [pair for each in outcomes for pair in list(zip(each.chances, each.right, strict=False))[:FIRST]]
    if not pairs:
        return None
    bins = [each for number in range(BINS) if (each := _bin(number, pairs)) is not None]
    error = sum(each.n * abs(each.chance - each.right) for each in bins) / len(pairs)
    return Calibration(error, len(pairs), tuple(bins))


def _bin(number: int, pairs: Sequence[tuple[float, bool]]) -> Bin | None:
    inside = [(chance, right) for chance, right in pairs if min(int(chance * BINS), BINS - 1) == number]
    if not inside:
        return None
    count = len(inside)
    chance, right = sum(chance for chance, _ in inside) / count, sum(right for _, right in inside) / count
    return Bin(number / BINS, (number + 1) / BINS, count, chance, right)
