"""The plot of recall times: what was measured, what was not, and the published time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

from fivefold.errors import InvalidInput
from fivefold_bench.measures import RECALLS, Measure, extrapolate
from fivefold_bench.plots import COLOURS, draw_recall_times, recall_times, require_plot

pytestmark = pytest.mark.slow

MEASURED = [
    Measure(what, size, ms + size**0.3, None, 3 * ms + size**0.4, "ms", "", None)
    for ms, what in enumerate(RECALLS, 5)
    for size in (1_000, 10_000, 100_000)
]


def points_of(line: Line2D) -> list[list[float]]:
    """Size and milliseconds of each point."""
    return np.asarray(line.get_xydata()).tolist()  # type: ignore[no-any-return]


def test_every_recall_is_drawn_the_extrapolated_part_dashed() -> None:
    beyond = extrapolate(MEASURED)
    for axes, quantile in zip(recall_times([*MEASURED, *beyond], "SQLite").axes, ("p50", "p99"), strict=True):
        whole = {line.get_label(): line for line in axes.lines if line.get_linestyle() == "-"}
        dashed = {line.get_color(): line for line in axes.lines if line.get_linestyle() == "--"}
        for place, what in enumerate(RECALLS):
            points = points_of(whole[what])
            assert [size for size, _ in points] == [1_000, 10_000, 100_000]
            last, end = points_of(dashed[COLOURS[place]])
            assert last == points[-1]
            assert end == [10_000_000, getattr(beyond[place], quantile)]


def test_the_published_time_is_a_line_over_the_tail() -> None:
    figure = recall_times(MEASURED, "PostgreSQL")
    left, right = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == [f"PostgreSQL: {q} of a recall" for q in ("p50", "p99")]
    (line,) = (line for line in right.lines if "published" in str(line.get_label()))
    assert [ms for _, ms in points_of(line)] == [50, 50]
    assert not any("published" in str(line.get_label()) for line in left.lines)
    assert not any(line.get_linestyle() == "--" for axes in figure.axes for line in axes.lines)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*RECALLS, line.get_label()]


def test_a_file_is_drawn(tmp_path: Path) -> None:
    require_plot(tmp_path / "a.svg")
    draw_recall_times(tmp_path / "a.svg", [*MEASURED, *extrapolate(MEASURED)], "SQLite")
    drawn = (tmp_path / "a.svg").read_text("utf-8")
    assert "<!-- dashed: extrapolated, not measured -->" in drawn
    assert len(drawn) < 200_000


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.gif", "plot takes a file that ends in .svg or .png, not "),
        ("plot", "plot takes a file that ends in .svg or .png, not "),
        ("nowhere/a.svg", "plot takes a file in a folder that exists, not "),
    ],
)
def test_what_cannot_be_drawn_is_said_first(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=said):
        require_plot(tmp_path / name)
