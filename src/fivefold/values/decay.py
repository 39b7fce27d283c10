"""Decay curves: what age leaves of a score (F4, D12). Each halves it at its half-life, in its own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log
from typing import Annotated, Literal, get_args

from fivefold.values.fields import About, Between
from fivefold.values.serialize import Value

Curve = Literal["none", "linear", "exponential", "gaussian", "step"]
CURVES: tuple[Curve, ...] = get_args(Curve)

_LEFT: dict[Curve, Callable[[float], float]] = {
    "none": lambda lives: 1.0,
    "linear": lambda lives: max(0.0, 1.0 - lives / 2),
    "exponential": lambda lives: exp(-log(2) * lives),
    "gaussian": lambda lives: exp(-log(2) * lives * lives),
    "step": lambda lives: 1.0 if lives < 1 else 0.0,
}
"""The share that is left by the age in half-lives; a step keeps all until then and nothing after."""


@dataclass(frozen=True, slots=True)
class Decay(Value):
    """A curve, its half-life, and the share that never goes."""

    curve: Annotated[Curve, About("How age counts once there is a half-life")] = "linear"
    half_life_days: Annotated[
        float | None,
        Between(1e-6, 1e6),
        About("After how many days half is left; without it, from 0 for the oldest candidate to 1 for the newest"),
    ] = None
    floor: Annotated[float, Between(0, 1), About("The share that age always leaves")] = 0.0

    def left(self, age_days: float) -> float:
        """The share left of a memory of this age; a memory of the future counts as new."""
        if self.half_life_days is None:
            return 1.0
        return max(self.floor, _LEFT[self.curve](max(0.0, age_days) / self.half_life_days))

    def describe(self) -> str:
        if self.curve == "none":
            return "no decay"
        if self.half_life_days is None:
            return "from the oldest candidate to the newest"
        floor = f", at least {self.floor:g}" if self.floor else ""
        return f"{self.curve}, half-life {self.half_life_days:g} d{floor}"


def age_in_days(at: datetime, now: datetime) -> float:
    return (now - at) / timedelta(days=1)
