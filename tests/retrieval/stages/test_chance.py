"""Chances: their signals number by number, their laws, and what the reader has a say in."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.chance import JUDGED, RECALL_SIGNALS, SIGNALS, probability, recall_signals, signal_table
from fivefold.values.demands import DemandKind
from fivefold.values.query import EntityRef, Meaning, Window
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import NOW, aged, demand, found, of, said, search, stage
from tests.support.toy_engine import toy

WEEK = Window(aged(7), NOW, "last week")

ODDS = st.floats(-40, 40)
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=14)


def signal(name: str, candidates: Sequence[Candidate], context: SearchContext | None = None) -> list[float]:
    table = signal_table(candidates, context or search())
    return [round(float(value), 4) for value in table[:, SIGNALS.index(name)]]


def chances(pool: Pool) -> list[float]:
    return [candidate.chance for candidate in pool.candidates if candidate.chance is not None]


@given(ODDS, ODDS)
def test_a_chance_lies_between_0_and_1_and_grows_with_the_odds(one: float, other: float) -> None:
    assert 0 < probability(one) < 1
    assert probability(one) + probability(-one) == pytest.approx(1)
    if one < other:
        assert probability(one) <= probability(other)


@given(SCORES, st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 1))
def test_scores_and_order_stay_and_found_is_a_matter_of_the_recall_s_chance(
    scores: list[float], one: float, margin: float, least: float
) -> None:
    candidates = [of(row, score) for row, score in enumerate(scores)]
    pool = stage("chance", candidates, weights={"one": one, "margin": margin}, recall={"best": 1.0}, found=least)
    assert [c.score for c in pool.candidates] == sorted(scores, reverse=True)
    assert {c.memory.id for c in pool.candidates} == {c.memory.id for c in candidates}
    assert pool.chance is not None
    assert pool.found == (pool.chance >= least)
    assert pool.chance == pytest.approx(max(chances(pool)))  # the log-odds of its likeliest hit, by that weight


def test_a_chance_by_hand() -> None:
    """Log-odds 0.5 + 2 · 0.6 for the first, 0.5 + 2 · 0.1 for the second; the recall: 1.1 + their mean."""
    weights, recall = {"one": 0.5, "late": 2.0}, {"one": 1.1, "best": 0.5, "second": 0.5}
    pool = stage("chance", [found(1, 0.9, late=0.6), found(2, 0.8, late=0.1)], weights=weights, recall=recall)
    assert chances(pool) == pytest.approx([1 / (1 + exp(-1.7)), 1 / (1 + exp(-0.7))])
    assert pool.chance == pytest.approx(1 / (1 + exp(-2.3)))
    assert pool.found is True
    assert pool.notes[-1].stage == "chance"
    assert "91% that one of them answers" in pool.notes[-1].why


def test_no_hit_is_likelier_than_the_recall() -> None:
    pool = stage("chance", [found(1, late=0.6), found(2, late=-5.0)], weights={"late": 1.0}, recall={"one": -3.0})
    assert chances(pool) == [pool.chance, probability(-5.0)]
    assert pool.chance == probability(-3.0)


def test_a_hit_that_is_alone_is_as_likely_as_that_any_answers() -> None:
    pool = stage("chance", [found(1, late=0.1)], weights={"late": 1.0}, recall={"one": 3.0})
    assert chances(pool) == [pool.chance] == [probability(3.0)]


def test_nothing_has_no_chance() -> None:
    pool = stage("chance", [])
    assert (pool.chance, pool.found, pool.candidates) == (0.0, False, [])


def test_one_hit_alone_stands_for_the_second_as_well() -> None:
    pool = stage("chance", [found(1, late=0.6)], weights={"late": 1.0}, recall={"second": 1.0})
    assert pool.chance == pytest.approx(probability(0.6))


@pytest.mark.parametrize(("k", "judged"), [(3, JUDGED), (15, 15)])
def test_the_best_hits_are_judged(k: int, judged: int) -> None:
    pool = stage("chance", [of(row, 1 / (1 + row)) for row in range(20)], search(k=k))
    assert [c.chance is not None for c in pool.candidates] == [True] * judged + [False] * (20 - judged)


def test_a_signal_without_a_weight_changes_nothing() -> None:
    pool = stage("chance", [found(1, late=0.9, dense=0.9)], weights={}, recall={})
    assert chances(pool) == [0.5]
    assert pool.chance == 0.5


def test_scores_of_searches_are_taken_as_they_are() -> None:
    candidates = [found(1, late=0.7), found(2, late=0.4, dense=0.3), of(3)]
    assert signal("late", candidates) == [0.7, 0.4, 0.4]
    assert signal("dense", candidates) == [0.3, 0.3, 0.3]
    assert signal("one", candidates) == [1.0, 1.0, 1.0]


def test_what_the_reader_says_is_taken_as_it_is_and_what_it_did_not_read_is_known() -> None:
    table = signal_table([of(1), of(2), of(3)], search(), {2: -1.5, 1: 0.5})
    assert table[:, SIGNALS.index("answers")].tolist() == [0.5, -1.5, 0.0]
    assert table[:, SIGNALS.index("further")].tolist() == [0.0, 0.0, 1.0]


def test_a_recall_is_judged_by_its_two_likeliest_hits_and_the_second_that_the_reader_takes_for_an_answer() -> None:
    table = signal_table([of(1), of(2), of(3)], search(), {1: 0.5, 2: 2.5})
    signals = recall_signals(table, np.array([-1.0, 3.0, 0.5]))
    assert dict(zip(RECALL_SIGNALS, signals.tolist(), strict=True)) == {"one": 1, "best": 3, "second": 0.5, "next": 0.5}
    unread = recall_signals(signal_table([of(1)], search()), np.array([-1.0]))
    assert unread.tolist() == [1.0, -1.0, -1.0, 0.0]


def test_words_count_by_the_share_of_the_question_s() -> None:
    candidates = [said(of(1), "the boat and its harbours"), said(of(2), "a boat"), said(of(3), "tea")]
    assert signal("words", candidates, search(lexemes=["boat", "harbour"])) == [1.0, 0.5, 0.0]
    assert signal("words", candidates) == [0.0, 0.0, 0.0]


def test_the_distance_to_the_best_and_its_lead() -> None:
    """Sums of the additive model: three times the logarithm of a score."""
    candidates = [of(1, 1.0), of(2, 0.5)]
    apart = round(3 * log(2), 4)
    assert signal("margin", candidates) == [0.0, -apart]
    assert signal("lead", candidates) == [apart, 0.0]
    assert signal("lead", [of(1)]) == [0.0]


@pytest.mark.parametrize(
    ("decides", "expected"), [(True, {"decided": [1, 0], "undecided": [0, 1]}), (False, {"window": [1, 0]})]
)
def test_the_time_asked_about_is_met_or_not(decides: bool, expected: dict[str, list[int]]) -> None:
    candidates = [found(1, window=1.0), found(2, dense=0.9)]
    context = search(window=WEEK, demands=[demand("window", decides)])
    signals = {name: signal(name, candidates, context) for name in ("decided", "undecided", "window")}
    assert signals == {name: expected.get(name, [0, 0]) for name in signals}


def test_names_are_there_or_missing() -> None:
    people = [EntityRef(name, 0, (Meaning(i, name, 1.0),)) for i, name in enumerate(("Ana Lopez", "Ben"))]
    candidates = [said(of(1), "Ana met Ben"), said(of(2), "we met", "Ana"), said(of(3), "we met")]
    context = search(entities=people)
    assert signal("person", candidates, context) == [1.0, 0.0, 0.0]
    assert signal("stranger", candidates, context) == [0.0, 0.0, 1.0]
    assert signal("stranger", candidates) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "name"), [("list", "several"), ("count", "several"), ("negation", "several"), ("suggestion", "advice")]
)
def test_the_kind_of_question_is_a_signal(kind: DemandKind, name: str) -> None:
    assert signal(name, [of(1), of(2)], search(demands=[demand(kind)])) == [1.0, 1.0]
    assert signal(name, [of(1), of(2)]) == [0.0, 0.0]


def test_what_has_ended_counts_where_the_present_is_asked_for() -> None:
    candidates = [of(1, valid_to=aged(2)), of(2)]
    assert signal("ended", candidates, search(demands=[demand("current")])) == [1.0, 0.0]
    assert signal("ended", candidates) == [0.0, 0.0]


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
