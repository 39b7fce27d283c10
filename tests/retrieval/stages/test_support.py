"""Support: the arithmetic of neighbour, session and best turn, and who may enter."""

from __future__ import annotations

import pytest

from fivefold.retrieval.stages import STAGES, Pool
from fivefold.retrieval.stages.support import SupportConstants
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import Namespace, of, scores, search

TALK = Namespace(turns={"s": [1, 2, 3, 4], "t": [11, 12]}, sessions={"s": 5, "t": 13, "u": 21})


def turn(row: int, score: float, session: str = "s") -> Candidate:
    return of(row, score, kind="turn", session_id=session)


def supported(
    candidates: list[Candidate],
    supporting: dict[int, float] | None = None,
    unit: str = "memory",
    k: int = 10,
    **by: float,
) -> Pool:
    pool = Pool(candidates, supporting=supporting or {})
    return STAGES["support"].run(pool, search(TALK, unit=unit, k=k), SupportConstants(**by))  # type: ignore[arg-type]


def test_neighbour_session_and_best_turn_are_added() -> None:
    """Turn 2: 0.8 + 0.3 · 0.4 + 1 · 0.25 + 0.2 · 0.8; turn 3: 0.4 + 0.3 · 0.8 + 0.25 + 0.2 · 0.8."""
    pool = supported([turn(2, 0.8), turn(3, 0.4)], {5: 0.25})
    assert scores(pool)[2] == pytest.approx(0.8 + 0.12 + 0.25 + 0.16)
    assert scores(pool)[3] == pytest.approx(0.4 + 0.24 + 0.25 + 0.16)


def test_neighbours_outside_the_pool_enter_by_what_stands_beside_them() -> None:
    pool = supported([turn(2, 0.8)], {5: 0.25})
    assert scores(pool) == pytest.approx({2: 0.8 + 0.25 + 0.16, 1: 0.24 + 0.25 + 0.16, 3: 0.24 + 0.25 + 0.16})
    entered = next(candidate for candidate in pool.candidates if candidate.memory.row == 1)
    assert (entered.fused, entered.evidence, entered.steps[0].before) == (0.0, (), 0.0)


def test_the_better_of_two_neighbours_counts() -> None:
    pool = supported([turn(1, 0.2), turn(3, 0.6)])
    assert scores(pool)[2] == pytest.approx(0.3 * 0.6 + 0.2 * 0.6)


def test_a_note_stands_alone() -> None:
    pool = supported([of(9, 0.5), turn(2, 0.5)], alone=0.7)
    assert scores(pool)[9] == pytest.approx(0.85)
    note = next(candidate for candidate in pool.candidates if candidate.memory.row == 9)
    assert note.steps[0].why == "+ 0.7 · 0.5000, it stands alone"


def test_one_session_does_not_speak_for_another() -> None:
    pool = supported([turn(2, 0.8), turn(12, 0.8, "t")], {5: 0.25}, neighbour=0.0)
    assert scores(pool) == pytest.approx({2: 0.8 + 0.25 + 0.16, 12: 0.8 + 0.16})


def test_session_memories_step_back() -> None:
    pool = supported([turn(2, 0.8)], {5: 0.25, 13: 0.9, 21: 0.7})
    assert all(candidate.memory.kind != "session" for candidate in pool.candidates)


def test_only_the_best_speak_for_what_stands_beside_them() -> None:
    pool = supported([turn(2, 0.8), turn(12, 0.4, "t")], reach=1)
    assert set(scores(pool)) == {1, 2, 3, 12}


def test_no_share_for_neighbours_brings_none() -> None:
    assert set(scores(supported([turn(2, 0.8)], neighbour=0.0))) == {2}


def test_by_session_those_that_answer_as_a_whole_are_kept() -> None:
    """Session t speaks by none of its turns, u has none that were found; s has a turn and needs no second voice."""
    pool = supported([turn(2, 0.8)], {5: 0.25, 13: 0.5, 21: 0.7}, unit="session", session=2.0)
    kept = {candidate.memory.row: candidate for candidate in pool.candidates if candidate.memory.kind == "session"}
    assert {row: candidate.score for row, candidate in kept.items()} == pytest.approx({13: 1.0, 21: 1.4})
    assert all(candidate.fused == 0.0 and candidate.steps[0].before == 0.0 for candidate in kept.values())


def test_by_session_no_more_silent_ones_are_kept_than_are_asked_for() -> None:
    pool = supported([turn(2, 0.8)], {5: 0.25, 13: 0.5, 21: 0.7}, unit="session", k=1)
    assert [c.memory.row for c in pool.candidates if c.memory.kind == "session"] == [21]


def test_nothing_found_stays_nothing() -> None:
    assert supported([]).candidates == []
