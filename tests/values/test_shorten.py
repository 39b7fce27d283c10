"""Shortened text: one line, never longer than asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fivefold.values.validate import shorten


@given(st.text(), st.integers(1, 50))
def test_a_line_is_no_longer_than_asked_for(text: str, length: int) -> None:
    assert len(shorten(text, length)) <= length


def test_a_cut_ends_with_an_ellipsis() -> None:
    assert shorten("one two\nthree", 100) == "one two three"
    assert shorten("one two three", 9) == "one two…"
