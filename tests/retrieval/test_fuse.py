"""Fusion by hand-computed numbers, and its law on arbitrary lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.designs.ditto import composite
from fivefold.designs.recall import score_rrf
from fivefold.retrieval.recipe import METHODS, FusionSpec, Method
from fivefold.retrieval.retrieve import FUSIONS, convex, fuse, rrf
from fivefold.values.memory import Memory
from fivefold.values.recall_trace import Plan, RouteHit, RoutePlan, RouteRun

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def memory(row: int) -> Memory:
    return Memory(
        id=f"m{row:05}",
        namespace="n",
        content=f"memory {row}",
        kind="note",
        type="fact",
        speaker=None,
        session_id=None,
        turn_index=None,
        predicate=None,
        user_text=None,
        assistant_text=None,
        next_user_text=None,
        tags=(),
        task_tag=None,
        event_at=NOW,
        created_at=NOW,
        valid_from=None,
        valid_to=None,
        superseded_by=None,
        importance=0.5,
        memory_score=0.5,
        confidence=1.0,
        seen_count=1,
        access_count=0,
        last_accessed_at=None,
        metadata={},
        row=row,
    )


def fetch(rows: Sequence[int], others: Sequence[int] = ()) -> tuple[dict[int, Memory], dict[int, str]]:
    return {row: memory(row) for row in rows}, {row: memory(row).id for row in others}


def planned(k: int, **weights: float) -> Plan:
    routes = tuple(RoutePlan(name, True, 100, weight, "", search=name) for name, weight in weights.items())
    return Plan("test", k, routes, "", ())


def run(route: str, hits: Sequence[tuple[int, float]]) -> RouteRun:
    return RouteRun(route, "hits", "", len(hits), 0.0, hits=tuple(RouteHit(row, score) for row, score in hits))


HITS = [RouteHit(1, 9.0), RouteHit(2, 6.0), RouteHit(3, 3.0)]


def test_rrf_of_memsense_m3() -> None:
    """1/(15 + rank), ranks from 1."""
    assert list(rrf(HITS, "lexical", 1.0, 15, 100).contributions) == [1 / 16, 1 / 17, 1 / 18]


def test_weighted_rrf_of_engram_e2() -> None:
    """w/(60 + rank + 1) with ranks from 0 is w/(60 + rank) with ranks from 1."""
    by_rank_from_0 = [1.5 / (60 + rank + 1) for rank in range(3)]
    assert list(rrf(HITS, "lexical", 1.5, 60, 100).contributions) == by_rank_from_0


def test_rrf_k60_rank_1_and_50_of_recall() -> None:
    hits = [RouteHit(row, 1.0) for row in range(50)]
    parts = rrf(hits, "lexical", 1.0, 60, 100)
    assert parts.contributions[0] == pytest.approx(0.0164, abs=5e-5)
    assert parts.contributions[49] == pytest.approx(0.0091, abs=5e-5)


def test_score_weighted_rrf_of_recall_r10() -> None:
    """w·√score/(k + rank): √0.95 = 0.975 and √0.25 = 0.5."""
    parts = score_rrf([RouteHit(1, 0.95), RouteHit(2, 0.25)], "dense", 1.0, 60, 100)
    assert parts.contributions[0] == pytest.approx(0.9747 / 61, abs=1e-6)
    assert parts.contributions[1] == pytest.approx(0.5 / 62)


def test_score_weighted_rrf_counts_a_negative_cosine_as_nothing() -> None:
    assert score_rrf([RouteHit(1, -0.2)], "dense", 1.0, 60, 100).contributions[0] == 0.0


def test_score_weighted_rrf_takes_bm25_relative_to_the_best() -> None:
    parts = score_rrf(HITS, "lexical", 1.0, 60, 100)
    assert parts.contributions[0] == pytest.approx(1 / 61)
    assert parts.contributions[2] == pytest.approx(math.sqrt(1 / 3) / 63)


def test_convex_spreads_a_list_over_0_to_1() -> None:
    assert list(convex(HITS, "dense", 0.5, 0, 3).contributions) == [0.5, 0.25, 0.0]


def test_convex_counts_from_zero_where_the_list_was_not_cut_off() -> None:
    """With fewer hits than the route might bring, what is not on the list scored nothing."""
    assert list(convex(HITS, "lexical", 0.9, 0, 100).contributions) == pytest.approx([0.9, 0.6, 0.3])
    negative = convex([RouteHit(1, 0.5), RouteHit(2, -0.5)], "dense", 1.0, 0, 100)
    assert list(negative.contributions) == [1.0, 0.0]


def test_a_hit_that_counts_less_contributes_less() -> None:
    far = RouteHit(1, 1.0, "a path", 0.8)
    assert rrf([far], "graph", 1.0, 60, 100).contributions[0] == pytest.approx(0.8 / 61)
    assert score_rrf([far], "graph", 1.0, 60, 100).contributions[0] == pytest.approx(0.8 / 61)
    assert convex([far], "graph", 0.5, 0, 100).contributions[0] == pytest.approx(0.4)


def test_convex_counts_a_list_of_equals_in_full() -> None:
    assert list(convex([RouteHit(1, 2.0), RouteHit(2, 2.0)], "dense", 0.5, 0, 2).contributions) == [0.5, 0.5]


def test_a_memory_found_by_two_routes_adds_both_shares() -> None:
    runs = [run("dense", [(1, 0.9), (2, 0.5)]), run("lexical", [(2, 8.0), (3, 4.0)])]
    fused = fuse(runs, planned(10, dense=1.0, lexical=2.0), FusionSpec("rrf", 60), fetch).candidates
    scores = {candidate.memory.row: candidate.fused for candidate in fused}
    assert scores == pytest.approx({1: 1 / 61, 2: 1 / 62 + 2 / 61, 3: 2 / 62})
    assert [candidate.memory.row for candidate in fused] == [2, 3, 1]


def test_a_keyword_only_hit_can_win() -> None:
    runs = [run("dense", [(1, 0.5), (2, 0.49)]), run("lexical", [(9, 12.0)])]
    best = fuse(runs, planned(10, dense=0.4, lexical=0.6), FusionSpec("convex"), fetch).candidates[0]
    assert best.memory.row == 9


def test_a_route_that_supports_makes_no_candidates_and_its_shares_are_summed_by_row() -> None:
    plan = planned(10, dense=1.0, lexical=2.0)
    plan = replace(plan, routes=(plan.routes[0], replace(plan.routes[1], supports=True)))
    fused = fuse([run("dense", [(1, 0.9)]), run("lexical", [(7, 8.0), (1, 4.0)])], plan, FusionSpec("rrf", 60), fetch)
    assert [(candidate.memory.row, candidate.fused) for candidate in fused.candidates] == [(1, 1 / 61)]
    assert fused.supporting == {7: 2 / 61, 1: 2 / 62}


def test_what_the_store_has_fused_is_taken_as_it_is() -> None:
    given_ = [RouteHit(1, 0.9, contribution=0.5), RouteHit(2, 0.4, contribution=0.25)]
    assert list(rrf(given_, "dense", 1.0, 60, 100).contributions) == [0.5, 0.25]
    assert list(composite(given_, "dense", 1.0, 60, 100).contributions) == [0.5, 0.25]


def test_a_memory_forgotten_in_between_is_left_out() -> None:
    runs = [run("dense", [(1, 0.9), (2, 0.5)])]
    fused = fuse(runs, planned(10, dense=1.0), FusionSpec("rrf"), lambda rows, others: ({2: memory(2)}, {})).candidates
    assert [candidate.memory.row for candidate in fused] == [2]


ranked = st.lists(
    st.tuples(st.integers(1, 40), st.floats(-1, 60, allow_nan=False)), max_size=25, unique_by=lambda hit: hit[0]
).map(lambda hits: sorted(hits, key=lambda hit: -hit[1]))


@given(dense=ranked, lexical=ranked, method=st.sampled_from(METHODS), weight=st.floats(0, 3), k=st.floats(1, 100))
def test_contributions_add_up_to_the_fused_score(
    dense: list[tuple[int, float]], lexical: list[tuple[int, float]], method: Method, weight: float, k: float
) -> None:
    plan = planned(5, dense=weight, lexical=1.0)
    fused = fuse([run("dense", dense), run("lexical", lexical)], plan, FusionSpec(method, k, 50), fetch).candidates
    assert {candidate.memory.row for candidate in fused} == {row for row, _ in dense + lexical}
    for candidate in fused:
        assert candidate.score == candidate.fused == math.fsum(item.contribution for item in candidate.evidence)
        assert len({item.route for item in candidate.evidence}) == len(candidate.evidence)
    order = [(-candidate.fused, candidate.memory.row) for candidate in fused]
    assert order == sorted(order)


@given(hits=ranked, method=st.sampled_from(METHODS))
def test_a_higher_place_never_contributes_less(hits: list[tuple[int, float]], method: Method) -> None:
    parts = FUSIONS[method].shares([RouteHit(row, score) for row, score in hits], "lexical", 1.0, 60, 100)
    contributions = list(parts.contributions)
    assert contributions == sorted(contributions, reverse=True)
