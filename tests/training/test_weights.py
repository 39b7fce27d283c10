"""The weights' training, for real but short: the queries, the loss, and the three forms of the same network."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from training.weights.evaluate import figures, forward
from training.weights.export import rounded, to_binary, to_onnx
from training.weights.generate import DOMINANT, TARGETS, Row, consistent, generate, split_of
from training.weights.heads import HeadLessons, Heads, save_heads
from training.weights.lists import Listed, Lists, lists_of, simulated
from training.weights.network import Examples, WeightNetwork, loss_of, predicted, trained
from training.weights.wordings import families

from fivefold.models.embedders import DEFAULT, embed_texts, embedder
from fivefold.models.weights import features, heads_of, load
from tests.golden.figures import PARAMETERS
from tests.golden.held_out import HELD_OUT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return generate()


@pytest.fixture(scope="module")
def few(rows: list[Row]) -> tuple[list[Row], Examples]:
    """Every 40th row, embedded."""
    chosen = rows[::40]
    model = embedder(DEFAULT)
    return chosen, Examples(
        embed_texts(model, [row.text for row in chosen]),
        np.stack([features(row.text) for row in chosen]),
        np.array([row.target for row in chosen], dtype=np.float32),
    )


def test_there_are_ten_thousand_different_queries_of_all_intents(rows: list[Row]) -> None:
    assert len({row.text.casefold() for row in rows}) == len(rows) >= 10_000
    for intent in TARGETS:
        assert sum(row.intent == intent for row in rows) >= 2_000
        assert len(families(intent)) >= 50


def test_D5_every_row_says_what_its_intent_says(rows: list[Row]) -> None:
    for row in rows:
        assert consistent(row.intent, row.target)
        assert int(np.argmax(row.target)) in DOMINANT[row.intent]


def test_D7_the_questions_of_the_golden_numbers_are_of_held_out_families(rows: list[Row]) -> None:
    held_out = {(row.intent, row.text) for row in rows if split_of(row.family) == "test"}
    assert {(intent, text) for intent, texts in HELD_OUT.items() for text in texts} <= held_out


def test_weights_that_contradict_their_intent_are_seen() -> None:
    assert not consistent("temporal", (0.7, 0.2, 0.1))
    assert not consistent("mixed", (0.6, 0.2, 0.2))
    assert not consistent("semantic", (0.8, 0.3, 0.1))


def test_D5_a_family_is_on_one_side_only(rows: list[Row]) -> None:
    sides = defaultdict(set)
    for row in rows:
        sides[row.family].add(split_of(row.family))
    assert all(len(side) == 1 for side in sides.values())
    held_out = {intent: sum(split_of(family.name) == "test" for family in families(intent)) for intent in TARGETS}
    assert min(held_out.values()) >= 5


def test_no_pattern_is_in_two_families() -> None:
    patterns = [pattern for intent in TARGETS for family in families(intent) for pattern in family.patterns]
    assert len(patterns) == len(set(patterns))


def test_the_same_seed_gives_the_same_queries(rows: list[Row]) -> None:
    assert generate() == rows
    assert generate(seed=6) != rows


def test_D6_the_loss_by_hand() -> None:
    wanted = torch.tensor([[0.5, 0.25, 0.25]])
    # KL of a half and two quarters from thirds: log 3 minus 1.5 log 2; the entropy, log 3, is over the floor.
    assert float(loss_of(torch.full((1, 3), 1 / 3), wanted)) == pytest.approx(np.log(3) - 1.5 * np.log(2), abs=1e-6)
    # Nearly all on one signal: H(w) = 0.0560, so that 0.1 · (0.5 − 0.0560) is added.
    sure = torch.tensor([[0.99, 0.005, 0.005]])
    spread = -(0.99 * np.log(0.99) + 2 * 0.005 * np.log(0.005))
    parting = 0.5 * np.log(0.5 / 0.99) + 0.5 * np.log(0.25 / 0.005)
    assert float(loss_of(sure, wanted)) == pytest.approx(parting + 0.1 * (0.5 - spread), abs=1e-5)


def test_a_short_training_learns(few: tuple[list[Row], Examples]) -> None:
    chosen, given = few
    losses: list[float] = []
    network = trained(given, seed=1, epochs=20, done=lambda epoch, loss: losses.append(loss))
    assert losses[-1] < losses[0] / 2
    assert figures(chosen, predicted(network, given)).dominant > 0.9


def test_D8_pytorch_onnx_and_numpy_agree(few: tuple[list[Row], Examples], tmp_path: Path) -> None:
    chosen, given = few
    model = embedder(DEFAULT)
    network = rounded(trained(given, seed=2, epochs=2))
    graph = to_onnx(network, model.dimension, given.features.shape[1], tmp_path / "weights.onnx")
    path = to_binary(graph, "short", model.pin, model.dimension, tmp_path / "weights.bin")
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    (by_onnx,) = session.run(["weights"], {"vectors": given.vectors, "features": given.features})
    by_numpy = forward(load(path), chosen, given.vectors)
    assert np.abs(by_onnx - predicted(network, given)).max() < 1e-5
    assert np.abs(by_onnx - by_numpy).max() < 1e-5


def test_D3_the_network_has_the_size_of_the_design() -> None:
    # D3: about 118 thousand parameters at 384 dimensions, 216 thousand at 768.
    sizes = [sum(part.numel() for part in WeightNetwork(width).parameters()) for width in (384, 768)]
    assert sizes == list(PARAMETERS.values())


def lists(count: int = 40) -> tuple[list[Listed], Lists]:
    """Simulated lists of some queries, with vectors at random."""
    chosen = [row for row in generate() if split_of(row.family) == "train"][:: 18_000 // count][:count]
    listed = list(simulated(chosen, seed=3))
    rng = np.random.default_rng(4)
    given = rng.normal(size=(len(listed), 384)).astype(np.float32)
    return listed, lists_of(listed, given / np.linalg.norm(given, axis=1, keepdims=True))


def test_D12_simulated_lists_want_what_the_query_asks_for() -> None:
    listed, given = lists()
    assert given.wanted.sum(axis=1) == pytest.approx(np.ones(len(listed)), abs=1e-5)
    by_text = {row.text: row.intent for row in generate()}
    for one in listed:
        wanted = one.wanted > 0
        if by_text[one.text] == "frequency":
            assert one.signals[wanted, 2].min() >= np.sort(one.signals[:, 2])[-2]
        elif by_text[one.text] == "temporal" and one.times.begins is None:
            assert one.signals[wanted, 1].max() <= np.sort(one.signals[:, 1])[1]


def test_D12_pytorch_and_numpy_agree_on_decay_and_weights_by_result(tmp_path: Path) -> None:
    _, given = lists()
    torch.manual_seed(1)
    heads = Heads()
    torch.nn.init.normal_(heads.descriptors)
    saved = heads_of(save_heads(rounded(heads), "short", "net", tmp_path / "signals.bin").read_bytes())
    hidden = torch.rand(len(given), 32)
    weights = torch.softmax(torch.rand(len(given), 3), dim=1)
    signals, mask = torch.from_numpy(given.signals) / torch.tensor([1.0, 1_500.0, 1.0]), torch.from_numpy(given.mask)
    with torch.no_grad():
        chances, lives = heads.curves(hidden, torch.from_numpy(given.times))
        own = heads.weights(hidden, weights, signals, mask).numpy()
    for i in range(5):
        found = saved.weights(hidden[i].numpy(), weights[i].numpy(), signals[i].numpy())
        assert np.abs(found - own[i]).max() < 1e-5
        raw = saved.raw_decay(hidden[i].numpy(), given.times[i])
        assert raw[0] == pytest.approx(chances[i].numpy(), abs=1e-5)
        assert raw[1] == pytest.approx(float(lives[i]), abs=1e-4)


def test_D12_the_heads_learn_in_the_run_of_the_weights(few: tuple[list[Row], Examples]) -> None:
    _, examples = few
    _, given = lists(200)
    further = HeadLessons(given)
    network = trained(examples, seed=1, epochs=1, further=further)
    with torch.no_grad():
        before = float(np.mean([float(further.loss(network)) for _ in range(5)]))
    network = trained(examples, seed=1, epochs=12, further=further)
    with torch.no_grad():
        assert float(np.mean([float(further.loss(network)) for _ in range(5)])) < before
