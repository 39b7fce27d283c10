"""The heads of the weight network: a question's decay and the weights of each result, by hand and by law (D12)."""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np
import pytest

from fivefold.models.shipped import BadModel, Contents, Tensor, pack
from fivefold.models.weights import LONGEST, SHAPES, SHORTEST, SignalHeads, Times, heads_of, shipped, shipped_heads
from fivefold.values.decay import Decay

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
    assert Times().unit == SHORTEST
    assert Times(begins=1e9).unit == LONGEST


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
    for raw, begins, bound in ((-50.0, 7.0, SHORTEST), (50.0, 1e4, LONGEST), (50.0, 1.0, exp(8))):
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
