"""Chances: their terms number by number, their laws, and what the reader has a say in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import SHORT_STATEMENT, Pool
from fivefold.retrieval.stages.chance import HIT_TERMS, RECALL_TERMS, chance_table, probability, recall_terms
from fivefold.values.query import Window
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import NOW, aged, demand, found, of, said, search, stage
from tests.support.toy_engine import toy

WEEK = Window(aged(7), NOW, "last week")

ODDS = st.floats(-40, 40)
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=14)


def term(
    name: str,
    candidates: Sequence[Candidate],
    context: SearchContext | None = None,
    answers: Mapping[int, float] | None = None,
) -> list[float]:
    table = chance_table(candidates, context or search(), answers)
    return [round(float(value), 4) for value in table[:, HIT_TERMS.index(name)]]


def chances(pool: Pool) -> list[float]:
    return [candidate.chance for candidate in pool.candidates if candidate.chance is not None]


@given(ODDS, ODDS)
def test_a_chance_lies_between_0_and_1_and_grows_with_the_odds(one: float, other: float) -> None:
    assert 0 < probability(one) < 1
    assert probability(one) + probability(-one) == pytest.approx(1)
    if one < other:
        assert probability(one) <= probability(other)


def test_the_default_recipe_weighs_every_term() -> None:
    (by,) = (stage.constants for stage in load_recipe("default").select if stage.name == "chance")
    assert tuple(by.weights) == HIT_TERMS
    assert tuple(by.recall) == RECALL_TERMS


@given(
    scores=SCORES,
    cosines=st.lists(st.floats(-1, 1), min_size=14, max_size=14),
    weights=st.fixed_dictionaries({name: st.floats(-5, 5) for name in ("one", "margin", "dense", "lead")}),
    whole=st.floats(-5, 5),
    least=st.floats(0, 1),
)
def test_chances_never_rise_down_the_list_nor_above_the_recall_s(
    scores: list[float], cosines: list[float], weights: dict[str, float], whole: float, least: float
) -> None:
    """Every candidate has a chance; scores and order stay, and found is a matter of the recall's chance."""
    candidates = [found(row, score, dense=cosines[row]) for row, score in enumerate(scores)]
    pool = stage("chance", candidates, weights=weights, recall={"one": whole, "best": 0.5}, found=least)
    assert [c.score for c in pool.candidates] == sorted(scores, reverse=True)
    assert {c.memory.id for c in pool.candidates} == {c.memory.id for c in candidates}
    assert pool.chance is not None
    assert pool.found == (pool.chance >= least)
    assert len(chances(pool)) == len(candidates)
    for higher, lower in zip([pool.chance, *chances(pool)], chances(pool), strict=False):
        assert lower <= higher + 1e-9


def test_a_chance_by_hand() -> None:
    """Log-odds 0.5 + 2 · 0.6 for the first, 0.5 + 2 · 0.1 for the second; the recall: 1.1 + half of the best."""
    weights, recall = {"one": 0.5, "dense": 2.0}, {"one": 1.1, "best": 0.5}
    pool = stage("chance", [found(1, 0.9, dense=0.6), found(2, 0.8, dense=0.1)], weights=weights, recall=recall)
    assert chances(pool) == pytest.approx([1 / (1 + exp(-1.7)), 1 / (1 + exp(-0.7))])
    assert pool.chance == pytest.approx(1 / (1 + exp(-1.95)))
    assert pool.found is True
    assert pool.notes[-1].stage == "chance"
    assert "88% that one of them answers" in pool.notes[-1].why


def test_chances_that_would_rise_are_averaged() -> None:
    """Log-odds of 1, −1, 0.5 and −3: the second and third share a mean; then also the first if that is below it."""
    for first, runs in ((1.0, [1, 2, 1]), (-1.0, [3, 1])):
        odds = [first, -1.0, 0.5, -3.0]
        candidates = [found(row, 0.9 - row / 10, dense=value) for row, value in enumerate(odds)]
        each = [probability(value) for value in odds]
        expected, at = list[float](), 0
        for size in runs:
            expected += [sum(each[at : at + size]) / size] * size
            at += size
        pool = stage("chance", candidates, weights={"dense": 1.0}, recall={"one": 9.0})
        assert chances(pool) == pytest.approx(expected)


def test_no_hit_is_likelier_than_the_recall() -> None:
    pool = stage("chance", [found(1, dense=0.6), found(2, dense=-5.0)], weights={"dense": 1.0}, recall={"one": -3.0})
    assert chances(pool) == [pool.chance, probability(-5.0)]
    assert pool.chance == probability(-3.0)


def test_the_chance_of_one_candidate_is_the_recall_s() -> None:
    pool = stage("chance", [found(1, dense=0.1)], weights={"dense": 1.0}, recall={"one": 3.0})
    assert chances(pool) == [pool.chance] == [probability(3.0)]


def test_nothing_has_no_chance() -> None:
    pool = stage("chance", [])
    assert (pool.chance, pool.found, pool.candidates) == (0.0, False, [])


def test_a_term_without_a_weight_changes_nothing() -> None:
    pool = stage("chance", [found(1, dense=0.9)], weights={}, recall={})
    assert chances(pool) == [0.5]
    assert pool.chance == 0.5


def test_cosines_are_taken_as_they_are_and_what_lacks_one_has_the_lowest() -> None:
    candidates = [found(1, dense=0.7), found(2, dense=0.3), of(3)]
    assert term("dense", candidates) == [0.7, 0.3, 0.3]
    assert term("dense", [of(1)]) == [0.0]
    assert term("one", candidates) == [1.0, 1.0, 1.0]


def test_what_the_reader_says_is_taken_as_it_is_and_what_it_did_not_read_is_known() -> None:
    candidates, answers = [of(1), of(2), of(3)], {2: -1.5, 1: 0.5}
    assert term("answers", candidates, answers=answers) == [0.5, -1.5, 0.0]
    assert term("unread", candidates, answers=answers) == [0.0, 0.0, 1.0]
    assert term("messages", candidates, answers=answers) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("speaker", "length"), [("Ana", 10), ("user", SHORT_STATEMENT + 1)])
def test_of_talk_and_long_messages_the_reader_is_not_asked(speaker: str, length: int) -> None:
    candidates = [said(of(row), "x" * length, speaker) for row in (1, 2)]
    answers = {1: 2.0}
    assert term("messages", candidates, answers=answers) == [1.0, 1.0]
    assert term("answers", candidates, answers=answers) == term("unread", candidates, answers=answers) == [0.0, 0.0]
    assert recall_terms(chance_table(candidates, search(), answers), np.array([0.5, 0.1])).tolist() == [
        1.0,
        0.5,
        0.0,
        1.0,
    ]


def test_a_recall_is_judged_by_its_likeliest_hit_and_the_second_that_the_reader_takes_for_an_answer() -> None:
    """One that was not read does not count as the second; one that was read alone stands for it as well."""
    for answers, second in (({1: 0.5, 2: 2.5}, 0.5), ({2: 2.5}, 2.5), ({}, 0.0)):
        table = chance_table([of(1), of(2), of(3)], search(), answers)
        terms = recall_terms(table, np.array([-1.0, 3.0, 0.5])).tolist()
        assert dict(zip(RECALL_TERMS, terms, strict=True)) == {"one": 1, "best": 3, "next": second, "messages": 0}


def test_the_distance_to_the_best_and_its_lead() -> None:
    """Sums of the ranker: three times the logarithm of a score."""
    candidates = [of(1, 1.0), of(2, 0.5)]
    apart = round(3 * log(2), 4)
    assert term("margin", candidates) == [0.0, -apart]
    assert term("lead", candidates) == [apart, 0.0]
    assert term("lead", [of(1)]) == [0.0]
    assert term("lead", [of(1, 0.5), of(2, 0.5)]) == [0.0, 0.0]


@pytest.mark.parametrize(("decides", "expected"), [(True, [1.0, 1.0, -1.0]), (False, [0.0, 0.0, 0.0])])
def test_a_time_that_alone_decides_is_met_or_not(decides: bool, expected: list[float]) -> None:
    candidates = [found(1, window=1.0), found(2, turns=0.5), found(3, dense=0.9)]
    assert term("decided", candidates, search(window=WEEK, demands=[demand("window", decides)])) == expected
    assert term("decided", candidates) == [0.0, 0.0, 0.0]


def test_a_recall_with_another_embedder_still_has_chances() -> None:
    with toy(":memory:") as engine:
        engine.remember("The spare key hangs in the shed.")
        answer = engine.recall("where is the spare key?")
        assert answer[0].candidate.chance is not None
        assert not answer.degraded


def test_what_answers_is_likelier_than_what_only_sounds_alike() -> None:
    """Both share words with the question, but only one says what is asked."""
    with fivefold.open(":memory:") as engine:
        engine.remember("The door code of the studio is 4417.", id="answer")
        engine.remember("We painted the door of the studio green.", id="alike")
        answer = engine.recall("what is the door code of the studio?")
        chance = {hit.memory.id: hit.candidate.chance for hit in answer}
        assert chance["answer"] is not None
        assert chance["alike"] is not None
        assert chance["answer"] > chance["alike"]
