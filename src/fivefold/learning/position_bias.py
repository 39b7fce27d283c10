"""How much of being used is due to the rank alone: a memory shown first is used more because it is first.

Which of a list is used is taken to follow exp(score and features, weighed − η · ln(rank)), a conditional logit. Ranks
and scores go together, but not in lockstep: lists fall off steeply or slowly, and that tells the two apart. The fit
is convex, so it has one answer, and its curvature says how sure that answer is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.learning.lessons import Flags
from fivefold.values.serialize import Value

STEEPEST = 2.0
"""The greatest η that is believed."""

MOST_TRUST = 20.0

RIDGE = 1.0
"""Holds back the weights of the features, of which some say the same."""

SURE = 1.64
"""Standard errors below the estimate at which 19 in 20 true values lie above."""

ROUNDS = 25

Tensor = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lists:
    """Lessons side by side, padded to the longest. Each choice is one used hit against all of its list not used."""

    standing: Tensor
    features: Tensor
    log_rank: Tensor
    of: npt.NDArray[np.int_]
    """The list each choice is made from."""
    chosen: npt.NDArray[np.int_]
    open: Flags
    """What could have been chosen."""
    weight: Tensor
    """A recall counts as one, however many of its hits were used."""

    def chances(self, logits: Tensor) -> Tensor:
        """How likely each hit is to be chosen, a row a choice, as `logits` are."""
        drawn = np.where(self.open, logits, -np.inf)
        powers = np.exp(drawn - drawn.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Pull(Value):
    """Being used falls by 1 / rank to the power of `eta`, known to within `error`."""

    eta: float
    error: float
    trust: float = 0.0
    """How much the score itself is a reason to be used, once the rank's part is taken away."""

    @property
    def at_least(self) -> float:
        """The pull one can be fairly sure of."""
        return max(0.0, self.eta - SURE * self.error)


def pull_of(lists: Lists) -> Pull:
    """η by Newton's method."""
    given = np.concatenate([lists.features, lists.standing[..., None], -lists.log_rank[..., None]], axis=2)[lists.of]
    held = np.full(given.shape[2], RIDGE)
    held[-2:] = 1e-3
    rows = np.arange(len(given))
    theta = np.zeros(given.shape[2])
    for _ in range(ROUNDS):
        chance = lists.chances(given @ theta)
        centre = np.einsum("rk,rkd->rd", chance, given)
        slope = (centre - given[rows, lists.chosen]).sum(axis=0) + held * theta
        curve = np.einsum("rk,rkd,rke->de", chance, given, given, optimize=True) - centre.T @ centre + np.diag(held)
        step = np.linalg.solve(curve, slope)
        theta = theta - step * min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-6:
            break
    error = float(np.sqrt(np.linalg.inv(curve)[-1, -1]))
    return Pull(float(np.clip(theta[-1], 0.0, STEEPEST)), error, float(np.clip(theta[-2], 0.0, MOST_TRUST)))
