"""The six features of a query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.models.weights import features


def test_by_hand() -> None:
    # Five words, one of them firm and temporal, no name: 5/24, yes, no, 1/5, 0, 0.
    assert features("What did I do yesterday?").tolist() == pytest.approx([5 / 24, 1, 0, 1 / 5, 0, 0])


def test_frequency_by_hand() -> None:
    # Six words; "i always forget" opens with a firm pair of two words.
    assert features("what is it I always forget").tolist() == pytest.approx([6 / 24, 0, 1, 0, 2 / 6, 0])


@pytest.mark.parametrize(
    "query",
    [
        "how many times a week do I feed the starter",
        "the Late Show episode I liked",
        "the time signature of that song",
        "my daily vitamins",
        "The Last of Us",
        "what always happens in a Greek tragedy",
        "frequent flyer number",
        "What did I do in May 2019?",
        "the very first thing I told you",
    ],
)
def test_a_topic_that_looks_like_a_keyword_asks_for_nothing(query: str) -> None:
    assert features(query)[1:3].tolist() == [0, 0]


@pytest.mark.parametrize(
    "query", ["where did we leave off", "carry on from there", "what's new", "the latest on Kestrel"]
)
def test_words_for_what_is_new(query: str) -> None:
    assert features(query)[1] == 1


@pytest.mark.parametrize("query", ["my usual", "the thing I can't stop going on about", "what topic keeps coming up"])
def test_words_for_what_returns(query: str) -> None:
    assert features(query)[2] == 1


def test_names_codes_and_numbers_make_a_query_specific() -> None:
    assert features("tell me about it")[5] == 0
    assert features("did Anna send JIRA-9921 to Ben on the 4th")[5] == 1


@given(st.text(max_size=400))
def test_any_text_gives_six_numbers_from_0_to_1(text: str) -> None:
    found = features(text)
    assert found.shape == (6,)
    assert found.dtype == np.float32
    assert ((found >= 0) & (found <= 1)).all()


def test_a_pasted_page_is_read_only_at_its_start() -> None:
    page = "word " * 400
    assert features(page + "yesterday " * 10_000).tolist() == features(page + "today " * 10_000).tolist()
