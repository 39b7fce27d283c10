"""Times at ten million memories follow from the sizes that were measured, or are not given."""

from __future__ import annotations

import pytest

from fivefold_bench.measures import (
    LABEL,
    PUBLISHED_MEMORIES,
    RECALLS,
    WHOLE_LOW,
    Measure,
    curve,
    extrapolate,
    figure,
    fit_times,
)


def measured(size: int, p50: float, p99: float, what: str = "recall default") -> Measure:
    return Measure(what, size, p50, (p50 + p99) / 2, p99, "ms", "", None)


def test_a_power_of_the_size_is_found_again() -> None:
    (row,) = extrapolate([measured(size, 0.1 * size**0.5, 2.0 * size**0.25) for size in (1_000, 10_000, 100_000)])
    assert (row.what, row.memories, row.unit) == (
        "recall default, extrapolated, not measured",
        PUBLISHED_MEMORIES,
        "ms",
    )
    assert row.p50 == pytest.approx(0.1 * 10**3.5)
    assert row.p99 == pytest.approx(2.0 * 10**1.75)
    assert row.p95 is None
    assert (row.bar, row.ok) == ("", None)
    assert row.fit is not None
    assert row.fit.sizes == (1_000, 10_000, 100_000)
    assert (row.fit.slope_p50, row.fit.slope_p99) == pytest.approx((0.5, 0.25))
    assert (row.fit.last_slope_p50, row.fit.last_slope_p99) == pytest.approx((0.5, 0.25))


def test_a_line_by_least_squares_and_the_slope_of_its_end() -> None:
    # Logarithms 0, 0, 1 over 3, 4, 5: slope 1/2, start -5/3, so 11/6 at 7.
    at, slope, last = fit_times([1_000, 10_000, 100_000], [1.0, 1.0, 10.0])
    assert at == pytest.approx(10 ** (11 / 6))
    assert (slope, last) == pytest.approx((0.5, 1.0))


@pytest.mark.parametrize(
    ("sizes", "used"),
    [
        ((1_000, 10_000, 100_000, 1_000_000), (10_000, 100_000, 1_000_000)),
        ((1_000, 2_000, 1_000_000), (1_000, 2_000, 1_000_000)),
        ((10, 1_000, 50_000, 60_000, 100_000), (1_000, 50_000, 60_000, 100_000)),
        ((1_000, 100_000, 1_000, 10_000), (1_000, 10_000, 100_000)),
    ],
)
def test_a_fit_is_over_the_larger_sizes(sizes: tuple[int, ...], used: tuple[int, ...]) -> None:
    (row,) = extrapolate([measured(size, 5.0, 9.0) for size in sizes])
    assert row.fit is not None
    assert row.fit.sizes == used


@pytest.mark.parametrize(
    "sizes",
    [(), (1_000, 100_000), (1_000, 1_000, 100_000), (1_001, 10_000, 100_000), (100_000, 1_000_000, PUBLISHED_MEMORIES)],
)
def test_too_few_sizes_or_enough_memories_give_nothing(sizes: tuple[int, ...]) -> None:
    assert extrapolate([measured(size, 5.0, 9.0) for size in sizes]) == []


def test_no_time_is_less_than_that_of_the_largest_size() -> None:
    at, slope, _ = fit_times([1_000, 10_000, 100_000], [30.0, 20.0, 10.0])
    assert slope < 0
    assert at == 10.0
    assert fit_times([1_000, 10_000, 100_000], [0.0, 0.0, 0.0])[0] == pytest.approx(0.001)


def test_recalls_alone_are_extrapolated_each_by_itself() -> None:
    sizes = (1_000, 10_000, 100_000)
    found = [measured(size, 5.0, 9.0, what) for size in sizes for what in (*RECALLS, "recall dense")]
    found += [figure("write, no embedding", size, 900.0, "/s") for size in sizes]
    rows = extrapolate(found)
    assert [row.what for row in rows] == [f"{what}, {LABEL}" for what in RECALLS]
    assert [item.memories for item in curve([*found, *rows], WHOLE_LOW)] == list(sizes)
