"""The weight model: features of a question, the network, its heads and golden numbers."""

from __future__ import annotations

import logging
import random
from math import exp, log, log1p
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.weights.generate import DOMINANT, TARGETS, Row, consistent, generate, is_later, jittered, split_of

from fivefold.models.embedders import DEFAULT, Embedder, choice_of, embedder
from fivefold.models.shipped import MAGIC, BadModel, Contents, Tensor, pack
from fivefold.models.weights import (
    FALLBACK,
    MAX_HALF_LIFE_DAYS,
    MIN_HALF_LIFE_DAYS,
    SHAPES,
    WIDTHS,
    SignalHeads,
    Times,
    features,
    heads_of,
    intent,
    is_fallback,
    load,
    predict,
    shapes,
    shipped,
    shipped_heads,
)
from fivefold.values.query import Decay, Weights
from tests.golden.figures import FALLBACK_WEIGHTS

# The six features of a query.


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


# The weight model by the ids of its document: features, training rows, how sure it may be, and its fallback.


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
    for kind in ("semantic", "temporal", "frequency"):
        targets = [jittered(kind, chance) for _ in range(50)]
        assert {int(np.argmax(target)) for target in targets} == {DOMINANT[kind][0]}
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


# The heads of the weight network: a question's decay and the weights of each result, by hand and by law (D12).


HIDDEN = np.zeros(32, np.float32)
WEIGHTS = np.array([0.5, 0.3, 0.2], dtype=np.float32)


def zeros() -> dict[str, Tensor]:
    return {name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}


def heads(**changed: Tensor) -> SignalHeads:
    return SignalHeads("toy", "net", zeros() | {name.replace("_", "."): value for name, value in changed.items()})


def test_D12_a_time_in_numbers_by_hand() -> None:
    given = Times(begins=7.0, ends=1.0, span=100.0, newest=0.5).vector()
    assert given.tolist() == pytest.approx([1, *(log1p(days) / 8 for days in (7, 1, 100, 0.5))])
    assert Times(None, 3.0, 100.0, 0.5).vector()[:3].tolist() == [0, 0, 0]


def test_D12_half_lives_are_counted_from_the_named_time_else_by_the_span() -> None:
    assert Times(begins=7.0, span=240.0).unit == 7.0
    assert Times(span=240.0).unit == pytest.approx(10.0)
    assert Times().unit == MIN_HALF_LIFE_DAYS
    assert Times(begins=1e9).unit == MAX_HALF_LIFE_DAYS


def test_D12_the_decay_by_hand() -> None:
    # All zeros but the last bias: the exponential curve has odds 6 to 1 to 1 to 1, and the half-life is twice the unit.
    bias = np.array([0, log(6), 0, 0, log(2)], dtype=np.float32)
    decay, chance = heads(decay_2_bias=bias).decay(HIDDEN, Times(begins=7.0))
    assert decay.curve == "exponential"
    assert chance == pytest.approx(6 / 9)
    assert decay.half_life_days == pytest.approx(14.0)


def test_D12_the_linear_curve_runs_over_the_candidates() -> None:
    assert heads().decay(HIDDEN, Times(begins=7.0))[0] == Decay("linear", None)


def test_D12_a_half_life_stays_within_bounds() -> None:
    for raw, begins, bound in ((-50.0, 7.0, MIN_HALF_LIFE_DAYS), (50.0, 1e4, MAX_HALF_LIFE_DAYS), (50.0, 1.0, exp(8))):
        bias = np.array([0, 1, 0, 0, raw], dtype=np.float32)
        half_life = heads(decay_2_bias=bias).decay(HIDDEN, Times(begins=begins))[0].half_life_days
        assert half_life == pytest.approx(bound)


def test_D12_without_descriptors_every_result_has_the_weights_of_the_question() -> None:
    signals = np.array([[0.9, 0.1, 0.0], [0.2, 1.0, 0.5]], dtype=np.float32)
    assert heads().weights(HIDDEN, WEIGHTS, signals) == pytest.approx(np.stack([WEIGHTS, WEIGHTS]), abs=1e-6)


def test_D12_the_weights_of_a_result_by_hand() -> None:
    # A token is four times the similarity in its first place; the descriptor of recency looks there: 4 · s / √16 = s.
    token, descriptors = zeros()["token.weight"], zeros()["descriptors"]
    token[0, 32], descriptors[1, 0] = 4, 1
    signals = np.array([[1.0, 0.5, 0.5], [0.0, 0.5, 0.5]], dtype=np.float32)
    found = heads(token_weight=token, descriptors=descriptors).weights(HIDDEN, WEIGHTS, signals)
    moved = np.array([0.5, 0.3 * np.e, 0.2])
    assert found[0] == pytest.approx(moved / moved.sum(), abs=1e-6)
    assert found[1] == pytest.approx(WEIGHTS, abs=1e-6)


def test_D12_a_candidate_sees_all_others() -> None:
    """Attention over the candidates: another candidate's signals change the weights of this one."""
    model, hidden = shipped_heads(), np.abs(np.random.default_rng(1).normal(size=32)).astype(np.float32)
    signals = np.random.default_rng(2).random((50, 3), dtype=np.float32)
    other = signals.copy()
    other[1:, 1] = 0
    assert np.abs(model.weights(hidden, WEIGHTS, signals)[0] - model.weights(hidden, WEIGHTS, other)[0]).max() > 1e-4


def test_D12_the_order_of_the_candidates_does_not_matter() -> None:
    model, signals = shipped_heads(), np.random.default_rng(3).random((12, 3), dtype=np.float32)
    found = model.weights(HIDDEN, WEIGHTS, signals)
    assert found.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-5)
    assert model.weights(HIDDEN, WEIGHTS, signals[::-1])[::-1] == pytest.approx(found, abs=1e-5)


def test_D12_the_shipped_heads_read_the_shipped_network() -> None:
    assert shipped_heads().network == shipped().name
    assert shipped_heads() is shipped_heads()


def test_D12_a_file_without_a_tensor_is_refused() -> None:
    parts = zeros()
    assert heads_of(pack(Contents("toy", "net", 0, parts))).network == "net"
    del parts["key.weight"]
    with pytest.raises(BadModel, match=r"key\.weight"):
        heads_of(pack(Contents("toy", "net", 0, parts)))


# Predicted weights, their intent, and the fallback for each way a model file can fail.


@pytest.fixture(scope="module")
def model() -> Embedder:
    """The embedder the shipped model was made for."""
    return embedder(choice_of(shipped().pin))


def tensors() -> dict[str, Tensor]:
    """A network for four dimensions, all zeros but the last bias, which alone decides."""
    made: dict[str, Tensor] = {name: np.zeros(shape, np.float32) for name, shape in shapes(4).items()}
    for number in (1, 2, 3):
        made[f"{number}.norm.weight"] += 1
    made["4.linear.bias"] = np.log(np.array([8, 4, 4], dtype=np.float32))
    return made


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return written(tmp_path / "good.bin", pack(Contents("tiny", "toy@1", 4, tensors())))


def test_the_forward_pass_by_hand(good: Path) -> None:
    # All hidden layers give zeros, so the softmax sees log 8, log 4, log 4: a half and two quarters.
    found = predict("hello", np.full(4, 0.5, np.float32), "toy@1", good)
    assert (found.similarity, found.recency, found.frequency) == pytest.approx((0.5, 0.25, 0.25), abs=1e-3)
    assert found.source == "model tiny"


def test_a_layer_by_hand(tmp_path: Path) -> None:
    # One hidden unit stands out by 1: after LayerNorm over 256 it is 255/256 divided by sqrt(255)/256, about 15.97.
    parts = tensors()
    parts["1.linear.bias"][0] = 1
    made = load(written(tmp_path / "layer.bin", pack(Contents("tiny", "toy@1", 4, parts))))
    hidden = made._layer(1, np.zeros(4, np.float32))
    variance = 255 / 256**2
    assert hidden[0] == pytest.approx((255 / 256) / np.sqrt(variance + 1e-5), rel=1e-5)
    assert not hidden[1:].any()


def test_the_shipped_model_is_read_once() -> None:
    assert shipped() is shipped()


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("Tell me about my Python projects", "semantic"),
        ("What did we discuss yesterday?", "temporal"),
        ("What topic keeps coming up?", "frequency"),
        ("Recent updates on that ongoing project", "mixed"),
        ("how many times a week do I feed the starter", "semantic"),
        ("the Late Show episode I liked", "semantic"),
        ("the time signature of that song", "semantic"),
        ("carry on from there", "temporal"),
        ("the thing I can't stop going on about", "frequency"),
    ],
)
def test_the_intents_of_known_queries(model: Embedder, query: str, wanted: str) -> None:
    found = predict(query, model.embed([query])[0], model.pin)
    assert intent(found) == wanted
    assert found.similarity + found.recency + found.frequency == pytest.approx(1, abs=1e-5)
    assert not is_fallback(found)


def test_the_shipped_model_gives_weights_for_any_text(model: Embedder) -> None:
    for text in ("", "?", "a" * 5_000, "昨日何を話しましたか", "yesterday " * 300):
        found = shipped().forward(model.embed([text])[0], features(text))
        assert found.min() > 0
        assert found.sum() == pytest.approx(1, abs=1e-5)


def fallen_back(found: Weights, reason: str) -> None:
    assert (found.similarity, found.recency, found.frequency) == FALLBACK == (0.6, 0.25, 0.15)
    assert is_fallback(found)
    assert reason in found.source


def test_a_missing_file_falls_back(tmp_path: Path) -> None:
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", tmp_path / "none.bin"), "none.bin is missing")


def test_a_damaged_file_falls_back(good: Path) -> None:
    data = bytearray(good.read_bytes())
    data[-100] ^= 1
    bad = written(good.with_name("damaged.bin"), bytes(data))
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", bad), "checksum")


def test_a_file_of_something_else_falls_back(tmp_path: Path) -> None:
    bad = written(tmp_path / "text.bin", b"not a model at all" * 10)
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", bad), "is not a weight model")


def test_a_file_of_another_version_falls_back(good: Path) -> None:
    data = bytearray(good.read_bytes())
    data[len(MAGIC)] = 7
    bad = written(good.with_name("newer.bin"), bytes(data))
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", bad), "format 7")


def test_a_file_with_other_tensors_falls_back(tmp_path: Path) -> None:
    parts = tensors()
    parts["2.norm.bias"] = np.zeros(3, np.float32)
    bad = written(tmp_path / "other.bin", pack(Contents("odd", "toy@1", 4, parts)))
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", bad), "2.norm.bias")


@pytest.mark.parametrize("pin", ["toy@2", "other@1", "toy"])
def test_another_embedder_falls_back(good: Path, pin: str) -> None:
    fallen_back(predict("hi", np.zeros(4, np.float32), pin, good), f"was made for toy@1, not for {pin}")


def test_a_folder_in_place_of_a_file_falls_back(tmp_path: Path) -> None:
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", tmp_path), "cannot be opened")


def test_the_reason_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "only-once.bin"
    with caplog.at_level(logging.WARNING, "fivefold.models.weights"):
        for _ in range(3):
            predict("hi", np.zeros(4, np.float32), "toy@1", path)
    assert [record.getMessage() for record in caplog.records] == [
        "the weight model's file only-once.bin is missing; weights 0.60/0.25/0.15 are used instead"
    ]


@pytest.mark.parametrize(
    ("weights", "name"),
    [
        ((0.75, 0.15, 0.1), "semantic"),
        ((0.25, 0.65, 0.1), "temporal"),
        ((0.2, 0.1, 0.7), "frequency"),
        ((0.42, 0.38, 0.2), "mixed"),
    ],
)
def test_the_nearest_target_names_the_intent(weights: tuple[float, float, float], name: str) -> None:
    assert intent(Weights(*weights)) == name
