"""Fitting the network to lessons: a listwise loss, Adam, early stopping.

In training the logit of a hit is the network's score minus η · ln(rank): the position bias explains what it can, and
the network learns the rest. A recall uses the network alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.learning.features import NAMES
from fivefold.learning.lessons import Lesson
from fivefold.learning.position_bias import PaddedLists, PositionBias, estimate_position_bias
from fivefold.learning.reranker import HIDDEN, Ranker, Tensor, relative_scores

STEPS = 400
PATIENCE = 60
"""Steps without a better validation loss after which fitting ends."""

VALIDATION = 0.25
"""The share of the lessons, the newest, that decides when fitting ends."""

RATE = 0.02
DECAY = 0.003
"""Weight decay."""

Params = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class FitResult:
    """A network, the position bias, and the validation loss before and after."""

    ranker: Ranker
    position_bias: PositionBias
    loss_before: float
    loss_after: float

    def position_bias_in(self, lessons: Sequence[Lesson]) -> PositionBias:
        """The position bias in these lessons, with the features scaled as for the network."""
        return estimate_position_bias(padded_lists(lessons, self.ranker.tensors["mean"], self.ranker.tensors["spread"]))


def fit(
    lessons: Sequence[Lesson], seed: int, advance: Callable[[int], None] = lambda done: None, steps: int = STEPS
) -> FitResult:
    """The network that explains best which hits were used, judged by the newest of the lessons."""
    cut = len(lessons) - max(1, round(VALIDATION * len(lessons)))
    every = np.concatenate([lesson.features for lesson in lessons[:cut]]).astype(np.float64)
    mean, spread = _scale(every)
    training, validation = (padded_lists(part, mean, spread) for part in (lessons[:cut], lessons[cut:]))
    bias = estimate_position_bias(padded_lists(lessons, mean, spread))
    params = _initial(seed, bias.trust)
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in params.items()}
    before = best_loss = loss(params, validation, bias.eta)[0]
    best, best_step = dict(params), 0
    for step in range(1, steps + 1):
        _, gradient = loss(params, training, bias.eta, DECAY)
        params = _adam_step(params, gradient, moments, step)
        now = loss(params, validation, bias.eta)[0]
        advance(1)
        if now < best_loss:
            best_loss, best, best_step = now, dict(params), step
        elif step - best_step >= PATIENCE:
            break
    return FitResult(Ranker({**best, "mean": mean, "spread": spread}), bias, before, best_loss)


def loss(params: Params, lists: PaddedLists, eta: float, decay: float = 0.0) -> tuple[float, Params]:
    """Mean of −ln P(the used hit | itself and the hits not used), and its gradient."""
    hidden = np.tanh(lists.features @ params["inner"] + params["bias"])
    logits = params["trust"] * lists.relative_scores + hidden @ params["outer"] - eta * lists.log_rank
    chance = lists.probabilities(logits[lists.of])
    rows = np.arange(len(chance))
    cost = -lists.weight @ np.log(np.maximum(chance[rows, lists.chosen], 1e-12))
    chance[rows, lists.chosen] -= 1
    by_logit = np.zeros_like(logits)
    np.add.at(by_logit, lists.of, lists.weight[:, None] * chance)
    inner = (by_logit[..., None] * params["outer"]) * (1 - hidden**2)
    gradient = {
        "inner": np.einsum("lkf,lkh->fh", lists.features, inner) + decay * params["inner"],
        "bias": inner.sum(axis=(0, 1)),
        "outer": np.einsum("lk,lkh->h", by_logit, hidden) + decay * params["outer"],
        "trust": np.asarray((by_logit * lists.relative_scores).sum()),
    }
    return float(cost), gradient


def padded_lists(lessons: Sequence[Lesson], mean: Tensor, spread: Tensor) -> PaddedLists:
    """The lessons padded; a recall counts as one, however many of its hits were used."""
    longest = max(len(lesson.used) for lesson in lessons)
    shape = (len(lessons), longest)
    scores, features, unused = np.zeros(shape), np.zeros((*shape, len(NAMES))), np.zeros(shape, dtype=bool)
    for i, lesson in enumerate(lessons):
        size = len(lesson.used)
        scores[i, :size] = relative_scores(lesson.base)
        features[i, :size] = np.nan_to_num((lesson.features - mean) / spread)
        unused[i, :size] = ~lesson.used
    pairs = [(i, place) for i, lesson in enumerate(lessons) for place in np.flatnonzero(lesson.used)]
    lists, places = (np.array(part, dtype=int) for part in zip(*pairs, strict=True))
    candidates = unused[lists]
    candidates[np.arange(len(lists)), places] = True
    weight = 1.0 / (np.bincount(lists)[lists] * len(lessons))
    log_rank = np.broadcast_to(np.log(np.arange(1, longest + 1)), shape)
    return PaddedLists(scores, features, log_rank, lists, places, candidates, weight)


def _scale(every: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and spread of each feature without NaN; a feature that never varies is only centred."""
    known = np.isfinite(every)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, every, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, every - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean, np.where(spread > 1e-6, spread, 1.0)


def _initial(seed: int, trust: float) -> Params:
    """A network without corrections yet: it starts as the order that it gets, weighted by how right that was."""
    random = np.random.default_rng(seed)
    return {
        "inner": random.normal(0, 1 / np.sqrt(len(NAMES)), (len(NAMES), HIDDEN)),
        "bias": np.zeros(HIDDEN),
        "outer": np.zeros(HIDDEN),
        "trust": np.asarray(trust),
    }


def _adam_step(params: Params, gradient: Params, moments: dict[str, tuple[Tensor, Tensor]], step: int) -> Params:
    """One step of Adam. A better score never counts against a hit, so trust does not fall below 0."""
    updated = {}
    for name, value in params.items():
        first = 0.9 * moments[name][0] + 0.1 * gradient[name]
        second = 0.999 * moments[name][1] + 0.001 * gradient[name] ** 2
        moments[name] = (first, second)
        updated[name] = value - RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    updated["trust"] = np.maximum(updated["trust"], 0.0)
    return updated
