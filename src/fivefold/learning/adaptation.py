"""Weights that learn from use: a small correction to the global ones for each namespace (D12).

A shown list, with what was used of it, is one observation of a Plackett–Luce model: a memory is picked with odds
`exp(steepness · score) / rank^POSITION`, where `score` is the composite one (D1). The gradient moves three log-offsets,
which multiply the global weights. The offsets stay within a bound and fade with time. They count only as far as they
predicted, before learning from it, the use of hits better than the global weights did.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, isfinite, log
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fivefold.errors import InvalidInput
from fivefold.learning.weight_signals import ShownHit
from fivefold.values.decay import Decay, age_in_days
from fivefold.values.query import Weights
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc

Array: TypeAlias = npt.NDArray[np.float64]
Triple: TypeAlias = tuple[float, float, float]

BOUND = log(3)
"""How far apart two offsets may lie: no weight becomes more than three times, or less than a third, of the global."""

POSITION = 0.5
"""Propensity: the odds of a look at rank r are r^−0.5, so that using the first hit says less than using the fifth."""

FADE = Decay("exponential", 90.0)
"""How offsets and their gain fade without feedback; their product, which is what counts, halves in 45 days."""

STEP = 0.16
"""How far one feedback moves the offsets along their gradient."""

PULL = 0.997
"""What remains of the offsets after each feedback: without confirmation they return to the global weights."""

MEMORY = 0.98
"""What remains of the earlier gain after each feedback: about the last fifty count."""

SURE = 4.0
"""The gain, in nats, at which the correction counts in full; it grows no further, so that a new taste shows soon."""

SURPRISE = 1.0
"""The most that a single feedback says, in nats, for or against the correction."""

STEEPNESS = (0.5, 6.0, 30.0)
"""How closely users follow the score: lowest, initial and highest value. Random picks lower it and shorten steps."""


@dataclass(frozen=True, slots=True)
class Adaptation(Value):
    """What a namespace has learned: log-offsets of similarity, recency and frequency; they add up to 0.

    `gain` is how much better than the global weights they predicted the last uses, in nats.
    """

    offsets: Triple = (0.0, 0.0, 0.0)
    steepness: float = STEEPNESS[1]
    gain: float = 0.0
    count: int = 0
    updated_at: datetime | None = None

    @property
    def trust(self) -> float:
        """The share of the correction that counts, 0..1: nothing before it has predicted better."""
        return max(0.0, min(1.0, self.gain / SURE))


NONE = Adaptation()
"""Before the first feedback, and after a reset."""


def adapt(weights: Weights, adaptation: Adaptation, now: datetime) -> Weights:
    """The global weights, corrected; the source shows both. Without a correction they stay unchanged."""
    aged = fade(adaptation, now)
    offsets = aged.trust * np.array(aged.offsets)
    normalized = _normalize(weights)
    if not offsets.any() or normalized is None:
        return weights
    before, after = _triple(normalized), _triple(_correct(normalized, offsets))
    change = f"global {_format(before)} → adapted {_format(after)}, feedbacks {aged.count}"
    return Weights(*after, source=f"{weights.source}; {change}", before=before)


def learn(adaptation: Adaptation, weights: Weights, hits: Sequence[ShownHit], now: datetime) -> Adaptation:
    """The adaptation after a list, shown best first under these global weights, of which some hits were used.

    A list of which all or nothing was used says nothing about the weights and changes nothing.
    """
    normalized, signals = _normalize(weights), _signal_matrix(hits)
    used = np.array([hit.used for hit in hits], dtype=bool)
    if normalized is None or not used.any() or used.all():
        return adaptation
    before = fade(adaptation, now)
    offsets = np.array(before.offsets)
    without = likelihood(signals, used, normalized, before.steepness)
    corrected = likelihood(signals, used, _correct(normalized, offsets), before.steepness)
    foresight = max(-SURPRISE, min(SURPRISE, corrected.log - without.log))
    least, _, most = STEEPNESS
    steepness = before.steepness * exp(STEP * max(-SURPRISE, min(SURPRISE, corrected.by_steepness)))
    return replace(
        before,
        offsets=_bound(PULL * offsets + STEP * corrected.by_offset),
        steepness=max(least, min(most, steepness)),
        gain=max(-SURE, min(SURE, MEMORY * before.gain + foresight)),
        count=before.count + 1,
        updated_at=max(now, before.updated_at or now),
    )


def fade(adaptation: Adaptation, now: datetime) -> Adaptation:
    """The adaptation after the time that has passed since the last feedback."""
    if adaptation.updated_at is None:
        return adaptation
    left = FADE.left(age_in_days(adaptation.updated_at, now))
    return replace(adaptation, offsets=_triple(left * np.array(adaptation.offsets)), gain=left * adaptation.gain)


def load_adaptation(data: Mapping[str, Any] | None) -> Adaptation:
    """The adaptation that `to_dict` wrote; data that cannot be read does not fail, learning starts again."""
    if data is None:
        return NONE
    try:
        first, second, third = (float(offset) for offset in data["offsets"])
        steepness, gain, count = float(data["steepness"]), float(data["gain"]), int(data["count"])
        at = None if data["updated_at"] is None else as_utc(data["updated_at"], "updated_at")[0]
    except (KeyError, TypeError, ValueError, OverflowError):
        return NONE
    if not all(map(isfinite, (first, second, third, steepness, gain))) or count < 0:
        return NONE
    least, _, most = STEEPNESS
    offsets = _bound(np.array([first, second, third]))
    return Adaptation(offsets, max(least, min(most, steepness)), gain, count, at)


def learn_from_log(
    adaptation: Adaptation, signals: Mapping[str, Any], used: Collection[str], now: datetime
) -> Adaptation:
    """The adaptation after some hits of a logged recall were used; `signals` are those that the log keeps."""
    hits = [
        ShownHit(similarity, recency, frequency, id in used) for id, similarity, recency, frequency in signals["hits"]
    ]
    return learn(adaptation, Weights(*signals["weights"]), hits, now)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The log-likelihood of what was used, and its gradient."""

    log: float
    by_offset: Array
    by_steepness: float


def likelihood(signals: Array, used: npt.NDArray[np.bool_], weights: Array, steepness: float) -> Likelihood:
    """Mean over the used hits; each was picked before all that were not used."""
    scores = signals @ weights
    slopes = weights * (signals - scores[:, None])  # of a score by the offsets
    odds = steepness * scores - POSITION * np.log(np.arange(1, len(scores) + 1))
    logs, by_offset, by_steepness = [], [], []
    for pick in np.flatnonzero(used):
        rivals = np.append(np.flatnonzero(~used), pick)
        raised = np.exp(odds[rivals] - odds[rivals].max())
        chances = raised / raised.sum()
        logs.append(float(np.log(max(chances[-1], 1e-12))))
        by_offset.append(steepness * (slopes[pick] - chances @ slopes[rivals]))
        by_steepness.append(steepness * float(scores[pick] - chances @ scores[rivals]))
    return Likelihood(float(np.mean(logs)), np.mean(by_offset, axis=0), float(np.mean(by_steepness)))


def _correct(weights: Array, offsets: Array) -> Array:
    """w · exp(offset), scaled to add up to 1."""
    raised = weights * np.exp(offsets)
    return np.asarray(raised / raised.sum())


def _bound(offsets: Array) -> Triple:
    """Centred on 0, and scaled to the bound where they spread too far."""
    centred = offsets - offsets.mean()
    spread = float(np.ptp(centred))
    return _triple(centred * (BOUND / spread) if spread > BOUND else centred)


def _normalize(weights: Weights) -> Array | None:
    """The weights as numbers that add up to 1; None where there is nothing to weigh by."""
    values = np.array([weights.similarity, weights.recency, weights.frequency], dtype=np.float64)
    usable = bool(np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0)
    return values / values.sum() if usable else None


def _signal_matrix(hits: Sequence[ShownHit]) -> Array:
    """A row for each hit; a signal outside 0..1 is an error of the caller."""
    signals = np.array([[hit.similarity, hit.recency, hit.frequency] for hit in hits], dtype=np.float64).reshape(-1, 3)
    if not ((signals >= -1e-9) & (signals <= 1 + 1e-9)).all():
        raise InvalidInput("similarity, recency and frequency of a shown hit lie in 0..1; give them as the recall did")
    return signals


def _format(weights: Triple) -> str:
    return "/".join(f"{weight:.3f}" for weight in weights)


def _triple(values: Array) -> Triple:
    first, second, third = values.tolist()
    return first, second, third
