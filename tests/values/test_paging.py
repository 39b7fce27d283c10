"""Pages and their cursors."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.values.reports import Page, cursor_of, page_of, read_cursor

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


@given(st.integers(-(2**63) + 1, 2**63 - 1), texts)
def test_a_cursor_brings_its_place_back(number: int, text: str) -> None:
    cursor = cursor_of("sessions", (number, text))
    assert cursor.isascii()
    assert not set(cursor) & set("+/= ")
    assert read_cursor(cursor, "sessions", int, str) == (number, text)


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not one of this list"):
        read_cursor(text, "memories", int, int)


@pytest.mark.parametrize("place", [("a", "b"), (1,), (1, 2, 3), (2**63, 1), (True, 1), (1.5, 1), (None, 1)])
def test_a_place_of_another_shape_is_refused(place: tuple[int | str, ...]) -> None:
    with pytest.raises(InvalidInput):
        read_cursor(cursor_of("memories", place), "memories", int, int)


@pytest.mark.parametrize("text", [r"x\u0000", r"\ud800"])
def test_text_that_no_store_takes_is_refused(text: str) -> None:
    cursor = base64.urlsafe_b64encode(f'["sessions",1,"{text}"]'.encode()).decode().rstrip("=")
    with pytest.raises(InvalidInput):
        read_cursor(cursor, "sessions", int, str)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_share_comes_back_as_it_was(share: float) -> None:
    assert read_cursor(cursor_of("edges", (share,)), "edges", float) == (share,)


@pytest.mark.parametrize("place", [("a",), (1,), (True,), (None,), (float("nan"),), (float("inf"),)])
def test_what_is_no_share_is_refused(place: tuple[float | str, ...]) -> None:
    with pytest.raises(InvalidInput):
        read_cursor(cursor_of("edges", place), "edges", float)


def test_a_page_is_a_sequence_and_json() -> None:
    page = page_of([3, 2, 1], 2, "numbers", lambda number: (number,))
    assert (list(page), len(page), page[0], page[:1], 2 in page) == ([3, 2], 2, 3, (3,), True)
    assert page.to_dict() == {"items": [3, 2], "cursor": cursor_of("numbers", (2,))}
    assert page_of([1], 1, "numbers", lambda number: (number,)) == Page((1,), None)
    assert not page_of([], 5, "numbers", lambda number: (number,))
