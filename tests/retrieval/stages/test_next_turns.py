"""Turns next to the best candidates become candidates."""

from __future__ import annotations

from tests.support.stage_pool import Namespace, of, scores, search, stage

TALK = Namespace(turns={"s": [1, 2, 3, 4, 5, 6]})


def test_the_neighbours_of_the_best_come_with_no_score() -> None:
    pool = stage("next_turns", [of(2, 0.9), of(5, 0.1)], search(TALK), reach=1)
    assert scores(pool) == {2: 0.9, 5: 0.1, 1: 0.0, 3: 0.0}


def test_a_turn_that_is_a_candidate_stays_as_it_is() -> None:
    pool = stage("next_turns", [of(2, 0.9), of(3, 0.4)], search(TALK), reach=2)
    assert scores(pool) == {2: 0.9, 3: 0.4, 1: 0.0, 4: 0.0}


def test_without_reach_or_turns_nothing_is_added() -> None:
    assert scores(stage("next_turns", [of(2, 0.9)], search(TALK), reach=0)) == {2: 0.9}
    assert scores(stage("next_turns", [of(70, 0.9)], search(TALK))) == {70: 0.9}
