"""The embedder's training, for real but tiny: the loss falls, and the exported graph gives PyTorch's vectors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from tests.training.scripts import VOCABULARY, scripts
from tests.training.talks import corpus, encoder

TEXTS = [
    "Which thing has Mia mended?",
    "Mia (7 May 2023): I mended the old boat yesterday.",
    "a",
    "",
    "boat " * 100,
    "7 May 2023 the telescope, and a much longer text about nothing but carpets and candles",
]


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    return scripts("embedder")


@pytest.fixture(scope="module")
def tuned(made: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any, Any]:
    """A corpus, the encoder before and after some steps, and the settings."""
    talks = corpus(made, tmp_path_factory.mktemp("talks"))
    settings = made.train.Settings(epochs=4.0, batch=32, rate=1e-3, anchor=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.train, "published", lambda path: encoder(made))
        alike = torch.eye(len(talks.questions))
        model = made.train.train(talks, Path("unread"), None, alike, settings, seed=1)
    return talks, made.model.Embedder(encoder(made)).eval(), model, settings


def test_the_loss_falls(made: SimpleNamespace, tuned: tuple[Any, Any, Any, Any]) -> None:
    talks, before, after, settings = tuned
    asked = (~talks.held_out).nonzero()[:32, 0]
    told = made.batches.scene(talks, asked, None, settings.mixture, torch.Generator().manual_seed(9))
    batch = made.batches.batch(talks, told, torch.eye(len(talks.questions)), settings.mixture)
    with torch.no_grad():
        first, last = (float(made.train.loss_of(model, before, batch, settings)[0]) for model in (before, after))
    assert last < 0.8 * first


def test_the_word_table_stays_as_it_is(made: SimpleNamespace, tuned: tuple[Any, Any, Any, Any]) -> None:
    _, before, after, _ = tuned
    assert torch.equal(before.encoder.words.weight, after.encoder.words.weight)
    assert not torch.equal(before.encoder.layers[0].qkv.weight, after.encoder.layers[0].qkv.weight)


def test_the_exported_graph_gives_pytorchs_vectors(
    made: SimpleNamespace, tuned: tuple[Any, Any, Any, Any], tmp_path: Path
) -> None:
    model = tuned[2]
    onnx.save(made.export.written(model, None), tmp_path / "float.onnx")
    by_onnx = made.vectors.onnx_vectors(tmp_path / "float.onnx", VOCABULARY)(TEXTS)
    by_torch = made.vectors.torch_vectors(model, VOCABULARY, "cpu")(TEXTS)
    assert np.abs(by_onnx - by_torch).max() < 1e-4
    np.testing.assert_allclose(np.linalg.norm(by_onnx, axis=1), 1, atol=1e-5)


def test_the_int8_graph_is_near(made: SimpleNamespace, tuned: tuple[Any, Any, Any, Any], tmp_path: Path) -> None:
    model = tuned[2]
    ids = torch.from_numpy(made.vectors.token_rows(VOCABULARY, TEXTS))
    onnx.save(made.export.written(model, ids), tmp_path / "int8.onnx")
    by_onnx = made.vectors.onnx_vectors(tmp_path / "int8.onnx", VOCABULARY)(TEXTS)
    by_torch = made.vectors.torch_vectors(model, VOCABULARY, "cpu")(TEXTS)
    assert (by_onnx * by_torch).sum(axis=1).min() > 0.97
    assert (tmp_path / "int8.onnx").stat().st_size < sum(value.numel() for value in model.parameters()) * 1.2


def test_saved_weights_come_back(made: SimpleNamespace, tuned: tuple[Any, Any, Any, Any], tmp_path: Path) -> None:
    """All but the word table, in half precision, put over the published model."""
    _, before, model, _ = tuned
    made.vectors.keep(model, tmp_path / "tuned.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.vectors, "published", lambda path: encoder(made))
        again = made.vectors.tuned(Path("unread"), tmp_path / "tuned.safetensors")
    for name, value in model.state_dict().items():
        assert torch.allclose(again.state_dict()[name], value, atol=2e-3)
    assert torch.equal(again.encoder.words.weight, before.encoder.words.weight)
