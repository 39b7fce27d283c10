"""Marginal relevance, duplicates and neighbours of Memsense (M6, M7), by hand."""

from __future__ import annotations

import pytest

from fivefold.retrieval.stages import best_first
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.diversity import jaccard
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import Namespace, of, scores, search, stage

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
    assert chosen.dropped[0].reason == f"beyond the {size} best that selection looks at"


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
