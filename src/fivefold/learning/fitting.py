"""Fitting the network to lessons: a listwise loss, Adam, early stopping.

In training the logit of a hit is what the network says of it minus η · ln(rank): the pull of the rank explains what
it can, and the network learns the rest. At a recall only the network speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.learning.features import NAMES
from fivefold.learning.lessons import Lesson
from fivefold.learning.position_bias import Lists, Pull, pull_of
from fivefold.learning.reranker import HIDDEN, Ranker, Tensor, standing

STEPS = 400
PATIENCE = 60
"""Steps without a better loss on the watched part after which fitting ends."""

WATCHED = 0.25
"""The newest part of the lessons, by which fitting knows when to end."""

RATE = 0.02
DECAY = 0.003
"""How strongly large weights are held back."""

Params = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A network, the pull of the rank, and the watched loss before and after."""

    ranker: Ranker
    pull: Pull
    loss_before: float
    loss_after: float

    def pull_in(self, lessons: Sequence[Lesson]) -> Pull:
        """The pull of the rank in these lessons, features scaled as the network knows them."""
        return pull_of(lists_of(lessons, self.ranker.tensors["mean"], self.ranker.tensors["spread"]))


def fit(
    lessons: Sequence[Lesson], seed: int, advance: Callable[[int], None] = lambda done: None, steps: int = STEPS
) -> Fitted:
    """The network that explains best which hits were used, as far as the newest of the lessons bear it out."""
    cut = len(lessons) - max(1, round(WATCHED * len(lessons)))
    every = np.concatenate([lesson.features for lesson in lessons[:cut]]).astype(np.float64)
    mean, spread = _scale(every)
    taught, watched = (lists_of(part, mean, spread) for part in (lessons[:cut], lessons[cut:]))
    pull = pull_of(lists_of(lessons, mean, spread))
    params = _start(seed, pull.trust)
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in params.items()}
    before = best_loss = loss(params, watched, pull.eta)[0]
    best, best_step = dict(params), 0
    for step in range(1, steps + 1):
        _, gradient = loss(params, taught, pull.eta, DECAY)
        params = _moved(params, gradient, moments, step)
        now = loss(params, watched, pull.eta)[0]
        advance(1)
        if now < best_loss:
            best_loss, best, best_step = now, dict(params), step
        elif step - best_step >= PATIENCE:
            break
    return Fitted(Ranker({**best, "mean": mean, "spread": spread}), pull, before, best_loss)


def loss(params: Params, lists: Lists, eta: float, decay: float = 0.0) -> tuple[float, Params]:
    """Mean of −ln P(the used hit | itself and the hits not used), and its gradient."""
    hidden = np.tanh(lists.features @ params["inner"] + params["bias"])
    logits = params["trust"] * lists.standing + hidden @ params["outer"] - eta * lists.log_rank
    chance = lists.chances(logits[lists.of])
    rows = np.arange(len(chance))
    cost = -lists.weight @ np.log(np.maximum(chance[rows, lists.chosen], 1e-12))
    chance[rows, lists.chosen] -= 1
    pull = np.zeros_like(logits)
    np.add.at(pull, lists.of, lists.weight[:, None] * chance)
    inner = (pull[..., None] * params["outer"]) * (1 - hidden**2)
    gradient = {
        "inner": np.einsum("lkf,lkh->fh", lists.features, inner) + decay * params["inner"],
        "bias": inner.sum(axis=(0, 1)),
        "outer": np.einsum("lk,lkh->h", pull, hidden) + decay * params["outer"],
        "trust": np.asarray((pull * lists.standing).sum()),
    }
    return float(cost), gradient


def lists_of(lessons: Sequence[Lesson], mean: Tensor, spread: Tensor) -> Lists:
    """The lessons padded; a recall counts as one, however many of its hits were used."""
    longest = max(len(lesson.used) for lesson in lessons)
    shape = (len(lessons), longest)
    stands, features, unused = np.zeros(shape), np.zeros((*shape, len(NAMES))), np.zeros(shape, dtype=bool)
    for i, lesson in enumerate(lessons):
        size = len(lesson.used)
        stands[i, :size] = standing(lesson.base)
        features[i, :size] = np.nan_to_num((lesson.features - mean) / spread)
        unused[i, :size] = ~lesson.used
    pairs = [(i, place) for i, lesson in enumerate(lessons) for place in np.flatnonzero(lesson.used)]
    of, chosen = (np.array(part, dtype=int) for part in zip(*pairs, strict=True))
    open_ = unused[of]
    open_[np.arange(len(of)), chosen] = True
    weight = 1.0 / (np.bincount(of)[of] * len(lessons))
    log_rank = np.broadcast_to(np.log(np.arange(1, longest + 1)), shape)
    return Lists(stands, features, log_rank, of, chosen, open_, weight)


def _scale(every: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and spread of each feature, leaving out what is not a number; a feature that never varies counts as is."""
    known = np.isfinite(every)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, every, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, every - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean, np.where(spread > 1e-6, spread, 1.0)


def _start(seed: int, trust: float) -> Params:
    """A network that says nothing yet: it begins as the order it is given, trusted as far as it proved right."""
    chance = np.random.default_rng(seed)
    return {
        "inner": chance.normal(0, 1 / np.sqrt(len(NAMES)), (len(NAMES), HIDDEN)),
        "bias": np.zeros(HIDDEN),
        "outer": np.zeros(HIDDEN),
        "trust": np.asarray(trust),
    }


def _moved(params: Params, gradient: Params, moments: dict[str, tuple[Tensor, Tensor]], step: int) -> Params:
    """One step of Adam. A better score never speaks against a hit, so trust does not fall below 0."""
    moved = {}
    for name, value in params.items():
        first = 0.9 * moments[name][0] + 0.1 * gradient[name]
        second = 0.999 * moments[name][1] + 0.001 * gradient[name] ** 2
        moments[name] = (first, second)
        moved[name] = value - RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    moved["trust"] = np.maximum(moved["trust"], 0.0)
    return moved
