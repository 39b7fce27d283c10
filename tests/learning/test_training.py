"""Loss, gradient, order and verdict by numbers one can check."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import NotFound
from fivefold.learning import training
from fivefold.learning.reranker import (
    FEATURES_VERSION,
    HIDDEN_UNITS,
    NAMES,
    NEVER,
    Verdict,
    learned_reranker,
    reranker_store,
)
from fivefold.learning.training import (
    BackgroundTraining,
    Lesson,
    PaddedLists,
    PositionBias,
    estimate_position_bias,
    fit,
    judge,
    least_gain,
    lesson_of,
    loss,
    ndcg,
    padded_lists,
    read_lessons,
    train_reranker,
    use_weights,
)
from fivefold.retrieval.protocols import best_first
from fivefold.stores.records import Feedback
from tests.support.logged_recalls import lists, true_ndcg
from tests.support.synthetic_users import (
    User,
    after_the_preferred,
    at_random,
    by_place,
    furnished,
    preferred,
    questions,
    reranked,
    talk,
)

WIDE = np.zeros(len(NAMES)), np.ones(len(NAMES))


def lesson(used: list[int], size: int = 4) -> Lesson:
    """Scores 4, 3, 2, 1 as shown; the numbered ranks were used."""
    base = np.arange(size, 0, -1, dtype=np.float32)
    return Lesson(base, np.zeros((size, len(NAMES)), np.float32), np.isin(np.arange(1, size + 1), used))


def quiet() -> dict[str, np.ndarray]:
    return {
        "inner": np.zeros((len(NAMES), HIDDEN_UNITS)),
        "bias": np.zeros(HIDDEN_UNITS),
        "outer": np.zeros(HIDDEN_UNITS),
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
    assert use_weights(lesson([30], size=40), 1.0).tolist() == [training.MAX_USE_WEIGHT]


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
    blob = bytes([FEATURES_VERSION]) + np.zeros((3, 1 + len(NAMES)), "<f4").tobytes()
    shown = ("a", "b", "c")

    def flags(used: set[str], refused: set[str]) -> list[bool] | None:
        found = lesson_of(Feedback("r", shown, frozenset(used), blob, frozenset(refused)))
        return None if found is None else [bool(flag) for flag in found.used]

    assert flags(set(), {"b"}) == [True, False, True]
    assert flags({"c"}, {"b"}) == [False, False, True]
    assert flags(set(), {"a", "b", "c"}) is None


def test_feedback_that_teaches_nothing_is_left_out() -> None:
    blob = bytes([FEATURES_VERSION]) + np.zeros((2, 1 + len(NAMES)), "<f4").tobytes()
    infinite = bytes([FEATURES_VERSION]) + np.full((2, 1 + len(NAMES)), np.inf, "<f4").tobytes()

    def taught(used: set[str], features: bytes | None = blob) -> bool:
        return lesson_of(Feedback("r", ("a", "b"), frozenset(used), features)) is not None

    assert taught({"a"})
    assert not taught({"a", "b"})
    assert not taught(set())
    assert not taught({"a"}, None)
    assert not taught({"a"}, b"")
    assert not taught({"a"}, bytes([FEATURES_VERSION + 1]) + blob[1:])
    assert not taught({"a"}, blob[:-4])
    assert not taught({"a"}, infinite)


# Training by itself: after enough feedback, in the background, and never in the way of a recall.


@pytest.mark.slow
def test_it_trains_after_enough_feedback_and_not_before(store_path: str) -> None:
    with furnished(store_path, notes=60) as engine:
        background = BackgroundTraining(engine._namespace)
        for _ in range(3):
            talk(engine, after_the_preferred, 1)
            background.count_feedback(train_after=0)
            background.count_feedback(train_after=60)
        background.wait()
        assert learned_reranker(engine._namespace).verdict is None
        talk(engine, after_the_preferred, 60)
        BackgroundTraining(engine._namespace).count_feedback(train_after=100)
        fresh = BackgroundTraining(engine._namespace)
        fresh.count_feedback(train_after=60)
        fresh.wait()
        verdict = learned_reranker(engine._namespace).verdict
        assert verdict is not None
        assert verdict.noted == 63
        again = BackgroundTraining(engine._namespace)
        again.count_feedback(train_after=1)
        assert not again.is_running


@pytest.mark.slow
def test_recalls_go_on_while_it_trains(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training is held up on purpose; recalls and further feedback do not wait for it."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(*given: object) -> object:
        begun.set()
        assert go_on.wait(30)
        return fit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "fit", slow)
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, 60)
        background = BackgroundTraining(engine._namespace)
        background.count_feedback(train_after=50)
        assert begun.wait(30)
        assert background.is_running
        talk(engine, after_the_preferred, 3)
        background.count_feedback(train_after=1)
        go_on.set()
        background.wait()
        assert learned_reranker(engine._namespace).verdict is not None


@pytest.mark.slow
def test_a_training_that_fails_is_logged_and_breaks_nothing(
    store_path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: object) -> object:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr(training, "fit", broken)
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, 60)
        background = BackgroundTraining(engine._namespace)
        with caplog.at_level(logging.WARNING, "fivefold"):
            background.count_feedback(train_after=50)
            background.wait()
        assert "could not be trained" in caplog.text
        assert len(engine.recall("harbour")) == 10


@pytest.mark.slow
def test_a_store_closed_meanwhile_is_only_logged(store_path: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = furnished(store_path, notes=10)
    background = BackgroundTraining(engine._namespace)
    engine.close()
    with caplog.at_level(logging.WARNING, "fivefold"):
        background._train()
    assert "could not be trained" in caplog.text


# The pull of the rank, told apart from what is liked: users who click by position with a known bias.

POSITION_BIAS_WIDE = np.zeros(len(NAMES)), np.ones(len(NAMES))


@pytest.mark.parametrize("pull", [0.0, 1.0])
@pytest.mark.parametrize("trust", [0.0, 3.0])
def test_the_known_pull_is_found(pull: float, trust: float) -> None:
    """Whether or not the score is really a reason to use a memory."""
    lessons, _ = lists(600, seed=1, liking=1.0, pull=pull, trust=trust)
    found = estimate_position_bias(padded_lists(lessons, *POSITION_BIAS_WIDE))
    assert abs(found.eta - pull) < 3 * found.error
    assert found.error < 0.3
    assert found.at_least <= max(pull, 0.1)


def test_the_pull_is_sure_only_as_far_as_the_data_goes() -> None:
    assert PositionBias(1.0, 0.25).at_least == pytest.approx(1 - 1.64 * 0.25)
    assert PositionBias(0.1, 0.25).at_least == 0.0
    few, many = (estimate_position_bias(padded_lists(lists(n, 1, 0.0, 1.0)[0], *POSITION_BIAS_WIDE)) for n in (60, 600))
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


# Learning from use on a real store: real recalls, real feedback, users with a hidden preference.

ASKED = 160


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Verdict]]:
    """A namespace whose user prefers events and what is new, and the verdict on what it learned."""
    engine = furnished(str(tmp_path_factory.mktemp("taught") / "memory.db"))
    talk(engine, after_the_preferred, ASKED)
    verdict = train_reranker(engine._namespace)
    yield engine, verdict
    engine.close()


@pytest.mark.slow
def test_a_preference_is_learned_and_switched_on(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    assert verdict.on, verdict.describe()
    assert verdict.figures is not None
    assert verdict.figures.least_gain > 0
    assert verdict.figures.held_out == 64
    assert verdict.feedbacks == verdict.noted == ASKED
    assert learned_reranker(engine._namespace).verdict == verdict


@pytest.mark.slow
def test_new_questions_are_answered_better(taught: tuple[Engine, Verdict]) -> None:
    """Of the five best, more are what the user prefers, without anything being lost or made up."""
    engine, _ = taught
    known = learned_reranker(engine._namespace)
    before, after = [], []
    for question in questions(15, seed=99):
        hits, pool = reranked(engine, question, known)
        ranked = best_first(pool.candidates)
        assert {candidate.memory.id for candidate in ranked} == {hit.memory.id for hit in hits}
        before.append(np.mean([preferred(hit.memory) for hit in hits[:5]]))
        after.append(np.mean([preferred(candidate.memory) for candidate in ranked[:5]]))
    assert np.mean(after) > np.mean(before) + 0.2


@pytest.mark.slow
def test_the_law_of_the_trace_holds(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    _, pool = reranked(engine, "harbour garden", learned_reranker(engine._namespace))
    for candidate in pool.candidates:
        assert math.fsum(item.contribution for item in candidate.evidence) == pytest.approx(candidate.fused)
        reached = candidate.fused
        for step in candidate.steps:
            assert step.before == reached
            reached = step.after
        assert candidate.score == reached
    looked_at = best_first(pool.candidates)[:20]
    assert all(candidate.steps[-1].stage == "learned" for candidate in looked_at)
    assert all(verdict.model in candidate.steps[-1].why for candidate in looked_at)


@pytest.mark.slow
def test_training_again_gives_the_same(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    assert train_reranker(engine._namespace) == verdict
    assert train_reranker(engine._namespace, seed=7).model != verdict.model
    assert train_reranker(engine._namespace).model == verdict.model


@pytest.mark.slow
def test_another_engine_sees_the_model_and_another_namespace_does_not(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    with furnished(engine.store.location, "other", notes=5) as other:
        assert learned_reranker(other._namespace).ranker is None
        assert learned_reranker(other._namespace).reason == NEVER
        assert not train_reranker(other._namespace).on
        assert learned_reranker(engine._namespace).verdict == verdict
    files = sorted(Path(f"{engine.store.location}.learned").iterdir())
    assert [file.name.rpartition("-")[0] for file in files] == ["default", "other"]
    with fivefold.open(engine.store.location) as again:
        assert learned_reranker(again._namespace).verdict == verdict


@pytest.mark.slow
def test_the_log_holds_what_training_needs(taught: tuple[Engine, Verdict]) -> None:
    engine, _ = taught
    found = read_lessons(engine.store.reader("default"))
    assert len(found) == ASKED
    assert all(len(lesson.used) == len(lesson.base) == len(lesson.features) for lesson in found)
    assert all(lesson.used.sum() == 1 for lesson in found)


@pytest.mark.slow
@pytest.mark.parametrize("user", [at_random, by_place])
def test_use_that_says_nothing_switches_nothing_on(user: User) -> None:
    engine = furnished(":memory:")
    talk(engine, user, ASKED)
    verdict = train_reranker(engine._namespace)
    assert not verdict.on, verdict.describe()
    assert learned_reranker(engine._namespace).ranker is None
    assert learned_reranker(engine._namespace).verdict == verdict
    engine.close()


@pytest.mark.slow
def test_too_little_feedback_trains_nothing() -> None:
    engine = furnished(":memory:", notes=30)
    talk(engine, after_the_preferred, 10)
    engine.recall("harbour")
    verdict = train_reranker(engine._namespace)
    assert (verdict.on, verdict.feedbacks, verdict.figures) == (False, 10, None)
    assert verdict.describe() == "off: 10 of the 50 recalls with feedback that it takes; give feedback after recalls"
    reranker_store(engine.store, engine.namespace).remove()
    assert learned_reranker(engine._namespace).reason == NEVER
    engine.close()


@pytest.mark.slow
def test_a_namespace_that_does_not_exist_says_so() -> None:
    with fivefold.open(":memory:", namespace="elsewhere") as engine, pytest.raises(NotFound, match="elsewhere"):
        train_reranker(engine._namespace)
