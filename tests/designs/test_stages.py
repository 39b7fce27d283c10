"""Session first of Memsense (M5, M8), by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import log

import pytest

from fivefold.designs.five_stage import DecayByType
from fivefold.designs.memsense import jaccard
from fivefold.retrieval.protocols import Pool, best_first
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages import STAGES
from fivefold.values.query import CURVES, Curve, Decay, Window
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import Candidate, Evidence, Support
from tests.golden.figures import LEFT
from tests.support.stage_pool import NOW, Namespace, aged, of, scores, search, stage

# Decay, episodic fading, access, date match and quality, by numbers worked out by hand.


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


# Marginal relevance, duplicates and neighbours of Memsense (M6, M7), by hand.

# Cosines: 1–2 0.6, 1–3 0, 2–3 0.8, and 4 is 1 once more.
VECTORS = {1: [1.0, 0.0], 2: [0.6, 0.8], 3: [0.0, 1.0], 4: [1.0, 0.0]}


def test_m6_marginal_relevance_step_by_step() -> None:
    """First 0.78 · 1; then 2: 0.78 · 0.9 − 0.22 · 0.6 = 0.57 against 3: 0.78 · 0.5; then 3: 0.39 − 0.22 · 0.8."""
    candidates = [of(1, 1.0), of(2, 0.9), of(3, 0.5)]
    chosen = stage("mmr", candidates, search(Namespace(VECTORS)))
    assert scores(chosen) == pytest.approx({1: 0.78, 2: 0.57, 3: 0.214})
    assert [candidate.memory.row for candidate in best_first(chosen.candidates)] == [1, 2, 3]
    assert chosen.candidates[1].steps[0].why == "0.78 · 0.9000 − 0.22 · 0.6000 redundancy"


def test_m6_what_is_different_overtakes_what_is_alike() -> None:
    """2: 0.5 · 0.9 − 0.5 · 0.6 = 0.15 now loses to 3: 0.5 · 0.5 = 0.25, and then pays for both: 0.45 − 0.4."""
    chosen = stage("mmr", [of(1, 1.0), of(2, 0.9), of(3, 0.5)], search(Namespace(VECTORS)), lam=0.5)
    assert [candidate.memory.row for candidate in best_first(chosen.candidates)] == [1, 3, 2]
    assert scores(chosen) == pytest.approx({1: 0.5, 3: 0.25, 2: 0.05})


def test_m6_tags_count_0_35_of_their_jaccard() -> None:
    """Two of three tags shared: 0.35 · 2/3; the cosine of 1 and 3 is 0, so the tags decide."""
    candidates = [of(1, 1.0, tags=("a", "b")), of(3, 0.5, tags=("a", "b", "c"))]
    chosen = stage("mmr", candidates, search(Namespace(VECTORS)))
    assert scores(chosen)[3] == pytest.approx(0.78 * 0.5 - 0.22 * 0.35 * 2 / 3)


def test_m6_the_greater_of_cosine_and_tags_counts() -> None:
    candidates = [of(1, 1.0, tags=("a",)), of(2, 0.5, tags=("a",))]
    assert scores(stage("mmr", candidates, search(Namespace(VECTORS))))[2] == pytest.approx(0.78 * 0.5 - 0.22 * 0.6)
    both = stage("mmr", candidates, search(Namespace(VECTORS)), tags=0.7)
    assert scores(both)[2] == pytest.approx(0.78 * 0.5 - 0.22 * 0.7)


def test_m6_jaccard() -> None:
    assert jaccard(("a", "b"), ("b", "c")) == pytest.approx(1 / 3)
    assert jaccard((), ()) == 0.0
    assert jaccard(("a",), ()) == 0.0


@pytest.mark.parametrize(("cosine", "kept"), [(0.9399, True), (0.9401, False)])
def test_m6_a_duplicate_is_dropped_at_0_94(cosine: float, kept: bool) -> None:
    vectors = {1: [1.0, 0.0], 2: [cosine, (1 - cosine**2) ** 0.5]}
    chosen = stage("mmr", [of(1, 1.0), of(2, 0.9), of(9, 0.8)], search(Namespace(vectors), k=2))
    assert (2 in scores(chosen)) is kept
    if not kept:
        assert [(item.id, item.stage) for item in chosen.dropped] == [("m00002", "mmr")]
        assert chosen.dropped[0].reason == "says what m00001 says, redundancy 0.9401"


def test_m6_a_duplicate_names_the_one_it_repeats() -> None:
    chosen = stage("mmr", [of(3, 1.0), of(1, 0.9), of(4, 0.8)], search(Namespace(VECTORS), k=2))
    assert chosen.dropped[0].reason.startswith("says what m00001 says")


def test_M6_duplicates_fill_the_list_behind_all_others_when_nothing_else_is_left() -> None:
    chosen = stage("mmr", [of(1, 1.0), of(4, 0.9), of(3, 0.1)], search(Namespace(VECTORS), k=3))
    assert [candidate.memory.row for candidate in best_first(chosen.candidates)] == [1, 3, 4]
    assert chosen.candidates[-1].steps[-1].why == "1.0000 redundancy; nothing else is left"
    assert not chosen.dropped


def test_m6_without_vectors_nothing_is_alike() -> None:
    chosen = stage("mmr", [of(8, 1.0), of(9, 0.5)])
    assert scores(chosen) == pytest.approx({8: 0.78, 9: 0.39})


@pytest.mark.parametrize(("k", "size"), [(1, 32), (5, 32), (10, 40), (20, 80)])
def test_m2_selection_looks_at_max_4k_32(k: int, size: int) -> None:
    candidates = [of(row, 1.0 - row / 200) for row in range(100)]
    chosen = stage("mmr", candidates, search(k=k))
    assert len(chosen.candidates) == size
    assert chosen.dropped[0].reason == f"beyond the {size} best that selection compares"


TURNS = Namespace(turns={"s": [1, 2, 3, 4]})


def turn(row: int, score: float) -> Candidate:
    return of(row, score, kind="turn", session_id="s")


def beside(pool: Pool) -> dict[int, list[int]]:
    return {candidate.memory.row: [memory.row for memory in candidate.neighbours] for candidate in pool.candidates}


def test_m7_a_turn_brings_along_the_turns_before_and_after() -> None:
    brought = stage("neighbours", [turn(2, 0.9), turn(1, 0.8), turn(4, 0.7), of(9, 0.6)], search(TURNS))
    assert beside(brought) == {2: [1, 3], 1: [2], 4: [3], 9: []}
    assert scores(brought) == {2: 0.9, 1: 0.8, 4: 0.7, 9: 0.6}


def test_m7_only_what_is_answered_with_brings_its_neighbours() -> None:
    brought = stage("neighbours", [turn(2, 0.9), turn(4, 0.7)], search(TURNS, k=1))
    assert beside(brought) == {2: [1, 3], 4: []}


def session(row: int, name: str, score: float) -> Candidate:
    return of(row, score, kind="session", session_id=name)


def found_turn(row: int, name: str, score: float) -> Candidate:
    found = Evidence("vec_full", 3, 0.5, 1.0, score, "")
    return replace(of(row, score, kind="turn", session_id=name), evidence=(found,))


def test_m5_a_session_gains_0_6_of_its_best_turn_and_at_most_0_12() -> None:
    pool = stage(
        "session_first",
        [
            session(1, "s", 0.1),
            found_turn(2, "s", 0.05),
            found_turn(3, "s", 0.15),
            session(4, "t", 0.1),
            found_turn(5, "t", 0.3),
        ],
    )
    assert scores(pool) == pytest.approx({1: 0.1 + 0.09, 4: 0.1 + 0.12})


def test_m5_support_is_of_the_fused_score_and_not_of_later_boosts() -> None:
    boosted = found_turn(2, "s", 0.1).with_step("memory score", 0.9, "+ 0.8")
    raised = session(1, "s", 0.1).with_step("memory score", 0.15, "+ 0.05")
    assert scores(stage("session_first", [raised, boosted])) == pytest.approx({1: 0.15 + 0.06})


def test_m5_where_sessions_are_found_only_they_are_returned() -> None:
    pool = stage(
        "session_first", [found_turn(2, "s", 0.9), session(1, "s", 0.1), of(3, 0.8), found_turn(4, "other", 0.7)]
    )
    assert set(scores(pool)) == {1}
    assert {item.id for item in pool.dropped} == {"m00002", "m00003", "m00004"}
    assert {item.reason for item in pool.dropped} == {"session memories answer; turns only support them"}


def test_m5_without_a_session_memory_the_ranking_stays() -> None:
    candidates = [found_turn(2, "s", 0.9), of(3, 0.8)]
    pool = stage("session_first", candidates)
    assert pool.candidates == candidates
    assert pool.dropped == ()


def test_M5_a_note_stays_next_to_sessions_where_the_recipe_says_so() -> None:
    pool = stage("session_first", [session(1, "s", 0.1), found_turn(2, "s", 0.05), of(3, 0.8, kind="note")], notes=True)
    assert scores(pool) == pytest.approx({1: 0.1 + 0.03, 3: 0.8})


def test_m8_a_session_hit_carries_its_support() -> None:
    pool = stage("session_first", [session(1, "s", 0.1), found_turn(2, "s", 0.05), found_turn(3, "s", 0.1)])
    hit = Hit(1, pool.candidates[0])
    assert hit.support == Support(0.1, 0.6 * 0.1, 2, {"vec_full": 3})
    assert hit.to_dict()["support"]["best_turn_routes"] == {"vec_full": 3}


def test_m8_a_session_without_turns_found_has_none() -> None:
    pool = stage("session_first", [session(1, "s", 0.1)])
    assert pool.candidates[0].support == Support(0.1, 0.0, 0, {})
    assert pool.candidates[0].score == 0.1


def test_m8_final_score_is_what_selection_started_from() -> None:
    candidate = of(1, 0.1).with_step("memory score", 0.15, "+").with_step("mmr", 0.117, "0.78 ·")
    hit = Hit(1, candidate)
    assert (hit.rrf_score, hit.final_score, hit.score) == (0.1, 0.15, 0.117)
    assert Hit(1, of(1, 0.1)).final_score == 0.1
