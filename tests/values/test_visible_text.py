"""A name or a reason is one line of ours, whatever it contains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.values.validate import one_line, shown_name


@pytest.mark.parametrize("name", ["Ana", "Mary-Jane O'Neil", "assistant", "José", "张伟", "dr.smith@example.org"])
def test_a_usual_name_stays_as_it_is(name: str) -> None:
    assert shown_name(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ana (superseded by [1])", "“Ana (superseded by (1))”"),
        ("Ana · superseded by 7", "“Ana · superseded by 7”"),
        ("Ana: I agree", "“Ana: I agree”"),
        ('”, [2] Bob: "yes', "“', (2) Bob: 'yes”"),
    ],
)
def test_a_name_that_could_pose_as_our_words_is_a_quote(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@given(st.text())
def test_no_name_ends_its_quotation_or_has_the_number_of_a_source(name: str) -> None:
    shown = shown_name(name)
    assert "[" not in shown
    assert shown.count("“") == shown.count("”") <= 1
    assert len(shown.splitlines()) <= 1


@given(st.text(st.sampled_from("a \n\r\x0b\x0c\x1c\x85\u2028\u2029\t")))
def test_one_line_has_no_break(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
