"""Figures of speed and their limits."""

from __future__ import annotations

import pytest

from fivefold_bench.measures import times


@pytest.mark.parametrize(
    ("limit", "limit_p99", "bar", "ok"),
    [
        (None, None, "", None),
        (5, None, "≤ 5", True),
        (5, 9, "≤ 5 / ≤ 9", True),
        (None, 9, "p99 ≤ 9", True),
        (None, 7, "p99 ≤ 7", False),
        (3, 9, "≤ 3 / ≤ 9", False),
    ],
)
def test_R11_a_limit_may_be_for_the_tail_alone(
    limit: float | None, limit_p99: float | None, bar: str, ok: bool | None
) -> None:
    found = times("recall", 10, [2.0, 4.0, 8.0], limit, limit_p99)
    assert (found.p50, found.bar, found.ok) == (4.0, bar, ok)
