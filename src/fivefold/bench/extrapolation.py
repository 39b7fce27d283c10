"""What a recall would take at ten million memories, by a fit to the sizes that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fivefold.bench.measures import PUBLISHED_MEMORIES, READ_AGAIN, WHOLE, WHOLE_LOW, Fit, Measure

RECALLS = ("recall default", WHOLE, WHOLE_LOW, "recall recall", READ_AGAIN)
"""The measures that are extrapolated and drawn, on every store."""

LABEL = "extrapolated, not measured"

LEAST_SIZES, LEAST_SPAN = 3, 100
"""How many sizes a fit needs, and how many times as large the largest must be as the smallest: two decades."""

LEAST_MS = 0.001
"""A time of zero has no logarithm."""


def extrapolate(found: Sequence[Measure]) -> list[Measure]:
    """A figure at ten million memories for each kind of recall that was measured at enough sizes below it."""
    rows = (_row(what, curve(found, what)) for what in RECALLS)
    return [row for row in rows if row is not None]


def curve(found: Sequence[Measure], what: str) -> list[Measure]:
    """The measured figures of one kind of recall, one for each size, smallest first."""
    sizes = {item.memories: item for item in found if item.what == what and item.fit is None}
    return [sizes[size] for size in sorted(sizes)]


def _row(what: str, measured: Sequence[Measure]) -> Measure | None:
    items = _for_fit(measured)
    if not items or items[-1].memories >= PUBLISHED_MEMORIES:
        return None
    sizes = [item.memories for item in items]
    tails = [item.p99 if item.p99 is not None else item.p50 for item in items]
    p50, slope_p50, last_p50 = fit_times(sizes, [item.p50 for item in items])
    p99, slope_p99, last_p99 = fit_times(sizes, tails)
    fit = Fit(tuple(sizes), slope_p50, slope_p99, last_p50, last_p99)
    return Measure(f"{what}, {LABEL}", PUBLISHED_MEMORIES, p50, None, p99, "ms", "", None, fit)


def _for_fit(measured: Sequence[Measure]) -> Sequence[Measure]:
    """As few of the largest sizes as are enough for a fit: below them fixed costs hide how the time grows."""
    for count in range(LEAST_SIZES, len(measured) + 1):
        if measured[-1].memories >= LEAST_SPAN * measured[-count].memories:
            return measured[-count:]
    return ()


def fit_times(sizes: Sequence[int], ms: Sequence[float]) -> tuple[float, float, float]:
    """The time at ten million, the slope of the fit, and the slope between the last two sizes.

    The fit is a line by least squares through the logarithms. The time is no less than what the largest size took.
    """
    x, y = np.log10(sizes), np.log10(np.maximum(ms, LEAST_MS))
    slope, start = (float(value) for value in np.polyfit(x, y, 1))
    last = float((y[-1] - y[-2]) / (x[-1] - x[-2]))
    at = float(10 ** (start + slope * np.log10(PUBLISHED_MEMORIES)))
    return max(at, ms[-1]), slope, last
