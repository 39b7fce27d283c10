"""The paired test against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold_bench.scores import Comparison, compare, compare_all, holm, p_value, reference_recipe


@pytest.mark.parametrize(
    ("gaps", "p"),
    [
        ([1, 1, 1], 2 / 8),
        ([1, -1], 1.0),
        ([0, 0, 0], 1.0),
        ([], 1.0),
        ([1, 1, 1, 1, 1, 0, 0], 2 / 32),
        ([2, 1, -1], 6 / 8),
        ([-0.5] * 10, 2 / 1024),
    ],
)
def test_few_differences_are_flipped_in_every_way(gaps: list[float], p: float) -> None:
    assert p_value(np.array(gaps, dtype=float), seed=1) == pytest.approx(p)


def test_many_differences_are_flipped_at_random_and_come_near_the_exact_share() -> None:
    """Of 16 equal differences 12 have one sign; 2·(1 + 16 + 120 + 560 + 1820) = 5034 of 65536 flips are as far out."""
    gaps = np.array([1.0] * 12 + [-1.0] * 4)
    found = p_value(gaps, seed=7)
    assert found == pytest.approx(5034 / 65536, abs=0.006)
    assert found == p_value(gaps, seed=7)
    assert found != p_value(gaps, seed=8)


def test_the_smallest_p_is_one_in_all_rounds() -> None:
    assert p_value(np.ones(200), seed=0, rounds=1000) == 1 / 1001


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=12))
def test_sides_can_be_swapped_and_equals_added(gaps: list[float]) -> None:
    p = p_value(np.array(gaps), seed=0)
    assert 0 < p <= 1
    assert p == pytest.approx(p_value(-np.array(gaps), seed=0))
    assert p == pytest.approx(p_value(np.array([*gaps, 0.0, 0.0]), seed=0))


def test_holm_raises_each_p_by_how_many_are_left() -> None:
    found = holm(
        [Comparison(name, "d", "recall@5", 0, 0, 0, p, p) for name, p in (("a", 0.01), ("b", 0.04), ("c", 0.03))]
    )
    assert [item.recipe for item in found] == ["a", "b", "c"]
    assert [item.p_holm for item in found] == pytest.approx([0.03, 0.06, 0.06])
    assert [item.p for item in found] == [0.01, 0.04, 0.03]


def test_holm_stays_at_or_below_one() -> None:
    found = holm([Comparison("a", "d", "recall@5", 0, 0, 0, p, p) for p in (0.6, 0.9)])
    assert [item.p_holm for item in found] == [1.0, 1.0]


def scores(*values: float) -> dict[str, dict[str, float]]:
    return {f"q{number}": {"recall@5": value, "recall@10": value} for number, value in enumerate(values)}


def test_a_comparison_counts_better_and_worse() -> None:
    found = compare("new", "old", {"new": scores(1, 1, 0.5, 0), "old": scores(0, 0.5, 0.5, 1)}, "recall@5", seed=0)
    assert (found.better, found.worse) == (2, 1)
    assert found.difference == pytest.approx(0.125)


def test_all_are_compared_with_one_on_both_metrics() -> None:
    found = compare_all({"a": scores(0, 0), "b": scores(1, 1), "default": scores(1, 0)}, "default", seed=0)
    assert [(item.recipe, item.metric) for item in found] == [
        ("a", "recall@5"),
        ("b", "recall@5"),
        ("a", "recall@10"),
        ("b", "recall@10"),
    ]
    assert {item.against for item in found} == {"default"}


def test_the_rival_is_default_or_the_best() -> None:
    assert reference_recipe({"a": {"recall@10": 0.9}, "default": {"recall@10": 0.1}}) == "default"
    assert reference_recipe({"a": {"recall@10": 0.2}, "b": {"recall@10": 0.3}}) == "b"
