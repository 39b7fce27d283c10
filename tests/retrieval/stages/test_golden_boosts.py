"""Decay, episodic fading, access, date match and quality, by numbers worked out by hand."""

from __future__ import annotations

from datetime import timedelta
from math import log

import pytest

from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages import STAGES, Pool
from fivefold.retrieval.stages.boosts import DecayByType
from fivefold.values.decay import CURVES, Curve, Decay
from fivefold.values.query import Window
from tests.golden.figures import LEFT
from tests.support.stage_pool import NOW, aged, of, scores, search, stage


@pytest.mark.parametrize(("curve", "new", "half_life", "two_half_lives"), LEFT)
def test_f4_d12_each_curve_at_its_half_lives(curve: Curve, new: float, half_life: float, two_half_lives: float) -> None:
    decay = Decay(curve, 90.0)
    assert [decay.left(days) for days in (0, 90, 180)] == pytest.approx([new, half_life, two_half_lives])


def test_d12_every_curve_is_known_and_none_grows() -> None:
    assert CURVES == ("none", "linear", "exponential", "gaussian", "step")
    for curve in CURVES:
        left = [Decay(curve, 10.0).left(days) for days in range(0, 60, 3)]
        assert left == sorted(left, reverse=True)
        assert all(0 <= share <= 1 for share in left)


def test_d12_between_half_lives_linear_gaussian_and_step() -> None:
    assert Decay("linear", 90.0).left(45) == pytest.approx(0.75)
    assert Decay("gaussian", 90.0).left(45) == pytest.approx(2**-0.25)
    assert Decay("step", 90.0).left(89.9) == 1.0


def test_d12_the_future_is_new_and_the_floor_never_goes() -> None:
    assert Decay("exponential", 90.0).left(-30) == 1.0
    assert Decay("exponential", 90.0, floor=0.3).left(10_000) == 0.3
    assert Decay("step", 90.0, floor=0.2).left(90) == 0.2
    assert Decay("linear", None).left(10_000) == 1.0


@pytest.mark.parametrize(
    ("changes", "left"),
    [({}, {0: 1.0, 10: 2 ** (-1 / 9), 90: 0.8, 3_650: 0.8}), ({"floor": 0.0}, {0: 1.0, 90: 0.5, 180: 0.25})],
    ids=["as shipped", "unbounded"],
)
def test_F4_five_stage_boosts_what_is_recent_by_a_bounded_factor(
    changes: dict[str, float], left: dict[int, float]
) -> None:
    recipe = load_recipe("five-stage", {f"boosts.decay.all.{name}": value for name, value in changes.items()})
    spec = next(spec for spec in recipe.boosts if spec.name == "decay")
    candidates = [of(days, 0.8, event_at=aged(days)) for days in left]
    found = scores(STAGES["decay"].run(Pool(candidates), search(), spec.constants))
    assert found == pytest.approx({days: 0.8 * share for days, share in left.items()})


def test_F4_age_alone_never_undoes_what_both_searches_found_first() -> None:
    """The best of one list, brand new, stays behind the best of both lists, however old that is."""
    spec = next(spec for spec in load_recipe("five-stage").boosts if spec.name == "decay")
    candidates = [of(1, 2 / 61, event_at=aged(10_000)), of(2, 1 / 61, event_at=NOW)]
    found = scores(STAGES["decay"].run(Pool(candidates), search(), spec.constants))
    assert found[1] > found[2]


def test_f4_a_type_may_have_a_curve_of_its_own() -> None:
    by = DecayByType(Decay("exponential", 90.0), {"procedure": Decay("none"), "event": Decay("linear", 30.0)})
    candidates = [of(row, 1.0, type=kind, event_at=aged(45)) for row, kind in enumerate(("fact", "procedure", "event"))]
    aged_ = stage("decay", candidates, all=by.all, types=by.types)
    assert scores(aged_) == pytest.approx({0: 0.5**0.5, 1: 1.0, 2: 0.25})
    assert [candidate.steps[0].stage for candidate in aged_.candidates] == ["decay"] * 3
    assert "no decay" in aged_.candidates[1].steps[0].why


def test_e3_an_episode_halves_at_its_half_life_and_stops_at_the_floor() -> None:
    candidates = [of(row, 1.0, type="event", event_at=aged(days)) for row, days in enumerate((0, 15, 30, 300))]
    faded = scores(stage("episodic", candidates, half_life_days=30.0, floor=0.5))
    assert faded == pytest.approx({0: 1.0, 1: 0.5**0.5, 2: 0.5, 3: 0.5})


def test_e3_only_episodes_fade() -> None:
    faded = stage("episodic", [of(1, 1.0, type="fact", event_at=aged(300))])
    assert faded.candidates[0].steps == ()


def test_e3_access_counts_by_its_logarithm() -> None:
    candidates = [of(row, 2.0, access_count=uses) for row, uses in enumerate((0, 1, 9))]
    raised = scores(stage("access", candidates))
    assert raised == pytest.approx({0: 2.0, 1: 2 * (1 + 0.1 * log(2)), 2: 2 * (1 + 0.1 * log(10))})


def test_e3_a_memory_of_the_time_asked_about_counts_double() -> None:
    window = Window(aged(2), aged(1), "the day before yesterday")
    inside, at_start, at_end = (
        of(1, 0.3, event_at=aged(1.5)),
        of(2, 0.3, event_at=aged(2)),
        of(3, 0.3, event_at=aged(1)),
    )
    matched = scores(stage("date_match", [inside, at_start, at_end], search(window=window)))
    assert matched == {1: 0.6, 2: 0.6, 3: 0.3}


def test_E3_the_boost_is_graded_by_the_nearness_of_the_dates() -> None:
    """1 + (2 − 1) · 0.5^(days / 7) outside the window; the last one is too far to matter."""
    window = Window(aged(2), aged(1), "the day before yesterday")
    candidates = [of(row, 1.0, event_at=aged(2 + days)) for row, days in enumerate((0, 7, 14, 3.5, 70))]
    matched = stage("date_match", candidates, search(window=window), near_days=7.0)
    assert scores(matched) == pytest.approx({0: 2.0, 1: 1.5, 2: 1.25, 3: 1 + 0.5**0.5, 4: 1.0})
    assert matched.candidates[1].steps[0].why == "× 1.5, near 'the day before yesterday'"
    assert matched.candidates[4].steps == ()


def test_e3_without_a_window_no_date_matches() -> None:
    assert scores(stage("date_match", [of(1, 0.3)])) == {1: 0.3}


def test_m4_quality_adds_a_tenth() -> None:
    added = scores(stage("memory_score", [of(1, 0.0625, memory_score=0.5), of(2, 0.0625, memory_score=1.0)]))
    assert added == pytest.approx({1: 0.1125, 2: 0.1625})


def test_scale_stretches_over_0_to_1() -> None:
    assert scores(stage("scale", [of(1, 3.0), of(2, 2.0), of(3, 1.0)])) == {1: 1.0, 2: 0.5, 3: 0.0}
    assert scores(stage("scale", [of(1, 0.2), of(2, 0.2)])) == {1: 1.0, 2: 1.0}
    assert scores(stage("scale", [])) == {}


def test_an_hour_is_part_of_a_day() -> None:
    half_day = of(1, 1.0, event_at=NOW - timedelta(hours=12))
    assert scores(stage("decay", [half_day], all=Decay("exponential", 0.5))) == pytest.approx({1: 0.5})
