"""The pull of the rank, told apart from what is liked: users who click by position with a known bias."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fivefold.learning.reranker import NAMES
from fivefold.learning.training import PaddedLists, PositionBias, estimate_position_bias, fit, judge, padded_lists
from tests.support.logged_recalls import lists, true_ndcg

WIDE = np.zeros(len(NAMES)), np.ones(len(NAMES))


@pytest.mark.parametrize("pull", [0.0, 1.0])
@pytest.mark.parametrize("trust", [0.0, 3.0])
def test_the_known_pull_is_found(pull: float, trust: float) -> None:
    """Whether or not the score is really a reason to use a memory."""
    lessons, _ = lists(600, seed=1, liking=1.0, pull=pull, trust=trust)
    found = estimate_position_bias(padded_lists(lessons, *WIDE))
    assert abs(found.eta - pull) < 3 * found.error
    assert found.error < 0.3
    assert found.at_least <= max(pull, 0.1)


def test_the_pull_is_sure_only_as_far_as_the_data_goes() -> None:
    assert PositionBias(1.0, 0.25).at_least == pytest.approx(1 - 1.64 * 0.25)
    assert PositionBias(0.1, 0.25).at_least == 0.0
    few, many = (estimate_position_bias(padded_lists(lists(n, 1, 0.0, 1.0)[0], *WIDE)) for n in (60, 600))
    assert few.error > 2 * many.error


def test_position_alone_teaches_nothing() -> None:
    """Everybody uses by 1 / rank and likes nothing more: no model beats the order shown."""
    lessons, _ = lists(300, seed=2, liking=0.0, pull=1.0)
    fitted = fit(lessons[:200], seed=0)
    assert fitted.position_bias.eta > 0.5
    figures = judge(fitted.ranker, lessons[200:], fitted.position_bias_in(lessons).at_least, seed=0)
    assert figures.gain < 0.01 or figures.least_gain <= 0


def test_what_is_liked_is_learned_through_the_pull() -> None:
    """Uses are biased by 1 / rank; by what is truly liked, the model orders lists it has not seen better."""
    lessons, truth = lists(400, seed=3, liking=3.0, pull=1.0)
    fitted = fit(lessons[:300], seed=0)
    fresh = list(zip(lessons[300:], truth[300:], strict=True))
    before = np.mean([true_ndcg(lesson.base, liked) for lesson, liked in fresh])
    after = np.mean([true_ndcg(fitted.ranker.blend(lesson.base, lesson.features)[0], liked) for lesson, liked in fresh])
    assert after > before + 0.08


def test_without_accounting_for_it_the_position_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lessons, fitted as if ranks pulled nothing, make the model trust the order shown."""
    lessons, _ = lists(300, seed=4, liking=0.0, pull=1.0)
    fair = fit(lessons, seed=0)

    def blind(lists: PaddedLists) -> PositionBias:
        return estimate_position_bias(replace(lists, log_rank=np.zeros_like(lists.log_rank)))

    monkeypatch.setattr("fivefold.learning.training.estimate_position_bias", blind)
    naive = fit(lessons, seed=0)
    assert float(naive.ranker.tensors["trust"]) > float(fair.ranker.tensors["trust"]) + 1
