"""What the best of many passages gains by chance, so that a long text is not found just for being long."""

from __future__ import annotations

from math import log, sqrt

SHARE = 0.5
"""How much of that gain is taken off. All of it lowers long texts that do answer; half of it ranks best."""


def lucky_gain(passages: int, spread: float) -> float:
    """About the most that the best of so many strangers exceeds their mean by: σ · √(2 ln n)."""
    return SHARE * spread * sqrt(2 * log(passages))
