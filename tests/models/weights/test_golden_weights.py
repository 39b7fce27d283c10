"""The weight model by the ids of its document: features, training rows, how sure it may be, and its fallback."""

from __future__ import annotations

import random
from math import log
from pathlib import Path

import numpy as np
import pytest
from training.weights.generate import DOMINANT, TARGETS, Row, consistent, generate, is_later, jittered, split_of

from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.weights import FALLBACK, WIDTHS, features, predict, shipped
from tests.golden.figures import FALLBACK_WEIGHTS


def test_D4_the_six_features_in_their_order() -> None:
    """Length, a word of time, a word of repetition, the density of each, and how specific it is."""
    assert features("What did I do yesterday?").tolist() == pytest.approx([5 / 24, 1, 0, 1 / 5, 0, 0])
    assert features("what is it I always forget").tolist() == pytest.approx([6 / 24, 0, 1, 0, 2 / 6, 0])
    assert features("the ticket of Sarah Chen")[5] > features("the ticket of a friend")[5] == 0
    assert len(features("")) == 6


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return generate()


def test_D5_over_a_thousand_rows_of_four_intents_say_what_their_intent_says(rows: list[Row]) -> None:
    assert len(rows) >= 1_000
    assert {row.intent for row in rows} == {"semantic", "temporal", "frequency", "mixed"}
    assert all(consistent(row.intent, row.target) for row in rows)


def test_D5_the_targets_are_the_documents_and_jitter_keeps_their_lead() -> None:
    assert TARGETS["semantic"] == (0.8, 0.1, 0.1)
    assert TARGETS["temporal"] == (0.2, 0.7, 0.1)
    assert TARGETS["frequency"] == (0.15, 0.1, 0.75)
    assert TARGETS["mixed"] == (0.4, 0.4, 0.2)
    chance = random.Random(1)
    for intent in ("semantic", "temporal", "frequency"):
        targets = [jittered(intent, chance) for _ in range(50)]
        assert {int(np.argmax(target)) for target in targets} == {DOMINANT[intent][0]}
        assert len(set(targets)) == 50


def test_D5_the_split_is_by_family_of_wording(rows: list[Row]) -> None:
    sides = {row.family: split_of(row.family) for row in rows}
    held = sum(side == "test" for side in sides.values()) / len(sides)
    assert 0.1 < held < 0.2
    words = {row.text.casefold() for row in rows if sides[row.family] == "test"}
    assert not words & {row.text.casefold() for row in rows if sides[row.family] == "train"}


def test_D6_no_prediction_is_surer_than_the_entropy_that_the_loss_asks_for() -> None:
    model = embedder(DEFAULT)
    for question in ("the wifi password", "what happened yesterday", "what do I keep coming back to"):
        weights = predict(question, np.asarray(model.embed([question])[0]), model.pin)
        shares = (weights.similarity, weights.recency, weights.frequency)
        assert -sum(share * log(share) for share in shares) >= 0.5


def test_D8_the_shipped_file_names_its_embedder_and_has_the_networks_layers() -> None:
    model = shipped()
    assert model.pin == embedder(DEFAULT).pin
    assert [len(model.tensors[f"{number}.linear.bias"]) for number in (1, 2, 3, 4)] == list(WIDTHS)


def test_D8_without_a_usable_file_the_weights_are_fixed_and_say_why(tmp_path: Path) -> None:
    weights = predict("anything", np.zeros(384, np.float32), "any@1", tmp_path / "weights.bin")
    assert (weights.similarity, weights.recency, weights.frequency) == FALLBACK == FALLBACK_WEIGHTS
    assert weights.source == "fallback: the weight model's file weights.bin is missing"


def test_D7_the_leading_signal_of_wordings_that_nobody_looked_at(rows: list[Row]) -> None:
    """Some of the held-out rows; `python -m training.weights.evaluate` measures all of them."""
    unseen = [row for row in rows if split_of(row.family) == "test" and is_later(row.family)][::28]
    model = embedder(DEFAULT)
    vectors = model.embed([row.text for row in unseen])
    weights = [shipped().forward(vector, features(row.text)) for row, vector in zip(unseen, vectors, strict=True)]
    right = [int(given.argmax()) in DOMINANT[row.intent] for row, given in zip(unseen, weights, strict=True)]
    assert len(unseen) >= 50
    assert sum(right) / len(right) >= 0.95


def test_D7_a_slip_in_a_cue_word_and_words_of_politeness_change_no_feature() -> None:
    for plain, typed in (
        ("what did I do yesterday", "what did I do yesetrday"),
        ("what do I constantly order", "what do I constanntly order"),
        ("what's on my desk", "last question: what's on my desk, thanks"),
        ("where are we now", "so, where are we now, mate"),
    ):
        assert features(plain)[1:3].tolist() == features(typed)[1:3].tolist(), typed
