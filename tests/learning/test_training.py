"""Loss, gradient, order and verdict by numbers one can check."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fivefold.learning import training
from fivefold.learning.reranker import HIDDEN, NAMES, VERSION
from fivefold.learning.training import Lesson, fit, judge, least_gain, lesson_of, loss, ndcg, padded_lists, use_weights
from fivefold.stores.interface import Feedback
from tests.support.logged_recalls import lists

WIDE = np.zeros(len(NAMES)), np.ones(len(NAMES))


def lesson(used: list[int], size: int = 4) -> Lesson:
    """Scores 4, 3, 2, 1 as shown; the numbered ranks were used."""
    base = np.arange(size, 0, -1, dtype=np.float32)
    return Lesson(base, np.zeros((size, len(NAMES)), np.float32), np.isin(np.arange(1, size + 1), used))


def quiet() -> dict[str, np.ndarray]:
    return {
        "inner": np.zeros((len(NAMES), HIDDEN)),
        "bias": np.zeros(HIDDEN),
        "outer": np.zeros(HIDDEN),
        "trust": np.asarray(0.0),
    }


def test_a_network_that_says_nothing_finds_all_equally_likely() -> None:
    """One used of four: −ln 1/4. Two used of four: each against the two others, −ln 1/3."""
    assert loss(quiet(), padded_lists([lesson([2])], *WIDE), eta=0.0)[0] == pytest.approx(math.log(4))
    assert loss(quiet(), padded_lists([lesson([1, 3])], *WIDE), eta=0.0)[0] == pytest.approx(math.log(3))
    assert loss(quiet(), padded_lists([lesson([1, 3]), lesson([2])], *WIDE), eta=0.0)[0] == pytest.approx(
        (math.log(3) + math.log(4)) / 2
    )


def test_lists_of_different_length_do_not_disturb_each_other() -> None:
    mixed = padded_lists([lesson([1], size=2), lesson([1], size=6)], *WIDE)
    assert loss(quiet(), mixed, eta=0.0)[0] == pytest.approx((math.log(2) + math.log(6)) / 2)


def test_the_rank_explains_what_it_can() -> None:
    """With η 1 the first of two is chosen at 1 : 1/2."""
    first = padded_lists([lesson([1], size=2)], *WIDE)
    assert loss(quiet(), first, eta=1.0)[0] == pytest.approx(-math.log(2 / 3))


def test_the_gradient_is_that_of_the_loss() -> None:
    made, _ = lists(6, seed=5, liking=1.0, pull=0.5)
    padded = padded_lists(made, *WIDE)
    chance = np.random.default_rng(0)
    params = {name: chance.normal(0, 0.5, value.shape) for name, value in quiet().items()}
    _, gradient = loss(params, padded, eta=0.7)
    for name, value in params.items():
        place = tuple(chance.integers(0, size) for size in value.shape)
        near = []
        for step in (1e-5, -1e-5):
            moved = value.copy()
            moved[place] += step
            near.append(loss({**params, name: moved}, padded, eta=0.7)[0])
        assert gradient[name][place] == pytest.approx((near[0] - near[1]) / 2e-5, abs=1e-7)


def test_fitting_lowers_the_watched_loss_and_repeats_itself() -> None:
    made, _ = lists(120, seed=6, liking=3.0, pull=0.0)
    one, again = fit(made, seed=1), fit(made, seed=1)
    assert one.loss_after < one.loss_before - 0.1
    assert one.ranker.name == again.ranker.name
    assert all((one.ranker.tensors[key] == again.ranker.tensors[key]).all() for key in one.ranker.tensors)
    assert fit(made, seed=2).ranker.name != one.ranker.name


def test_where_nothing_helps_the_network_begins_as_the_order_it_is_given() -> None:
    made, _ = lists(40, seed=7, liking=0.0, pull=0.0)
    start = fit(made, seed=0, steps=0).ranker
    for item in made:
        assert (np.argsort(-start.scores(item.base, item.features), kind="stable") == np.arange(len(item.base))).all()


def test_places_count_only_what_was_not_used() -> None:
    shown = lesson([2, 4])
    assert shown.used_places(shown.base).tolist() == [2, 3]
    assert shown.used_places([1, 4, 2, 3]).tolist() == [1, 1]
    assert shown.used_places([1, 1, 1, 1]).tolist() == [2, 3]
    assert shown.ranks.tolist() == [2, 4]


def test_ndcg_by_hand() -> None:
    assert ndcg(lesson([1]), [4, 3, 2, 1], 0.0) == 1.0
    assert ndcg(lesson([3]), [4, 3, 2, 1], 0.0) == pytest.approx(1 / 2)
    assert ndcg(lesson([1, 3]), [4, 3, 2, 1], 0.0) == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert ndcg(lesson([1, 3]), [4, 3, 2, 1], 1.0) == pytest.approx((1 + 3 / math.log2(3)) / 4)


def test_a_use_far_down_counts_more_but_not_without_end() -> None:
    assert use_weights(lesson([1, 4]), 0.5).tolist() == [1.0, 2.0]
    assert use_weights(lesson([30], size=40), 1.0).tolist() == [training.HEAVIEST]


def test_the_least_gain_knows_luck() -> None:
    even = np.ones(60)
    assert least_gain(np.full(60, 0.1), even, seed=0) == pytest.approx(0.1)
    wild = np.tile([0.9, -0.8], 30)
    assert wild.mean() > 0.04
    assert least_gain(wild, even, seed=0) < 0
    assert least_gain(wild, even, seed=0) == least_gain(wild, even, seed=0)


def test_a_model_that_turns_the_order_around_wins_only_where_that_is_liked() -> None:
    ranker = fit(lists(40, seed=8, liking=0.0, pull=0.0)[0], seed=0, steps=0).ranker
    assert judge(ranker, [lesson([1])] * 30, 0.0, seed=0).gain == 0.0
    backwards = type(ranker)({**ranker.tensors, "trust": np.asarray(-2.0)})
    assert judge(backwards, [lesson([1])] * 30, 0.0, seed=0).least_gain < 0
    assert judge(backwards, [lesson([4])] * 30, 0.0, seed=0).least_gain > 0.5


def test_what_was_refused_counts_less_than_the_rest() -> None:
    blob = bytes([VERSION]) + np.zeros((3, 1 + len(NAMES)), "<f4").tobytes()
    shown = ("a", "b", "c")

    def flags(used: set[str], refused: set[str]) -> list[bool] | None:
        found = lesson_of(Feedback("r", shown, frozenset(used), blob, frozenset(refused)))
        return None if found is None else [bool(flag) for flag in found.used]

    assert flags(set(), {"b"}) == [True, False, True]
    assert flags({"c"}, {"b"}) == [False, False, True]
    assert flags(set(), {"a", "b", "c"}) is None


def test_feedback_that_teaches_nothing_is_left_out() -> None:
    blob = bytes([VERSION]) + np.zeros((2, 1 + len(NAMES)), "<f4").tobytes()
    infinite = bytes([VERSION]) + np.full((2, 1 + len(NAMES)), np.inf, "<f4").tobytes()

    def taught(used: set[str], features: bytes | None = blob) -> bool:
        return lesson_of(Feedback("r", ("a", "b"), frozenset(used), features)) is not None

    assert taught({"a"})
    assert not taught({"a", "b"})
    assert not taught(set())
    assert not taught({"a"}, None)
    assert not taught({"a"}, b"")
    assert not taught({"a"}, bytes([VERSION + 1]) + blob[1:])
    assert not taught({"a"}, blob[:-4])
    assert not taught({"a"}, infinite)
