"""The fit of the ranker: its slope is that of the loss, and it finds weights that rank well and are never negative."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from training.fusion.chances import SCENES, SIZES, new_stores
from training.fusion.fit import FREE, KINDS, MEASURES, SHARES, START, Question, measured
from training.fusion.listwise import Array, Lists, fit, gradient
from training.reader.scenes import read_scenes

from fivefold.retrieval.stages.terms import TERMS

pytestmark = pytest.mark.slow

SMALL = np.full(3, 1e-3, np.float32)
"""A penalty that lets the weights move."""


@dataclass(frozen=True)
class Sample:
    """As much of a question as the fit reads."""

    data: str
    table: Array
    ids: tuple[str, ...]
    relevant: frozenset[str]


def asked(count: int = 40, sign: float = 1.0) -> list[Sample]:
    """Candidates of which the first term tells the relevant one, by its greatest or least value; the rest is noise."""
    dice, made = np.random.default_rng(3), []
    for number in range(count):
        size = 6 + number % 7
        table = dice.normal(size=(size, 3)).astype(np.float32)
        ids = tuple(f"m{i}" for i in range(size))
        made.append(Sample("talk", table, ids, frozenset({ids[int((sign * table[:, 0]).argmax())]})))
    return made


def loss(samples: list[Sample], weights: npt.NDArray[np.floating[Any]]) -> float:
    """The mean cross entropy, written plainly."""
    total = 0.0
    for sample in samples:
        scores = sample.table.astype(np.float64) @ weights
        shares = np.exp(scores) / np.exp(scores).sum()
        right = [i for i, id in enumerate(sample.ids) if id in sample.relevant]
        total -= sum(np.log(shares[i]) for i in right) / len(right)
    return total / len(samples)


def test_the_slope_is_that_of_the_loss() -> None:
    """With one relevant candidate and with two, in lists of different lengths."""
    samples = asked(6)
    samples[1] = replace(samples[1], relevant=frozenset({"m0", "m3"}))
    lists, weights, step = Lists.of(samples, {"talk": 1.0}), np.array([0.4, 0.3, 0.2], np.float32), 1e-4
    by_difference = [
        (loss(samples, weights + step * one) - loss(samples, weights - step * one)) / (2 * step) for one in np.eye(3)
    ]
    assert gradient(lists, weights) == pytest.approx(np.array(by_difference), abs=1e-4)


def test_the_weights_find_what_tells_the_relevant_one() -> None:
    samples = asked()
    weights = fit(Lists.of(samples, {"talk": 1.0}), np.ones(3, np.float32), SMALL)
    assert weights[0] > 5 * max(weights[1], weights[2])
    first = [sample.ids[int((sample.table @ weights).argmax())] in sample.relevant for sample in samples]
    assert np.mean(first) >= 0.9


def test_no_weight_is_negative_though_the_data_asks_for_it() -> None:
    weights = fit(Lists.of(asked(sign=-1.0), {"talk": 1.0}), np.ones(3, np.float32), SMALL)
    assert weights[0] == 0.0
    assert weights.min() >= 0


def test_a_great_penalty_keeps_the_weights_where_they_start() -> None:
    """By its own scale each: 4 may move four times as far as 1, and 0 about as far as 0.3."""
    start = np.array([1.0, 4.0, 0.0], np.float32)
    kept = fit(Lists.of(asked(), {"talk": 1.0}), start, np.full(3, 1e4, np.float32))
    assert kept == pytest.approx(start, abs=0.01)


def test_a_term_that_says_nothing_stays_where_it_starts() -> None:
    samples = [replace(one, table=one.table * np.array([1, 0, 1], np.float32)) for one in asked()]
    weights = fit(Lists.of(samples, {"talk": 1.0}), np.array([1.0, 0.7, 1.0], np.float32), SMALL)
    assert weights[1] == pytest.approx(0.7)


def test_lists_are_padded_to_one_width_and_relevant_candidates_share_the_target() -> None:
    """A list in which nothing relevant was found is left out; what is relevant but was not found counts nothing."""
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    two = Sample("talk", table, ("a", "b"), frozenset({"a", "b"}))
    one = Sample("talk", np.ones((3, 3), np.float32), ("a", "b", "c"), frozenset({"c", "elsewhere"}))
    none = Sample("talk", np.ones((9, 3), np.float32), tuple("abcdefghi"), frozenset({"elsewhere"}))
    lists = Lists.of([two, none, one], {"talk": 1.0})
    assert lists.terms.shape == (2, 3, 3)
    assert lists.present.tolist() == [[True, True, False], [True, True, True]]
    assert lists.target.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert lists.terms[0].tolist() == [*table.tolist(), [0.0, 0.0, 0.0]]


def test_sets_count_by_their_share() -> None:
    one, other = asked(4), [replace(sample, data="beam") for sample in asked(8)]
    lists = Lists.of([*one, *other], {"talk": 1.0, "beam": 0.5})
    assert lists.weight[:4].sum() == pytest.approx(2 / 3)
    assert lists.weight.sum() == pytest.approx(1.0)


def test_every_term_has_a_start_and_every_data_set_a_kind_and_a_share() -> None:
    assert list(START) == [term.name for term in TERMS]
    assert all(value > 0 for value in START.values())
    assert set(START) > FREE
    assert set(KINDS) == set(SHARES)


def test_the_measures_of_one_question_by_hand() -> None:
    """Twelve candidates in the order of their scores; relevant are the second, the seventh and the twelfth."""
    ids, scores = tuple("abcdefghijkl"), np.arange(12, 0, -1).astype(np.float32)
    question = Question("talk", "talk 1", "", np.zeros((12, 3), np.float32), scores, ids, frozenset("bgl"))
    gain, ideal = 1 / np.log2(3) + 1 / np.log2(8), 1 + 1 / np.log2(3) + 1 / np.log2(4)
    expected = {"hit@1": 0.0, "R@5": 1 / 3, "R@10": 2 / 3, "nDCG@10": gain / ideal, "all@10": 0.0}
    assert dict(zip(MEASURES, measured(question, scores), strict=True)) == pytest.approx(expected)


def test_a_new_store_has_an_answer_and_is_asked_in_vain_too() -> None:
    scenes = read_scenes(SCENES)
    stores = list(new_stores(scenes, random.Random(11)))
    assert len(stores) == 2 * len(scenes) == 812
    assert {len(store.memories) for store in stores} == set(SIZES)
    for store in stores:
        ids = {record.id for record in store.memories}
        assert store.questions[0].relevant
        assert all(ids.issuperset(question.relevant) for question in store.questions)
    never = sum(not question.relevant for store in stores for question in store.questions)
    assert never == 1624
