"""Position bias: how much of a hit's use is due to its rank alone. A memory shown first is used more for being first.

The choice of a hit follows a conditional logit, exp(weighted score and features − η · ln(rank)). Rank and score go
together, but not exactly: scores fall steeply in one list and slowly in another, which separates the two effects. The
fit is convex, so it has one solution, and its curvature gives the standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.learning.lessons import Flags
from fivefold.values.serialize import Value

STEEPEST = 2.0
"""The largest η that is accepted."""

MOST_TRUST = 20.0

RIDGE = 1.0
"""Regularises the weights of the features, of which some are correlated."""

SURE = 1.64
"""Standard errors below the estimate that give a one-sided 95 % bound."""

ROUNDS = 25

Tensor = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PaddedLists:
    """Lessons padded to the longest. Each choice is one used hit against all unused hits of its list."""

    relative_scores: Tensor
    features: Tensor
    log_rank: Tensor
    of: npt.NDArray[np.int_]
    """The list of each choice."""
    chosen: npt.NDArray[np.int_]
    open: Flags
    """The hits that could be chosen."""
    weight: Tensor
    """A recall counts as one, however many of its hits were used."""

    def probabilities(self, logits: Tensor) -> Tensor:
        """The probability of each hit, one row for each choice, like `logits`."""
        masked = np.where(self.open, logits, -np.inf)
        powers = np.exp(masked - masked.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class PositionBias(Value):
    """Use falls by 1 / rank to the power of `eta`; `error` is its standard error."""

    eta: float
    error: float
    trust: float = 0.0
    """How much the score itself explains the use, without the part of the rank."""

    @property
    def at_least(self) -> float:
        """The lower bound of η."""
        return max(0.0, self.eta - SURE * self.error)


def estimate_position_bias(lists: PaddedLists) -> PositionBias:
    """η by Newton's method."""
    score, bias = lists.relative_scores[..., None], -lists.log_rank[..., None]
    inputs = np.concatenate([lists.features, score, bias], axis=2)[lists.of]
    ridge = np.full(inputs.shape[2], RIDGE)
    ridge[-2:] = 1e-3
    rows = np.arange(len(inputs))
    theta = np.zeros(inputs.shape[2])
    for _ in range(ROUNDS):
        chance = lists.probabilities(inputs @ theta)
        centre = np.einsum("rk,rkd->rd", chance, inputs)
        slope = (centre - inputs[rows, lists.chosen]).sum(axis=0) + ridge * theta
        curve = np.einsum("rk,rkd,rke->de", chance, inputs, inputs, optimize=True) - centre.T @ centre + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        theta = theta - step * min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-6:
            break
    error = float(np.sqrt(np.linalg.inv(curve)[-1, -1]))
    return PositionBias(float(np.clip(theta[-1], 0.0, STEEPEST)), error, float(np.clip(theta[-2], 0.0, MOST_TRUST)))
