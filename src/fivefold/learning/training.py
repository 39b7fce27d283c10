"""Training a namespace's reranker, and the verdict on it: it is on only where it beats the order without it (E5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fivefold.errors import NotFound
from fivefold.learning.fitting import STEPS, fit
from fivefold.learning.lessons import Lesson, read_lessons
from fivefold.learning.model_store import LearnedReranker, RerankerStore, reranker_store
from fivefold.learning.reranker import Figures, Ranker, Tensor, Verdict
from fivefold.namespace import Namespace
from fivefold.text.progress import bar

LEAST = 50
"""The fewest recalls with feedback for a training."""

HELD_OUT = 0.4
LEAST_HELD_OUT = 20

MARGIN = 0.01
"""The smallest gain in nDCG that switches a model on."""

LUCK = 0.02
"""The probability that a model seems better by luck alone."""

ROUNDS = 2_000

HEAVIEST = 5.0
"""The largest weight of one use far down a list."""


def train_reranker(namespace: Namespace, progress: bool = False, seed: int = 0) -> Verdict:
    """Train on the namespace's feedback, judge on the newest part of it, and store model and verdict."""
    _must_exist(namespace)
    rerankers = reranker_store(namespace.store, namespace.name)
    rerankers.check_writable()
    count, lessons = namespace.reader.feedback.count(), read_lessons(namespace.reader)
    if len(lessons) < LEAST:
        reason = f"{len(lessons)} of the {LEAST} recalls with feedback that it takes; give feedback after recalls"
        verdict = Verdict(False, reason, "", namespace.clock(), count, len(lessons))
        return _save(namespace, rerankers, None, verdict)
    cut = len(lessons) - max(LEAST_HELD_OUT, round(HELD_OUT * len(lessons)))
    with bar("Training the reranker", STEPS, show=progress) as advance:
        result = fit(lessons[:cut], seed, advance)
    figures = judge(result.ranker, lessons[cut:], result.position_bias_in(lessons).at_least, seed)
    on = figures.gain >= MARGIN and figures.least_gain > 0
    needed = "" if on else f", and it must gain {MARGIN:g} and more than luck might give"
    reason = f"{figures.gain:+.3f} nDCG on feedback it had not seen{needed}"
    verdict = Verdict(on, reason, result.ranker.name, namespace.clock(), count, len(lessons), figures)
    return _save(namespace, rerankers, result.ranker, verdict)


def _save(namespace: Namespace, rerankers: RerankerStore, ranker: Ranker | None, verdict: Verdict) -> Verdict:
    """Store a model, unless the namespace was deleted during the training."""
    _must_exist(namespace)
    rerankers.save(ranker, verdict)
    return verdict


def _must_exist(namespace: Namespace) -> None:
    if not namespace.reader.exists():
        raise NotFound(f"namespace {namespace.name!r} does not exist yet; remember something in it first")


def learned_reranker(namespace: Namespace) -> LearnedReranker:
    """The namespace's reranker, or why there is none."""
    return reranker_store(namespace.store, namespace.name).load()


def forget_reranker(namespace: Namespace) -> None:
    """Remove the namespace's reranker; the feedback stays, so that it can be trained again."""
    reranker_store(namespace.store, namespace.name).remove()


def judge(ranker: Ranker, held_out: Sequence[Lesson], bias: float, seed: int) -> Figures:
    """The model against the order without it, on lessons that it has not seen.

    Uses far down count more, by the lower bound of the position bias: less than the true bias favours the order shown,
    so that an error leaves that order unchanged.
    """
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
    """Of each used hit against the unused ones: 1 where all used hits come first."""
    return float(np.average(1 / np.log2(1 + lesson.used_places(scores)), weights=use_weights(lesson, position_bias)))


def use_weights(lesson: Lesson, position_bias: float) -> Tensor:
    """A use far down the list also counts for the uses that did not happen because nobody looked that far."""
    return np.minimum(lesson.ranks.astype(np.float64) ** position_bias, HEAVIEST)


def least_gain(gaps: Tensor, weight: Tensor, seed: int) -> float:
    """The gain that all but a share of `LUCK` of the bootstrap samples reach."""
    samples = np.random.default_rng(seed).integers(0, len(gaps), (ROUNDS, len(gaps)))
    gains = (gaps * weight)[samples].sum(axis=1) / weight[samples].sum(axis=1)
    return float(np.quantile(gains, LUCK))
