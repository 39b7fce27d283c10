"""Predicted weights, their intent, and the fallback for each way a model file can fail."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from fivefold.models.embedders import Embedder, choice_of, embedder
from fivefold.models.shipped import MAGIC, Contents, Tensor, pack
from fivefold.models.weights import FALLBACK, features, intent, is_fallback, load, predict, shapes, shipped
from fivefold.values.query import Weights


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
    fallen_back(predict("hi", np.zeros(4, np.float32), "toy@1", bad), "no weight model")


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
