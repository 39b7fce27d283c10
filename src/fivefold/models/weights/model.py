"""How much similarity, recency and frequency should count for a query, by a small network in plain NumPy (D3, D8)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np

from fivefold.models.binary import BadModel, Tensor, unpack
from fivefold.models.weights.features import COUNT, features
from fivefold.values.query import Weights
from fivefold.values.vectors import Vector

Intent = Literal["semantic", "temporal", "frequency", "mixed"]

TARGETS: Mapping[Intent, tuple[float, float, float]] = {
    "semantic": (0.8, 0.1, 0.1),
    "temporal": (0.2, 0.7, 0.1),
    "frequency": (0.15, 0.1, 0.75),
    "mixed": (0.4, 0.4, 0.2),
}
"""What each intent's weights are in training (D5): similarity, recency, frequency."""

FALLBACK = (0.6, 0.25, 0.15)
"""The weights without a usable model (D8)."""

WIDTHS = (256, 64, 32, 3)
"""Width of each layer (D3)."""

_EPSILON = 1e-5
_log = logging.getLogger(__name__)
_warned: set[str] = set()
_warning_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class WeightModel:
    """A trained network and the embedder whose vectors it understands."""

    name: str
    pin: str
    tensors: Mapping[str, Tensor]

    def forward(self, vector: Vector, text_features: Vector) -> Vector:
        """Embedding → 256 → 64, joined by the features → 32 → 3, softmax: the weights, adding up to 1."""
        logits = self.tensors["4.linear.weight"] @ self.hidden(vector, text_features) + self.tensors["4.linear.bias"]
        powers = np.exp(logits - logits.max())
        return np.asarray(powers / powers.sum(), dtype=np.float32)

    def hidden(self, vector: Vector, text_features: Vector) -> Vector:
        """The 32 numbers from which the weights are read, and by further heads the decay and each result's weights."""
        hidden = self._layer(2, self._layer(1, vector))
        return self._layer(3, np.concatenate([hidden, text_features]))

    def _layer(self, number: int, values: Vector) -> Vector:
        """Linear, LayerNorm, ReLU."""
        tensors = self.tensors
        raw = tensors[f"{number}.linear.weight"] @ values + tensors[f"{number}.linear.bias"]
        centred = raw - raw.mean()
        normed = centred / np.sqrt(np.square(centred).mean() + _EPSILON)
        scaled = normed * tensors[f"{number}.norm.weight"] + tensors[f"{number}.norm.bias"]
        return np.asarray(np.maximum(scaled, 0), dtype=np.float32)


def predict(text: str, vector: Vector, pin: str, path: Path | None = None) -> Weights:
    """The weights for a query and its unit vector by the embedder `pin`; the fallback, with the reason, if need be."""
    try:
        model = shipped() if path is None else load(path)
        if model.pin != pin:
            raise BadModel(f"the weight model {model.name} was made for {model.pin}, not for {pin}")
    except BadModel as reason:
        _warn_once(str(reason))
        return without(str(reason))
    similarity, recency, frequency = model.forward(vector, features(text)).tolist()
    return Weights(similarity, recency, frequency, source=f"model {model.name}")


def without(reason: str) -> Weights:
    """The fallback weights, and why no model predicts them."""
    return Weights(*FALLBACK, source=f"fallback: {reason}")


def intent(weights: Weights) -> Intent:
    """The intent whose target weights are nearest."""
    values = np.array([weights.similarity, weights.recency, weights.frequency])
    return min(TARGETS, key=lambda name: float(np.abs(values - np.array(TARGETS[name])).sum()))


def is_fallback(weights: Weights) -> bool:
    """Whether no model predicted these weights."""
    return weights.source.startswith("fallback")


def shipped() -> WeightModel:
    """The model that comes with the package, read once."""
    return load(Path(str(resources.files("fivefold.models").joinpath("data/weights.bin"))))


@cache
def _load_file(path: Path) -> WeightModel | str:
    """The model at `path`, or why there is none: a bad file is read once as well."""
    try:
        contents = unpack(path.read_bytes())
        return _check_tensors(WeightModel(contents.name, contents.pin, contents.tensors), contents.dimension)
    except FileNotFoundError:
        return f"the weight model's file {path.name} is missing"
    except OSError as error:
        return f"the weight model's file {path.name} cannot be opened: {error.strerror}"
    except BadModel as reason:
        return str(reason)


def load(path: Path) -> WeightModel:
    """The model in a file, kept for the next call; BadModel where it cannot be used."""
    loaded = _load_file(path)
    if isinstance(loaded, str):
        raise BadModel(loaded)
    return loaded


def shapes(dimension: int) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor of a network for vectors of that dimension (D3)."""
    shapes_by_name: dict[str, tuple[int, ...]] = {}
    inputs = (dimension, WIDTHS[0], WIDTHS[1] + COUNT, WIDTHS[2])
    for number, (width, values) in enumerate(zip(WIDTHS, inputs, strict=True), 1):
        shapes_by_name |= {f"{number}.linear.weight": (width, values), f"{number}.linear.bias": (width,)}
        if number < len(WIDTHS):
            shapes_by_name |= {f"{number}.norm.weight": (width,), f"{number}.norm.bias": (width,)}
    return shapes_by_name


def _check_tensors(model: WeightModel, dimension: int) -> WeightModel:
    """The model, if its tensors are those of the network."""
    for name, shape in shapes(dimension).items():
        tensor = model.tensors.get(name)
        if tensor is None or tensor.shape != shape:
            raise BadModel(f"the weight model {model.name} lacks a usable tensor {name}")
    return model


def _warn_once(reason: str) -> None:
    with _warning_lock:
        if reason in _warned:
            return
        _warned.add(reason)
    _log.warning("%s; weights %.2f/%.2f/%.2f are used instead", reason, *FALLBACK)
