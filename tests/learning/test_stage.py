"""The stage: what it does to scores, what it says, and when it keeps still."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.learning.model_store import NEVER, LearnedReranker
from fivefold.retrieval.stages.base import Pool, best_first
from fivefold.retrieval.stages.learned import LearnedConstants, learned
from fivefold.settings import Settings
from fivefold.values.recall_trace import Candidate
from tests.learning.test_reranker import liking
from tests.support.stage_pool import Namespace, of, search
from tests.support.synthetic_users import Seeing

ON = LearnedReranker(liking("event", trust=0.0), "it wins", "learned-1.abc")


def seeing(known: LearnedReranker | None) -> Seeing:
    plain = search(Namespace())
    return Seeing(plain.query, plain.reader, Settings(), plain.space, None, learned=known)


def run(candidates: list[Candidate], known: LearnedReranker | None = ON, **constants: float) -> list[Candidate]:
    pool = learned(Pool(candidates), seeing(known), LearnedConstants(**constants))  # type: ignore[arg-type]
    assert {item.memory.id for item in pool.candidates} == {item.memory.id for item in candidates}
    assert pool.dropped == ()
    return best_first(pool.candidates)


def test_what_use_has_taught_moves_the_order() -> None:
    """0.2 + 0.8 · (0.5 · model + 0.5 · order): the event gains, the best keeps what its score is worth."""
    ranked = run([of(1, 1.0), of(2, 0.6), of(3, 0.2, type="event")], blend=0.5)
    assert [(item.memory.row, round(item.score, 4)) for item in ranked] == [(1, 0.6), (3, 0.6), (2, 0.4)]
    assert ranked[1].steps[-1].why == "0.2000 + 0.8000 · (0.5 · 1.0000 by learned-1.abc + 0.5 · 0.0000)"


def test_alone_the_model_decides_and_with_no_weight_nothing_moves() -> None:
    three = [of(1, 1.0), of(2, 0.6), of(3, 0.2, type="event")]
    assert run(three, blend=1.0)[0].memory.row == 3
    still = run(three, blend=0.0)
    assert [item.memory.row for item in still] == [1, 2, 3]
    assert [item.score for item in still] == pytest.approx([1.0, 0.6, 0.2])


def test_only_the_best_are_looked_at_and_stay_the_best() -> None:
    ranked = run([*(of(row, 1 - row / 10) for row in range(1, 5)), of(5, 0.4, type="event")], top=3, blend=1.0)
    assert [item.memory.row for item in ranked[3:]] == [4, 5]
    assert [len(item.steps) for item in ranked] == [1, 1, 1, 0, 0]


def test_of_equals_the_liked_comes_first() -> None:
    assert run([of(1, 0.5), of(2, 0.5, type="event")])[0].memory.row == 2


@pytest.mark.parametrize("known", [None, LearnedReranker(None, NEVER)])
def test_without_a_model_nothing_happens(known: LearnedReranker | None) -> None:
    two = [of(1, 1.0), of(2, 0.5, type="event")]
    assert run(two, known) == two


def test_an_empty_or_single_list_is_left_alone() -> None:
    assert run([]) == []
    assert run([of(1, 1.0)])[0].steps == ()


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.sampled_from(["fact", "event"])), min_size=2, max_size=12),
    st.integers(1, 12),
    st.floats(0, 1),
)
def test_the_law_of_the_trace(made: list[tuple[float, str]], top: int, blend: float) -> None:
    """Steps start where the score stood, scores are finite, and those looked at stay within what they spanned."""
    before = [of(row, score, type=kind) for row, (score, kind) in enumerate(made)]
    span = sorted((item.score for item in before), reverse=True)[:top]
    for item in run(before, top=top, blend=blend):
        for step in item.steps:
            assert step.before == item.fused
            assert math.isfinite(step.after)
            assert span[-1] - 1e-9 <= step.after <= max(span[0], span[-1] + 1) + 1e-9
        assert item.score == (item.steps[-1].after if item.steps else item.fused)
