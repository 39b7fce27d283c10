"""Laws of what Ask and Why draw: nothing of the question is lost, shares make a whole, times follow one another."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold import sample
from fivefold.engine import Engine
from fivefold.retrieval.understand.demands import find_cues
from fivefold.values.query import EntityRef, Meaning, Query
from fivefold.values.times import EPOCH
from fivefold.web.inspector.question import make_cards
from fivefold.web.inspector.rendering import address, stack
from fivefold.web.inspector.why import make_waterfall, split_question

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_marking_loses_nothing_of_a_question(sample_engine: Engine) -> None:
    marked = set()
    for question in sample.questions():
        pieces = split_question(sample_engine.understand(question.query, now=question.now))
        assert "".join(piece.text for piece in pieces) == question.query
        assert all(bool(piece.mark) == bool(piece.readings) for piece in pieces)
        marked |= {piece.mark for piece in pieces}
    assert marked == {"", "entity", "window", "cue"}


@given(st.text(st.sampled_from("when did I like Sarah "), min_size=1), st.data())
def test_readings_may_overlap(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    name = text[start : data.draw(st.integers(start + 1, len(text)))]
    query = Query(text, EPOCH, (), entities=(EntityRef(name, start, (Meaning(1, "S", 1.0),)),), cues=find_cues(text))
    pieces = split_question(query)
    assert "".join(piece.text for piece in pieces) == text
    assert "".join(piece.text for piece in pieces if "S" in piece.readings) == name


@pytest.mark.parametrize("recipe", ["recall", "ditto", "memsense"])
def test_shares_make_a_whole(sample_engine: Engine, recipe: str) -> None:
    answer = sample_engine.recall("Which race did I run back in March?", recipe=recipe, now="2025-12-20T09:00:00Z")
    assert len(answer)
    for card in make_cards(answer):
        assert sum(share.part for share in card.shares) == pytest.approx(1)
        assert all(0 <= share.bar <= 1 for share in card.shares)
        *_, (_, start, wide) = stack(card.stack())
        assert start + wide == pytest.approx(100 * card.whole)
        assert card.hit.candidate.fused == pytest.approx(card.whole * max(hit.candidate.fused for hit in answer))
    assert max(share.bar for card in make_cards(answer) for share in card.shares) == 1
    assert max(card.whole for card in make_cards(answer)) == 1


def test_times_follow_one_another(sample_engine: Engine) -> None:
    answer = sample_engine.recall("Which race did I run back in March?", recipe="recall", k=3)
    bars = list(make_waterfall(answer))
    stages = [bar for bar in bars if not bar.route]
    assert [bar.name for bar in stages] == [timing.stage for timing in answer.timings]
    assert sum(bar.width for bar in stages) == pytest.approx(100)
    for before, after in pairwise(stages):
        assert after.start == pytest.approx(before.start + before.width)
    retrieve = next(bar for bar in stages if bar.name == "retrieve")
    assert all(bar.start == retrieve.start for bar in bars if bar.route)


def test_an_address_keeps_what_is_zero_and_leaves_out_what_is_empty() -> None:
    assert address("/ask", "default", {}) == "/ask"
    assert address("/ask", "a&b", {"q": "x y", "k": 0, "weight": 0.0, "now": "", "session": None}) == (
        "/ask?namespace=a%26b&q=x+y&k=0&weight=0.0"
    )
