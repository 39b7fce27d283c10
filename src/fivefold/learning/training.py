"""Training a namespace's reranker, and the verdict on it: it serves only where it beats the order without it (E5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fivefold.errors import NotFound
from fivefold.learning.fitting import STEPS, fit
from fivefold.learning.lessons import Lesson, lessons
from fivefold.learning.model_store import Learned, shelf_of
from fivefold.learning.reranker import Figures, Ranker, Tensor, Verdict
from fivefold.namespace import Namespace
from fivefold.text.progress import bar

LEAST = 50
"""Recalls with feedback below which nothing is trained."""

HELD_OUT = 0.4
LEAST_HELD_OUT = 20

MARGIN = 0.01
"""The least gain in nDCG that is worth a model."""

LUCK = 0.02
"""How likely luck alone may make a model seem better."""

ROUNDS = 2_000

HEAVIEST = 5.0
"""The most that one use counts for having happened far down a list."""


def train_reranker(namespace: Namespace, progress: bool = False, seed: int = 0) -> Verdict:
    """Train on the namespace's feedback, judge on the newest part of it, and keep model and verdict."""
    if not namespace.reader.exists():
        raise NotFound(f"namespace {namespace.name!r} does not exist yet; remember something in it first")
    shelf = shelf_of(namespace.store, namespace.name)
    shelf.check_writable()
    noted, taught = namespace.reader.feedback.count(), lessons(namespace.reader)
    if len(taught) < LEAST:
        reason = f"{len(taught)} of the {LEAST} recalls with feedback that it takes; give feedback after recalls"
        verdict = Verdict(False, reason, "", namespace.clock(), noted, len(taught))
        shelf.put(None, verdict)
        return verdict
    cut = len(taught) - max(LEAST_HELD_OUT, round(HELD_OUT * len(taught)))
    with bar("Training the reranker", STEPS, show=progress) as advance:
        fitted = fit(taught[:cut], seed, advance)
    figures = judge(fitted.ranker, taught[cut:], fitted.pull_in(taught).at_least, seed)
    on = figures.gain >= MARGIN and figures.least_gain > 0
    needed = "" if on else f", and it must gain {MARGIN:g} and more than luck might give"
    reason = f"{figures.gain:+.3f} nDCG on feedback it had not seen{needed}"
    verdict = Verdict(on, reason, fitted.ranker.name, namespace.clock(), noted, len(taught), figures)
    shelf.put(fitted.ranker, verdict)
    return verdict


def learned_by(namespace: Namespace) -> Learned:
    """What the namespace has learned so far, for its recalls and its stats."""
    return shelf_of(namespace.store, namespace.name).learned()


def forget_reranker(namespace: Namespace) -> None:
    """Take the namespace's reranker away; the feedback stays, and it can be trained anew."""
    shelf_of(namespace.store, namespace.name).remove()


def judge(ranker: Ranker, held_out: Sequence[Lesson], bias: float, seed: int) -> Figures:
    """The model against the order without it, on lessons it has not seen.

    Uses far down count more, by the pull of the rank that is sure: less than the true pull favours the order shown,
    which errs on the side of leaving it alone.
    """
    weight = np.array([weights(lesson, bias).mean() for lesson in held_out])
    before = np.array([ndcg(lesson, lesson.base, bias) for lesson in held_out])
    after = np.array([ndcg(lesson, ranker.blended(lesson.base, lesson.features)[0], bias) for lesson in held_out])
    return Figures(
        held_out=len(held_out),
        before=float(np.average(before, weights=weight)),
        after=float(np.average(after, weights=weight)),
        least_gain=least_gain(after - before, weight, seed),
        position_bias=bias,
    )


def ndcg(lesson: Lesson, scores: npt.ArrayLike, position_bias: float) -> float:
    """Of what was used, each against what was not: 1 where all of it comes first."""
    return float(np.average(1 / np.log2(1 + lesson.places(scores)), weights=weights(lesson, position_bias)))


def weights(lesson: Lesson, position_bias: float) -> Tensor:
    """A use far down the list counts for those that were not made because nobody looked so far."""
    return np.minimum(lesson.ranks.astype(np.float64) ** position_bias, HEAVIEST)


def least_gain(gaps: Tensor, weight: Tensor, seed: int) -> float:
    """The gain that all but `LUCK` of the draws still show, when as many recalls are drawn anew with putting back."""
    drawn = np.random.default_rng(seed).integers(0, len(gaps), (ROUNDS, len(gaps)))
    gains = (gaps * weight)[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    return float(np.quantile(gains, LUCK))
