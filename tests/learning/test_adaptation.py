"""Adaptation of the weights: the formula by hand, its laws on any feedback, and synthetic users (D12)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.adaptation.simulate import MARGIN, USERS, User, differences, feedback, question

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.learning.adaptation import (
    MAX_GAIN,
    MAX_OFFSET_SPREAD,
    NO_DECAY,
    NONE,
    OVER_CANDIDATES,
    STEP_SIZE,
    Adaptation,
    QueryDecay,
    ShownHit,
    adapt,
    decay_for,
    fade,
    learn,
    likelihood,
    load_adaptation,
    shown_hits,
)
from fivefold.models.weights import is_fallback
from fivefold.retrieval.understand.demands import find_cues, main_intent
from fivefold.text.time_grammar import find_window
from fivefold.values.query import Decay, Query, Weights, Window

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
GLOBAL = Weights(0.6, 0.25, 0.15, "model m1")
TAUGHT = Adaptation((-0.3, 0.4, -0.1), 8.0, MAX_GAIN, 12, NOW)

shares = st.floats(0, 1)
hits = st.builds(ShownHit, shares, shares, shares, st.booleans())
triples = st.tuples(shares, shares, shares).filter(lambda triple: sum(triple) > 0.01)


def triple(weights: Weights) -> tuple[float, float, float]:
    return weights.similarity, weights.recency, weights.frequency


def test_d12_the_first_step_by_hand() -> None:
    """Two hits of equal score; the second is used. Its chance is 2^−½ / (1 + 2^−½) = √2 − 1."""
    shown = [ShownHit(1, 0, 0, False), ShownHit(0, 1, 0, True)]
    after = learn(NONE, Weights(0.5, 0.5, 0.0), shown, NOW)
    moved = STEP_SIZE * 6 * (2 - sqrt(2)) * 0.5
    assert after.offsets == pytest.approx((-moved, moved, 0))
    assert (after.count, after.gain, after.updated_at) == (1, 0.0, NOW)
    assert after.steepness == pytest.approx(NONE.steepness)


def test_d12_the_gradient_is_that_of_the_likelihood() -> None:
    rng = np.random.default_rng(3)
    signals, used = rng.random((6, 3)), np.array([False, True, False, True, False, False])
    weights, small = np.array([0.5, 0.3, 0.2]), 1e-6
    here = likelihood(signals, used, weights, 7.0)
    for i, slope in enumerate(here.by_offset):
        nudged = weights * np.exp(small * np.eye(3)[i])
        there = likelihood(signals, used, nudged / nudged.sum(), 7.0)
        assert slope == pytest.approx((there.log - here.log) / small, abs=1e-4)
    steeper = likelihood(signals, used, weights, 7.0 * exp(small))
    assert here.by_steepness == pytest.approx((steeper.log - here.log) / small, abs=1e-4)


@given(triples, st.lists(st.lists(hits, max_size=8), max_size=12))
@settings(deadline=None, max_examples=60)
def test_d12_whatever_is_fed_back_no_weight_moves_beyond_the_bound(
    weights: tuple[float, float, float], lists: list[list[ShownHit]]
) -> None:
    similarity, recency, frequency = (weight / sum(weights) for weight in weights)
    before = Weights(similarity, recency, frequency)
    state = NONE
    for shown in lists:
        state = learn(state, before, shown, NOW)
    assert sum(state.offsets) == pytest.approx(0, abs=1e-9)
    assert max(state.offsets) - min(state.offsets) <= MAX_OFFSET_SPREAD + 1e-9
    after = adapt(before, replace(state, gain=MAX_GAIN), NOW)
    assert sum(triple(after)) == pytest.approx(1)
    for old, new in zip(triple(before), triple(after), strict=True):
        assert old / 3 - 1e-9 <= new <= old * 3 + 1e-9


@given(triples, st.lists(hits, max_size=8))
@settings(deadline=None, max_examples=40)
def test_an_adaptation_survives_json(weights: tuple[float, float, float], shown: list[ShownHit]) -> None:
    state = learn(TAUGHT, Weights(*weights), shown, NOW + timedelta(days=3))
    read = load_adaptation(json.loads(json.dumps(state.to_dict())))
    assert read.offsets == pytest.approx(state.offsets)
    assert replace(read, offsets=state.offsets) == state


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"offsets": [1, 2]},
        TAUGHT.to_dict() | {"gain": "much"},
        TAUGHT.to_dict() | {"offsets": 3},
        TAUGHT.to_dict() | {"gain": float("nan")},
        TAUGHT.to_dict() | {"updated_at": "soon"},
        TAUGHT.to_dict() | {"count": -1},
    ],
)
def test_what_cannot_be_read_begins_anew(data: dict[str, object] | None) -> None:
    assert load_adaptation(data) == NONE


def test_a_stored_offset_out_of_bounds_is_drawn_back() -> None:
    read = load_adaptation(TAUGHT.to_dict() | {"offsets": [50.0, -50.0, 0.0], "steepness": 1e9})
    assert max(read.offsets) - min(read.offsets) == pytest.approx(MAX_OFFSET_SPREAD)
    assert read.steepness == 30


def test_lists_that_tell_nothing_change_nothing() -> None:
    assert learn(TAUGHT, GLOBAL, [], NOW) == TAUGHT
    assert learn(TAUGHT, GLOBAL, [ShownHit(0.5, 0.1, 0.2, True)], NOW) == TAUGHT
    assert learn(TAUGHT, GLOBAL, [ShownHit(0.5, 0.1, 0.2, False), ShownHit(0.1, 0.9, 0, False)], NOW) == TAUGHT
    assert learn(TAUGHT, Weights(0, 0, 0), [ShownHit(0.5, 0, 0, False), ShownHit(0.1, 1, 0, True)], NOW) == TAUGHT


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_a_signal_outside_its_range_is_refused(wrong: float) -> None:
    with pytest.raises(InvalidInput, match=r"lie in 0\.\.1"):
        learn(NONE, GLOBAL, [ShownHit(0.5, wrong, 0, True), ShownHit(0.5, 0, 0, False)], NOW)


def test_using_the_first_hit_says_less_than_using_the_fifth() -> None:
    """Position bias: of five hits alike but for recency, the recent one is used, at the top or at the bottom."""

    def moved(place: int) -> float:
        shown = [ShownHit(0.5, 0.9 if i == place else 0.3, 0.1, i == place) for i in range(5)]
        return learn(NONE, GLOBAL, shown, NOW).offsets[1]

    assert 0 < moved(0) < moved(2) < moved(4)


def test_the_trace_shows_both_triples() -> None:
    after = adapt(GLOBAL, TAUGHT, NOW)
    raised = [0.6 * exp(-0.3), 0.25 * exp(0.4), 0.15 * exp(-0.1)]
    assert triple(after) == pytest.approx([weight / sum(raised) for weight in raised])
    assert after.source == "model m1; global 0.600/0.250/0.150 → adapted 0.466/0.391/0.142, feedbacks 12"
    assert is_fallback(adapt(replace(GLOBAL, source="fallback: no file"), TAUGHT, NOW))


def test_without_foresight_the_global_weights_stay() -> None:
    assert adapt(GLOBAL, NONE, NOW) is GLOBAL
    assert adapt(GLOBAL, replace(TAUGHT, gain=-1.0), NOW) is GLOBAL
    half = adapt(GLOBAL, replace(TAUGHT, gain=MAX_GAIN / 2), NOW)
    assert GLOBAL.recency < half.recency < adapt(GLOBAL, TAUGHT, NOW).recency


def test_a_weight_of_zero_stays_zero() -> None:
    assert adapt(Weights(0.7, 0.3, 0.0), TAUGHT, NOW).frequency == 0
    assert adapt(Weights(0.0, 0.0, 0.0), TAUGHT, NOW) == Weights(0.0, 0.0, 0.0)


def test_a_correction_fades_with_disuse_and_a_new_start_is_none() -> None:
    later = fade(TAUGHT, NOW + timedelta(days=90))
    assert later.offsets == pytest.approx((-0.15, 0.2, -0.05))
    assert later.gain == pytest.approx(MAX_GAIN / 2)
    assert fade(TAUGHT, NOW - timedelta(days=90)) == TAUGHT
    halved = replace(TAUGHT, offsets=(-0.15, 0.2, -0.05))
    assert triple(adapt(GLOBAL, TAUGHT, NOW + timedelta(days=45))) == pytest.approx(triple(adapt(GLOBAL, halved, NOW)))
    moved = [adapt(GLOBAL, TAUGHT, NOW + timedelta(days=days)).recency - GLOBAL.recency for days in (0, 30, 90, 900)]
    assert all(before > after >= 0 for before, after in pairwise(moved))
    assert moved[-1] == pytest.approx(0, abs=1e-4)


def test_feedback_out_of_order_keeps_the_later_time() -> None:
    shown = [ShownHit(0.5, 0.1, 0.2, False), ShownHit(0.4, 0.9, 0.2, True)]
    assert learn(TAUGHT, GLOBAL, shown, NOW - timedelta(days=1)).updated_at == NOW


def test_the_signals_of_a_recall_are_those_it_was_ranked_by(sample_engine: Engine) -> None:
    recall = sample_engine.recall("what did I decide about Kestrel?", recipe="ditto", k=6)
    weights = {part.search: part.weight for part in recall.plan.routes}
    shown = shown_hits(recall, {recall[2].memory.id})
    assert [hit.used for hit in shown] == [False, False, True, False, False, False]
    for hit, seen in zip(recall, shown, strict=True):
        total = seen.similarity * weights["dense"] + seen.recency * weights["recency"]
        assert total + seen.frequency * weights["frequency"] == pytest.approx(hit.candidate.fused)
    assert learn(NONE, GLOBAL, shown, NOW).count == 1


def test_a_recipe_without_the_signals_teaches_nothing(sample_engine: Engine) -> None:
    recall = sample_engine.recall("what did I decide about Kestrel?", recipe="dense")
    assert shown_hits(recall, {recall[0].memory.id}) == ()


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS, ids=lambda user: user.name)
def test_no_synthetic_user_loses_more_than_the_margin(user: User) -> None:
    """A short run of the simulation: who differs from the global weights gains, who does not loses next to nothing."""
    plain, added = differences(user, feedbacks=100, seeds=2, tested=(10, 40, 100), per_test=25)
    means = added.mean(axis=0)
    assert 0 < plain < 1
    assert means.min() >= -MARGIN
    if user.taste != (1, 1, 1) or user.fixed is not None:
        assert means[-1] > MARGIN


def test_random_use_leaves_the_weights_where_they_are() -> None:
    rng, state, now = np.random.default_rng(100), NONE, NOW
    user = next(user for user in USERS if user.name == "random")
    for _ in range(200):
        asked, now = question(rng), now + timedelta(hours=8)
        shown = feedback(user, asked, adapt(asked.weights, state, now), False, rng)
        state = learn(state, asked.weights, shown, now)
        assert triple(adapt(GLOBAL, state, now)) == pytest.approx(triple(GLOBAL), abs=0.02)
    assert state.steepness < NONE.steepness / 2


def test_the_simulation_is_seeded() -> None:
    drawn = [question(np.random.default_rng(5)) for _ in range(2)]
    assert drawn[0].weights == drawn[1].weights
    assert (drawn[0].signals == drawn[1].signals).all()
    assert log(3) == MAX_OFFSET_SPREAD


# The decay chosen for a question: a few dozen by hand, and the laws of every choice (D12).

QUERY_DECAY_NOW = datetime(2025, 3, 15, 12, tzinfo=UTC)
"""A Saturday, noon."""


def choose_decay(query: Query, span_days: float, newest_days: float = 0.0) -> Decay:
    return decay_for(query, span_days, newest_days).decay


def asked(text: str, now: datetime = QUERY_DECAY_NOW) -> Query:
    cues = find_cues(text)
    return Query(text, now, (), window=find_window(text, now), cues=cues, intent=main_intent(cues))


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        ("what did I just say?", 6),
        ("you just told me a name, which was it?", 6),
        ("what was I saying a moment ago?", 6),
        ("where were we?", 6),
        ("let's carry on", 6),
        ("let's pick up where we left off", 6),
        ("what was that link just now", 6),
        ("what did Anna say two hours ago?", 2.5),
        ("what came in during the past hour?", 1),
        ("what happened this morning?", 12),
        ("what did we talk about today?", 12),
        ("what was for dinner last night?", 18),
        ("what did we talk about yesterday?", 36),
    ],
)
def test_d12_hours_and_days_fall_exponentially(question: str, hours: float) -> None:
    decay = choose_decay(asked(question), 365)
    assert decay.curve == "exponential"
    assert decay.half_life_days == pytest.approx(hours / 24)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did we decide last week?", 7),
        ("what has changed since last week?", 7),
        ("what did I do this week?", 5.5),
        ("what did I do this month?", 14.5),
        ("a few days ago you named a book", 5),
        ("what did we do three weeks ago?", 24.5),
        ("what did I spend in the last 30 days?", 30),
        ("what have I been reading lately?", 30),
        ("how did the last three months go?", 90),
        ("since January, how much did I run?", 73.5),
        ("list the races I ran this year", 73.5),
    ],
)
def test_d12_weeks_and_months_fall_as_a_bell(question: str, days: float) -> None:
    decay = choose_decay(asked(question), 365)
    assert decay.curve == "gaussian"
    assert decay.half_life_days == pytest.approx(days)


def test_d12_many_years_until_now_fall_along_a_line() -> None:
    assert choose_decay(asked("how did my running go since 2010?"), 6_000) == Decay("linear", 5552.5)


@pytest.mark.parametrize(
    "question",
    [
        "what happened in 2019?",
        "what did I do on 3 May 2021?",
        "where did I go last summer?",
        "what happened last year?",
        "between May and July 2024, what did I read?",
        "before 2020, where did I live?",
        "what did I think until last month?",
        "what will happen in 2030?",
        "what did I like as a child?",
        "where did I live years ago?",
        "over the years, what have I said about running?",
        "have I ever been to Rome?",
        "what do I keep coming back to?",
        "what do I usually have for breakfast?",
        "when did Elin marry Marco?",
        "how long ago did I move house?",
    ],
)
def test_d12_a_time_long_gone_a_habit_or_a_date_does_not_decay(question: str) -> None:
    assert choose_decay(asked(question), 365) == NO_DECAY


@pytest.mark.parametrize(
    "question",
    [
        "what is my sister's name?",
        "how do I like my coffee?",
        "what's my style when I mentor junior colleagues?",
        "what was my finishing time in the half marathon?",
        "what's the latest on Kestrel?",
        "where do I live now?",
        "what is my current phone number?",
        "when did I last bake something with Bertil?",
        "who is my dentist these days?",
        "which carry on bag did I buy?",
        "where was I born?",
    ],
)
def test_d12_without_a_time_the_candidates_give_the_measure(question: str) -> None:
    assert choose_decay(asked(question), 365) == OVER_CANDIDATES


@pytest.mark.parametrize(
    ("span", "days"), [(0.0, 14), (float("nan"), 14), (float("inf"), 14), (-3.0, 14), (7, 1), (240, 10), (5_000, 45)]
)
def test_d12_what_is_new_is_a_share_of_how_far_memory_reaches(span: float, days: float) -> None:
    assert choose_decay(asked("what's new with Kestrel?"), span) == Decay("exponential", days)


def test_after_a_long_silence_the_newest_still_keeps_half() -> None:
    quiet = decay_for(asked("where were we?"), 365, newest_days=20.0)
    assert quiet == QueryDecay(
        Decay("exponential", 20.0), "'where were we' asks for the last hours, and nothing is newer than 20.0 d"
    )
    assert choose_decay(asked("where were we?"), 365, newest_days=0.1) == Decay("exponential", 0.25)
    assert choose_decay(asked("what happened in 2019?"), 365, newest_days=20.0) == NO_DECAY


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("what did we decide last week?", "'last week' begins 7.0 d ago; half is left there"),
        ("what happened this morning?", "'this morning' begins 12.0 h ago; half is left there"),
        ("what happened in 2019?", "'2019' is long over: newer memories are not nearer to it"),
        ("what will happen in 2030?", "'2030' is yet to come"),
        (
            "what did I think until last month?",
            "'until last month' has no beginning: newer memories are not nearer to it",
        ),
        ("any news?", "'any news' is taken as half gone after 15.2 d"),
        ("when did Elin marry Marco?", "it asks for the time itself, which may be any"),
        ("how do I like my coffee?", "it names no time: newness over the candidates' own span"),
    ],
)
def test_every_choice_says_why(question: str, reason: str) -> None:
    assert decay_for(asked(question), 365).reason == reason


times = st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1), timezones=st.just(UTC))
windows = st.none() | st.builds(lambda one, other: Window(min(one, other), max(one, other), "then"), times, times)
words = st.sampled_from(
    ["just now", "lately", "latest", "ever", "usually", "when did", "2019", "now", "we", "Ünïcode", "?"]
)
texts = st.text(max_size=60) | st.lists(words, max_size=6).map(" ".join)


@pytest.mark.slow
@given(texts, times, windows, st.floats(), st.floats())
@settings(deadline=None, max_examples=200)
def test_d12_no_question_fails_and_every_curve_falls_from_one(
    text: str, now: datetime, window: Window | None, span: float, newest: float
) -> None:
    cues = find_cues(text)
    query = Query(text, now, (), window=window, cues=cues, intent=main_intent(cues))
    found = decay_for(query, span, newest)
    assert found.reason
    assert found.decay.half_life_days is None or 0 < found.decay.half_life_days <= 1e6
    left = [found.decay.left(days) for days in (0, 0.01, 1, 7, 30, 365, 5_000)]
    assert left[0] == 1
    assert left == sorted(left, reverse=True)
    assert all(0 <= share <= 1 for share in left)


@given(times, st.floats(0, 61))
@settings(deadline=None, max_examples=60)
def test_d12_a_near_time_keeps_at_least_half_over_the_whole_of_it(now: datetime, days: float) -> None:
    start = max(now - timedelta(days=days), datetime(1, 1, 2, tzinfo=UTC))
    decay = choose_decay(Query("then", now, (), window=Window(start, now, "then")), 365)
    assert decay.left((now - start) / timedelta(days=1)) >= 0.5 - 1e-9
    assert decay.curve in ("exponential", "gaussian")
