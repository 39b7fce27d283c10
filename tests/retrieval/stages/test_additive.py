"""The ranker: its weights in a recipe, its scores, and an explanation whose numbers add up."""

from __future__ import annotations

import re
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages.additive import MAX_NAMED, MIN_NAMED, SOFTNESS, TERMS, AdditiveConstants
from fivefold.values.fields import fields_of
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import Namespace, aged, demand, found, said, search, stage
from tests.support.term_columns import NAMES, at, chat, replaced, talk

SUM = re.compile(r"e\^\(\((-?[\d.]+) − (-?[\d.]+)\) / 3\)")
PART = re.compile(r"([a-z][a-z ]*) ([+-][\d.]+)")


def explained(candidate: Candidate) -> tuple[float, float, dict[str, float]]:
    """The sum, the best sum, and the named parts of a candidate's explanation."""
    why = str(candidate.steps[-1].why)
    total, best = SUM.match(why).groups()  # type: ignore[union-attr]
    parts = why.partition("mean candidate: ")[2]
    return float(total), float(best), {name: float(value) for name, value in PART.findall(parts)}


def test_every_term_has_a_weight_that_says_what_it_means_and_is_0_if_left_out() -> None:
    specs = fields_of(AdditiveConstants)
    assert list(specs) == NAMES
    for term in TERMS:
        assert specs[term.name].about == f"{term.about} ({term.heading})"
    assert AdditiveConstants() == AdditiveConstants(**dict.fromkeys(NAMES, 0.0))


def test_the_default_recipe_sets_a_weight_above_0_for_every_term() -> None:
    (ranker,) = (stage for stage in load_recipe("default").rerank if stage.name == "additive")
    assert all(getattr(ranker.constants, name) > 0 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight", [-0.01, -1, 100.5])
def test_a_weight_is_never_negative(name: str, weight: float) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be a number from 0 to 100, not {weight:g}"):
        load_recipe("default", {f"rerank.additive.{name}": weight})


def test_a_term_that_does_not_exist_has_no_weight() -> None:
    with pytest.raises(InvalidInput, match="late_peak"):
        load_recipe("default", {"rerank.additive.late_peak": 1.0})


def test_the_best_sum_has_the_score_one_and_others_fall_off() -> None:
    """BM25 of 3 and 6: sums of 1.5 · (0.5 + 0.5) and 1.5 · (1 + 1), and their mean 2.25."""
    pool = stage("additive", [found(1, lexical=3.0), found(2, lexical=6.0)], words=1.5)
    scores = {candidate.memory.row: candidate.score for candidate in pool.candidates}
    assert scores[2] == 1.0
    assert scores[1] == pytest.approx(exp(-1.5 / SOFTNESS), rel=1e-5)
    step = pool.candidates[0].steps[-1]
    assert (step.stage, step.before) == ("additive", 0.5)
    assert explained(pool.candidates[0]) == (1.5, 3.0, {"words": -0.75})


def test_a_weight_of_0_and_a_term_that_nothing_speaks_for_change_nothing() -> None:
    candidates = [found(1, lexical=3.0), found(2, lexical=6.0)]
    assert {one.score for one in stage("additive", candidates).candidates} == {1.0}
    assert {one.score for one in stage("additive", candidates, person=9.0, turns=9.0).candidates} == {1.0}


def test_an_empty_pool_stays_empty() -> None:
    assert stage("additive", []).candidates == []


def test_the_parts_are_named_for_twice_as_many_as_are_asked_for() -> None:
    pool = stage("additive", [found(row, lexical=row) for row in range(1, 7)], search(k=2), words=1.0)
    named = {candidate.memory.row: explained(candidate)[2] for candidate in pool.candidates}
    assert [row for row, parts in named.items() if parts] == [3, 4, 5, 6]


numbers = st.floats(0, 1, allow_nan=False, width=32)


@st.composite
def lists(draw: st.DrawFn) -> list[Candidate]:
    """Talk or a chat, of any scores and times."""
    said_by, candidates = draw(st.sampled_from([(talk, "Ana"), (chat, "assistant")])), []
    for row in range(1, draw(st.integers(1, 8)) + 1):
        by = {"late": draw(numbers), "dense": draw(numbers), "lexical": 20 * draw(numbers), "turns": draw(numbers)}
        text = draw(st.sampled_from(["Why?", "I love 3 of them", "Carla left last Friday", "x" * 800]))
        one = said_by[0](row, text, said_by[1], draw(numbers), row, **by)
        candidates.append(at(one, aged(draw(st.integers(0, 400)))))
    return candidates


@given(
    candidates=lists(),
    weights=st.dictionaries(st.sampled_from(NAMES), st.floats(0, 5), max_size=len(NAMES)),
    kind=st.sampled_from(["current", "past", "first", "list", "suggestion", "negation"]),
)
def test_the_explanation_adds_up(candidates: list[Candidate], weights: dict[str, float], kind: str) -> None:
    """The two sums give the score. What is named is what sets a candidate apart from the mean, the largest first."""
    world = Namespace({row: (1.0, row / 5) for row in range(1, 9)}, links=[replaced(1, 2), replaced(2, 3, 0.6)])
    context = search(world, text="when was it?", demands=[demand(kind)])  # type: ignore[arg-type]
    pool = stage("additive", candidates, context, **weights)
    found_sums = [explained(candidate) for candidate in pool.candidates]
    mean = sum(total for total, _, _ in found_sums) / len(found_sums)
    for candidate, (total, best, parts) in zip(pool.candidates, found_sums, strict=True):
        assert SOFTNESS * log(candidate.score) == pytest.approx(total - best, abs=0.02)
        sizes = [abs(part) for part in parts.values()]
        assert len(sizes) <= MAX_NAMED
        assert sizes == sorted(sizes, reverse=True)
        assert {name.replace(" ", "_") for name in parts} <= set(weights)
        if len(sizes) < MAX_NAMED:
            missing = len(NAMES) * MIN_NAMED
            assert sum(parts.values()) == pytest.approx(total - mean, abs=missing + 0.05)
    assert max(candidate.score for candidate in pool.candidates) == 1.0


def test_the_parts_of_one_candidate_are_its_terms_times_their_weights_less_the_mean() -> None:
    """Two notes, of which the first is a taste that was replaced, for a question of advice about the present."""
    old, new = (at(said(found(row), text), aged(days)) for row, text, days in ((1, "I love figs", 9), (2, "figs", 1)))
    context = search(Namespace(links=[replaced(1, 2)]), demands=[demand("current"), demand("suggestion")])
    pool = stage("additive", [old, new], context, holds=2.0, applies=0.5, newest=1.0)
    assert explained(pool.candidates[0]) == (-1.5, 0.2, {"holds": -1.0, "applies": 0.25, "newest": -0.1})
    assert explained(pool.candidates[1]) == (0.2, 0.2, {"holds": 1.0, "applies": -0.25, "newest": 0.1})
