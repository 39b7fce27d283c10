"""Session first of Memsense (M5, M8), by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fivefold.values.recall import Hit
from fivefold.values.recall_trace import Candidate, Evidence, Support
from tests.support.stage_pool import of, scores, stage


def session(row: int, name: str, score: float) -> Candidate:
    return of(row, score, kind="session", session_id=name)


def turn(row: int, name: str, score: float) -> Candidate:
    found = Evidence("vec_full", 3, 0.5, 1.0, score, "")
    return replace(of(row, score, kind="turn", session_id=name), evidence=(found,))


def test_m5_a_session_gains_0_6_of_its_best_turn_and_at_most_0_12() -> None:
    pool = stage(
        "session_first",
        [session(1, "s", 0.1), turn(2, "s", 0.05), turn(3, "s", 0.15), session(4, "t", 0.1), turn(5, "t", 0.3)],
    )
    assert scores(pool) == pytest.approx({1: 0.1 + 0.09, 4: 0.1 + 0.12})


def test_m5_support_is_of_the_fused_score_and_not_of_later_boosts() -> None:
    boosted = turn(2, "s", 0.1).with_step("memory score", 0.9, "+ 0.8")
    raised = session(1, "s", 0.1).with_step("memory score", 0.15, "+ 0.05")
    assert scores(stage("session_first", [raised, boosted])) == pytest.approx({1: 0.15 + 0.06})


def test_m5_where_sessions_are_found_only_they_are_returned() -> None:
    pool = stage("session_first", [turn(2, "s", 0.9), session(1, "s", 0.1), of(3, 0.8), turn(4, "other", 0.7)])
    assert set(scores(pool)) == {1}
    assert {item.id for item in pool.dropped} == {"m00002", "m00003", "m00004"}
    assert {item.reason for item in pool.dropped} == {"session memories answer; turns only support them"}


def test_m5_without_a_session_memory_the_ranking_stays() -> None:
    candidates = [turn(2, "s", 0.9), of(3, 0.8)]
    pool = stage("session_first", candidates)
    assert pool.candidates == candidates
    assert pool.dropped == ()


def test_M5_a_note_stays_next_to_sessions_where_the_recipe_says_so() -> None:
    pool = stage("session_first", [session(1, "s", 0.1), turn(2, "s", 0.05), of(3, 0.8, kind="note")], notes=True)
    assert scores(pool) == pytest.approx({1: 0.1 + 0.03, 3: 0.8})


def test_m8_a_session_hit_carries_its_support() -> None:
    pool = stage("session_first", [session(1, "s", 0.1), turn(2, "s", 0.05), turn(3, "s", 0.1)])
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
