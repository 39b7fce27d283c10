"""Training a namespace's reranker, and the verdict on it: it is on only if it beats the order without it (E5)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fivefold.errors import FivefoldError, NotFound
from fivefold.learning.adaptation import Adaptation, fade, load_adaptation
from fivefold.learning.reranker import (
    HIDDEN_UNITS,
    NAMES,
    Figures,
    Ranker,
    Tensor,
    Verdict,
    learned_reranker,
    relative_scores,
    reranker_store,
    unpack_features,
)
from fivefold.namespace import Namespace
from fivefold.stores.interface import Reader
from fivefold.stores.records import Feedback
from fivefold.text.display import bar
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

MAX_LESSONS = 5_000
"""Maximum number of recalls with feedback, the newest, that serve as lessons."""

MAX_HITS = 50
"""Hits of a list that count; lower ones were hardly seen."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One recall: a row for each hit in the order shown."""

    base: Vector
    features: Matrix
    used: Flags

    def used_places(self, scores: npt.ArrayLike) -> npt.NDArray[np.int_]:
        """For each used hit its place among the unused ones in the order of `scores`; ties keep the order shown."""
        ordered = np.argsort(-np.asarray(scores), kind="stable")
        unused_above = np.cumsum(~self.used[ordered])
        place = np.empty(len(ordered), dtype=int)
        place[ordered] = 1 + unused_above
        return place[self.used]

    @property
    def ranks(self) -> npt.NDArray[np.int_]:
        """The rank at which each used hit was shown."""
        return np.flatnonzero(self.used) + 1


def read_lessons(reader: Reader) -> list[Lesson]:
    """The lessons of the namespace's feedback, oldest first."""
    return [lesson for item in reader.feedback.latest(MAX_LESSONS) if (lesson := lesson_of(item)) is not None]


def lesson_of(feedback: Feedback) -> Lesson | None:
    """None if nothing can be learned. If no hit was used, those not refused are preferred to those that were."""
    rows = unpack_features(feedback.features)
    if rows is None or len(rows) != len(feedback.returned) or not np.isfinite(rows[:, 0]).all() or np.isinf(rows).any():
        return None
    ids = feedback.returned[:MAX_HITS]
    used = np.array([id in feedback.used for id in ids], dtype=bool)
    if not used.any():
        used = np.array([id not in feedback.refused for id in ids], dtype=bool)
    if not used.any() or used.all():
        return None
    return Lesson(rows[:MAX_HITS, 0], rows[:MAX_HITS, 1:], used)


MAX_ETA = 2.0
"""The largest η that is accepted."""

MAX_TRUST = 20.0

RIDGE_PENALTY = 1.0
"""Regularises the weights of the features, of which some are correlated."""

BOUND_ERRORS = 1.64
"""Standard errors below the estimate that give a one-sided 95 % bound."""

FIT_ROUNDS = 25


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
    """The part of the use that is due to the rank alone: it falls by 1 / rank to the power of `eta`."""

    eta: float
    error: float
    trust: float = 0.0
    """The part of the use that the score itself explains, apart from the rank."""

    @property
    def at_least(self) -> float:
        """The lower bound of η."""
        return max(0.0, self.eta - BOUND_ERRORS * self.error)


def estimate_position_bias(lists: PaddedLists) -> PositionBias:
    """η by Newton's method."""
    score, bias = lists.relative_scores[..., None], -lists.log_rank[..., None]
    inputs = np.concatenate([lists.features, score, bias], axis=2)[lists.of]
    ridge = np.full(inputs.shape[2], RIDGE_PENALTY)
    ridge[-2:] = 1e-3
    rows = np.arange(len(inputs))
    theta = np.zeros(inputs.shape[2])
    for _ in range(FIT_ROUNDS):
        chance = lists.probabilities(inputs @ theta)
        centre = np.einsum("rk,rkd->rd", chance, inputs)
        slope = (centre - inputs[rows, lists.chosen]).sum(axis=0) + ridge * theta
        curve = np.einsum("rk,rkd,rke->de", chance, inputs, inputs, optimize=True) - centre.T @ centre + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        theta = theta - step * min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-6:
            break
    error = float(np.sqrt(np.linalg.inv(curve)[-1, -1]))
    return PositionBias(float(np.clip(theta[-1], 0.0, MAX_ETA)), error, float(np.clip(theta[-2], 0.0, MAX_TRUST)))


MAX_STEPS = 400
PATIENCE_STEPS = 60
"""Steps without a better validation loss after which fitting ends."""

VALIDATION_SHARE = 0.25
"""The share of the lessons, the newest, that decides when fitting ends."""

LEARNING_RATE = 0.02
WEIGHT_DECAY = 0.003
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
    lessons: Sequence[Lesson], seed: int, advance: Callable[[int], None] = lambda done: None, steps: int = MAX_STEPS
) -> FitResult:
    """The network that explains best which hits were used, judged by the newest of the lessons."""
    cut = len(lessons) - max(1, round(VALIDATION_SHARE * len(lessons)))
    every = np.concatenate([lesson.features for lesson in lessons[:cut]]).astype(np.float64)
    known = np.isfinite(every)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, every, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, every - mean, 0.0) ** 2).sum(axis=0) / count)
    spread = np.where(spread > 1e-6, spread, 1.0)  # a feature that never varies is only centred
    training, validation = (padded_lists(part, mean, spread) for part in (lessons[:cut], lessons[cut:]))
    bias = estimate_position_bias(padded_lists(lessons, mean, spread))
    random = np.random.default_rng(seed)
    params = {  # no corrections yet: it starts as the order that it gets, weighted by how right that was
        "inner": random.normal(0, 1 / np.sqrt(len(NAMES)), (len(NAMES), HIDDEN_UNITS)),
        "bias": np.zeros(HIDDEN_UNITS),
        "outer": np.zeros(HIDDEN_UNITS),
        "trust": np.asarray(bias.trust),
    }
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in params.items()}
    before = best_loss = loss(params, validation, bias.eta)[0]
    best, best_step = dict(params), 0
    for step in range(1, steps + 1):
        _, gradient = loss(params, training, bias.eta, WEIGHT_DECAY)
        params = _adam_step(params, gradient, moments, step)
        now = loss(params, validation, bias.eta)[0]
        advance(1)
        if now < best_loss:
            best_loss, best, best_step = now, dict(params), step
        elif step - best_step >= PATIENCE_STEPS:
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


def _adam_step(params: Params, gradient: Params, moments: dict[str, tuple[Tensor, Tensor]], step: int) -> Params:
    """One step of Adam. A better score never counts against a hit, so trust does not fall below 0."""
    updated = {}
    for name, value in params.items():
        first = 0.9 * moments[name][0] + 0.1 * gradient[name]
        second = 0.999 * moments[name][1] + 0.001 * gradient[name] ** 2
        moments[name] = (first, second)
        updated[name] = value - LEARNING_RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    updated["trust"] = np.maximum(updated["trust"], 0.0)
    return updated


MIN_RECALLS = 50
"""The fewest recalls with feedback for a training."""

HELD_OUT = 0.4
MIN_HELD_OUT = 20

MIN_GAIN = 0.01
"""The smallest gain in nDCG that switches a model on."""

LUCK_SHARE = 0.02
"""The probability that a model seems better by luck alone."""

BOOTSTRAP_SAMPLES = 2_000

MAX_USE_WEIGHT = 5.0
"""The largest weight of one use far down a list."""


def train_reranker(namespace: Namespace, progress: bool = False, seed: int = 0) -> Verdict:
    """Train on the namespace's feedback, judge on the newest part of it, and store model and verdict."""
    _must_exist(namespace)
    rerankers = reranker_store(namespace.store, namespace.name)
    rerankers.check_writable()
    count, lessons = namespace.reader.feedback.count(), read_lessons(namespace.reader)
    if len(lessons) < MIN_RECALLS:
        reason = f"{len(lessons)} of the {MIN_RECALLS} recalls with feedback that it takes; give feedback after recalls"
        verdict = Verdict(False, reason, "", namespace.clock(), count, len(lessons))
        _must_exist(namespace)
        rerankers.save(None, verdict)
        return verdict
    cut = len(lessons) - max(MIN_HELD_OUT, round(HELD_OUT * len(lessons)))
    with bar("Training the reranker", MAX_STEPS, show=progress) as advance:
        result = fit(lessons[:cut], seed, advance)
    figures = judge(result.ranker, lessons[cut:], result.position_bias_in(lessons).at_least, seed)
    on = figures.gain >= MIN_GAIN and figures.least_gain > 0
    needed = "" if on else f", and it must gain {MIN_GAIN:g} and more than luck might give"
    reason = f"{figures.gain:+.3f} nDCG on feedback it had not seen{needed}"
    verdict = Verdict(on, reason, result.ranker.name, namespace.clock(), count, len(lessons), figures)
    _must_exist(namespace)  # it may have been deleted during the training
    rerankers.save(result.ranker, verdict)
    return verdict


def _must_exist(namespace: Namespace) -> None:
    if not namespace.reader.exists():
        raise NotFound(f"namespace {namespace.name!r} does not exist yet; remember something in it first")


def judge(ranker: Ranker, held_out: Sequence[Lesson], bias: float, seed: int) -> Figures:
    """The model against the order without it, on unseen lessons; uses far down count more, by the least bias."""
    weight = np.array([use_weights(lesson, bias).mean() for lesson in held_out])
    before = np.array([ndcg(lesson, lesson.base, bias) for lesson in held_out])
    after = np.array([ndcg(lesson, ranker.blend(lesson.base, lesson.features)[0], bias) for lesson in held_out])
    return Figures(
        held_out=len(held_out),
        before=float(np.average(before, weights=weight)),
        after=float(np.average(after, weights=weight)),
        least_gain=least_gain(after - before, weight, seed),
        position_bias=bias,
    )


def ndcg(lesson: Lesson, scores: npt.ArrayLike, position_bias: float) -> float:
    """NDCG of the used hits against the unused ones: 1 if all used hits come first."""
    return float(np.average(1 / np.log2(1 + lesson.used_places(scores)), weights=use_weights(lesson, position_bias)))


def use_weights(lesson: Lesson, position_bias: float) -> Tensor:
    """A use far down the list also counts for the uses that did not happen because nobody looked that far."""
    return np.minimum(lesson.ranks.astype(np.float64) ** position_bias, MAX_USE_WEIGHT)


def least_gain(gaps: Tensor, weight: Tensor, seed: int) -> float:
    """The gain that all but a share of `LUCK_SHARE` of the bootstrap samples reach."""
    samples = np.random.default_rng(seed).integers(0, len(gaps), (BOOTSTRAP_SAMPLES, len(gaps)))
    gains = (gaps * weight)[samples].sum(axis=1) / weight[samples].sum(axis=1)
    return float(np.quantile(gains, LUCK_SHARE))


_log = logging.getLogger("fivefold")


class BackgroundTraining:
    """Counts a namespace's feedback and trains its reranker again whenever enough of it is new."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._new: int | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def count_feedback(self, train_after: int) -> None:
        """A recall has got feedback; training starts once `train_after` recalls have new feedback, never at 0."""
        if train_after <= 0:
            return
        with self._lock:
            if self._new is None:  # recalls with feedback since the last training
                verdict = learned_reranker(self._namespace).verdict
                self._new = self._namespace.reader.feedback.count() - (0 if verdict is None else verdict.noted)
            else:
                self._new += 1
            if self._new >= train_after and not self.is_running:
                self._new = 0
                self._thread = threading.Thread(target=self._train, name="fivefold-training", daemon=True)
                self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the current training has ended, or the time is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _train(self) -> None:
        try:
            verdict = train_reranker(self._namespace)
        except FivefoldError as error:
            _log.warning("the reranker could not be trained: %s", error)
        except Exception:
            _log.exception("the reranker could not be trained")
        else:
            _log.info("the reranker of namespace %r was trained: %s", self._namespace.name, verdict.describe())


@dataclass(frozen=True, slots=True)
class LearnedFromUse(Value):
    """The results of feedback in a namespace: the verdict on its reranker, and the correction of predicted weights."""

    reranker: Verdict | None
    reason: str
    """Why the reranker is on or off."""
    weights: Adaptation
    """As it counts now: it fades with time."""


def learned_from_use(namespace: Namespace) -> LearnedFromUse:
    reranker, weights = learned_reranker(namespace), load_adaptation(namespace.reader.admin.learned_value("weights"))
    return LearnedFromUse(reranker.verdict, reranker.reason, fade(weights, namespace.clock()))


def unlearn(namespace: Namespace) -> None:
    """Forget the reranker and the correction of the weights; the feedback stays."""
    reranker_store(namespace.store, namespace.name).remove()
    with namespace.transaction() as txn:
        txn.admin.save_learned_value("weights", None)
