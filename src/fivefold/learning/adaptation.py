"""Weights that learn from use: a small correction to the global ones for each namespace (D12).

The shown list, with what was used of it, is one observation of a Plackett–Luce model: a memory is picked with odds
`exp(steepness · score) / rank^POSITION`, where `score` is the composite one (D1). The gradient moves three log-offsets,
by which the global weights are multiplied. They are held within a bound, fade with time and with disuse, and count
only as far as they have foretold, ahead of learning from it, what was used better than the global weights did.
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
from fivefold.values.decay import Decay, age_in_days
from fivefold.values.query import Weights
from fivefold.values.recall import Recall
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc

Array: TypeAlias = npt.NDArray[np.float64]
Triple: TypeAlias = tuple[float, float, float]

BOUND = log(3)
"""How far apart two offsets may lie: no weight becomes more than three times, or less than a third, of the global."""

POSITION = 0.5
"""Propensity: the odds of a look at rank r are r^−0.5, so that using the first hit says less than using the fifth."""

FADE = Decay("exponential", 90.0)
"""What is left of offsets and of their gain after days without feedback; what is applied, by both, halves in 45 d."""

STEP = 0.16
"""How far one feedback moves the offsets along their gradient."""

PULL = 0.997
"""What each feedback leaves of the offsets, so that what is no longer confirmed goes back to the global weights."""

MEMORY = 0.98
"""What each feedback leaves of the foresight gained before: about the last fifty count."""

SURE = 4.0
"""Foresight, in nats, at which the correction counts in full; no more is kept, so that a change of taste soon tells."""

SURPRISE = 1.0
"""No single feedback says more than this, in nats, for or against the correction."""

STEEPNESS = (0.5, 6.0, 30.0)
"""How firmly users follow the score: least, at first, most. It falls where picks are random, and steps shorten."""

SEARCHES = ("dense", "recency", "frequency")
"""The kinds of route whose scores are the three signals, in the order of the weights."""


@dataclass(frozen=True, slots=True)
class Shown(Value):
    """One hit of a shown list: its three signals, each in 0..1, and whether it was used."""

    similarity: float
    recency: float
    frequency: float
    used: bool


@dataclass(frozen=True, slots=True)
class Adaptation(Value):
    """What a namespace's feedback has taught: log-offsets of similarity, recency and frequency; they add up to 0.

    `gain` is how much better than the global weights they foretold the last uses, in nats.
    """

    offsets: Triple = (0.0, 0.0, 0.0)
    steepness: float = STEEPNESS[1]
    gain: float = 0.0
    count: int = 0
    updated_at: datetime | None = None

    @property
    def trust(self) -> float:
        """The share of the correction that counts, 0..1: none before it has foretold anything better."""
        return max(0.0, min(1.0, self.gain / SURE))


NONE = Adaptation()
"""Before the first feedback, and after a reset."""


def adapted(weights: Weights, adaptation: Adaptation, now: datetime) -> Weights:
    """The global weights, corrected; the source shows both. Without a correction they come back unchanged."""
    aged = faded(adaptation, now)
    offsets = aged.trust * np.array(aged.offsets)
    given = _of(weights)
    if not offsets.any() or given is None:
        return weights
    corrected = _triple(_corrected(given, offsets))
    told = f"global {_told(_triple(given))} → adapted {_told(corrected)}, feedbacks {aged.count}"
    return Weights(*corrected, source=f"{weights.source}; {told}", before=_triple(given))


def learned(adaptation: Adaptation, weights: Weights, shown: Sequence[Shown], now: datetime) -> Adaptation:
    """The adaptation after one list was shown, best first, under these global weights and some of it was used.

    A list of which all or nothing was used says nothing about the weights and changes nothing.
    """
    given, signals, used = _of(weights), _signals(shown), np.array([hit.used for hit in shown], dtype=bool)
    if given is None or not used.any() or used.all():
        return adaptation
    before = faded(adaptation, now)
    offsets = np.array(before.offsets)
    plain = likelihood(signals, used, given, before.steepness)
    seen = likelihood(signals, used, _corrected(given, offsets), before.steepness)
    foresight = max(-SURPRISE, min(SURPRISE, seen.log - plain.log))
    least, _, most = STEEPNESS
    steepness = before.steepness * exp(STEP * max(-SURPRISE, min(SURPRISE, seen.by_steepness)))
    return replace(
        before,
        offsets=_bounded(PULL * offsets + STEP * seen.by_offset),
        steepness=max(least, min(most, steepness)),
        gain=max(-SURE, min(SURE, MEMORY * before.gain + foresight)),
        count=before.count + 1,
        updated_at=max(now, before.updated_at or now),
    )


def faded(adaptation: Adaptation, now: datetime) -> Adaptation:
    """The adaptation as time has left it."""
    if adaptation.updated_at is None:
        return adaptation
    left = FADE.left(age_in_days(adaptation.updated_at, now))
    return replace(adaptation, offsets=_triple(left * np.array(adaptation.offsets)), gain=left * adaptation.gain)


def restored(data: Mapping[str, Any] | None) -> Adaptation:
    """The adaptation that `to_dict` wrote; what cannot be read is no reason to fail, and learning begins anew."""
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
    offsets = _bounded(np.array([first, second, third]))
    return Adaptation(offsets, max(least, min(most, steepness)), gain, count, at)


def shown_in(recall: Recall, used: Collection[str]) -> tuple[Shown, ...]:
    """The hits of a recall with their signals; nothing where its recipe does not weigh recency or frequency."""
    kinds = {part.route: part.search for part in recall.plan.routes if part.run}
    if not {"recency", "frequency"} & set(kinds.values()):
        return ()
    shown = []
    for hit in recall.hits:
        scores = {kinds[item.route]: item.score for item in hit.candidate.evidence if item.route in kinds}
        similarity, recency, frequency = (min(1.0, max(0.0, scores.get(search, 0.0))) for search in SEARCHES)
        shown.append(Shown(similarity, recency, frequency, hit.memory.id in used))
    return tuple(shown)


def signals_of(recall: Recall) -> dict[str, Any] | None:
    """What a recall's log keeps of it: the global weights and each hit's signals; None where none were predicted."""
    weights, shown = recall.query.weights, shown_in(recall, ())
    if weights is None or not shown:
        return None
    given = weights.before or (weights.similarity, weights.recency, weights.frequency)
    hits = [
        [hit.memory.id, item.similarity, item.recency, item.frequency] for hit, item in zip(recall, shown, strict=True)
    ]
    return {"weights": list(given), "hits": hits}


def after_use(adaptation: Adaptation, signals: Mapping[str, Any], used: Collection[str], now: datetime) -> Adaptation:
    """The adaptation after some hits of a logged recall were used."""
    shown = [
        Shown(similarity, recency, frequency, id in used) for id, similarity, recency, frequency in signals["hits"]
    ]
    return learned(adaptation, Weights(*signals["weights"]), shown, now)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely what was used was, and where it would have been likelier."""

    log: float
    by_offset: Array
    by_steepness: float


def likelihood(signals: Array, used: npt.NDArray[np.bool_], weights: Array, steepness: float) -> Likelihood:
    """Mean over the used ones; each was picked before all that were left unused."""
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


def _corrected(weights: Array, offsets: Array) -> Array:
    """w · exp(offset), scaled to add up to 1."""
    raised = weights * np.exp(offsets)
    return np.asarray(raised / raised.sum())


def _bounded(offsets: Array) -> Triple:
    """Centred on 0 and, where they spread too far, drawn together to the bound."""
    centred = offsets - offsets.mean()
    spread = float(np.ptp(centred))
    return _triple(centred * (BOUND / spread) if spread > BOUND else centred)


def _of(weights: Weights) -> Array | None:
    """The weights as numbers that add up to 1; None where there is nothing to weigh by."""
    given = np.array([weights.similarity, weights.recency, weights.frequency], dtype=np.float64)
    usable = bool(np.isfinite(given).all() and (given >= 0).all() and given.sum() > 0)
    return given / given.sum() if usable else None


def _signals(shown: Sequence[Shown]) -> Array:
    """One row a hit; a signal outside 0..1 is a mistake of the caller."""
    signals = np.array([[hit.similarity, hit.recency, hit.frequency] for hit in shown], dtype=np.float64).reshape(-1, 3)
    if not ((signals >= -1e-9) & (signals <= 1 + 1e-9)).all():
        raise InvalidInput("similarity, recency and frequency of a shown hit lie in 0..1; give them as the recall did")
    return signals


def _told(weights: Triple) -> str:
    return "/".join(f"{weight:.3f}" for weight in weights)


def _triple(values: Array) -> Triple:
    first, second, third = values.tolist()
    return first, second, third
