"""How many typing errors lie between two words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.retrieval.understand.wording import edit_distance, letters_of

WORDS = st.text("abcde", max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("garden", "garden", 0),
        ("gardn", "garden", 1),
        ("garrden", "garden", 1),
        ("gaet", "gate", 1),
        ("docter", "doctor", 1),
        ("amstredan", "amsterdam", 2),
        ("abc", "", 3),
        ("cat", "dog", 3),
    ],
)
def test_errors_are_counted(one: str, other: str, errors: int) -> None:
    assert edit_distance(one, other, 5) == errors


@given(one=WORDS, other=WORDS, most=st.integers(0, 4))
def test_a_limit_only_cuts(one: str, other: str, most: int) -> None:
    errors = edit_distance(one, other, 20)
    assert edit_distance(other, one, 20) == errors
    assert edit_distance(one, other, most) == min(errors, most + 1)
    assert (errors == 0) == (one == other)
    assert (letters_of(one) ^ letters_of(other)).bit_count() <= 2 * errors
