"""Plots are drawn whole: every recipe has its colour, no name covers another, files stay small."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fivefold.retrieval.recipe import RACED
from fivefold_bench.plots import COLOURS, GREYS, box, draw, largest, looks_of, page, raised, save, wrapped
from fivefold_bench.results import PLOTS, collect_results
from fivefold_bench.run import Run
from fivefold_bench.scores import Scores

pytestmark = pytest.mark.slow


def test_every_plot_is_a_picture_with_all_colours(run: Run, scored: Mapping[str, Scores], tmp_path: Path) -> None:
    draw(tmp_path, run, collect_results(run, scored, ks=(5, 10, 20), seed=None))
    assert {path.name for path in tmp_path.iterdir()} == set(PLOTS)
    wanted = {look["color"] for look in looks_of(list(scored)).values()}
    for name in PLOTS:
        with Image.open(tmp_path / name) as picture:
            assert picture.width >= 800
            assert picture.height >= 400
            pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
        seen = {f"#{r:02X}{g:02X}{b:02X}" for r, g, b in np.unique(pixels, axis=0).tolist()}
        assert wanted <= seen, name
        assert (tmp_path / name).stat().st_size < 200_000


def test_baselines_are_grey_and_no_two_recipes_look_alike() -> None:
    names = ["dense", "bm25", *RACED, *(f"mine{number}" for number in range(8))]
    looks = looks_of(names)
    assert [looks[name]["color"] for name in ("dense", "bm25")] == list(GREYS)
    assert looks["default"]["color"] == COLOURS[0]
    assert len({(look["color"], look["marker"], look["linestyle"]) for look in looks.values()}) == len(names)


@given(
    st.dictionaries(
        st.text("abcdef", min_size=1, max_size=12), st.tuples(st.floats(0, 800), st.floats(0, 400)), max_size=10
    )
)
def test_no_name_covers_another_or_a_point(dots: dict[str, tuple[float, float]]) -> None:
    up = raised(dots)
    boxes = {name: box(name, x, y + up[name]) for name, (x, y) in dots.items()}
    for name, (left, bottom, right, top) in boxes.items():
        for other, (x, y) in dots.items():
            assert not (left < x < right and bottom < y < top)
            if other != name:
                a, b, c, d = boxes[other]
                assert not (left < c and a < right and bottom < d and b < top)


def test_a_name_with_room_stays_beside_its_point() -> None:
    assert raised({"a": (0, 0), "b": (0, 100), "c": (300, 0)}) == {"a": 0, "b": 0, "c": 0}


def test_long_category_names_are_wrapped_and_many_categories_cut() -> None:
    assert wrapped("single-session-preference") == "single-session-\npreference"
    assert all(len(line) <= 16 for line in wrapped("a category " * 20).split("\n"))
    assert len(wrapped("x" * 100).split("\n")) == 3
    many = {f"kind {number}": number % 15 for number in range(30)}
    assert len(largest(many)) == 12
    assert largest({"b": 1, "a": 2}) == ["b", "a"]


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")])
def test_a_plot_is_of_the_kind_its_name_says_and_the_same_each_time(name: str, start: bytes, tmp_path: Path) -> None:
    drawn = []
    for _ in range(2):
        save(page("Empty")[0], tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0].startswith(start)
    assert drawn[0] == drawn[1]
