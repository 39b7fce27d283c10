"""Learned retrieval weights: what a query's own words say about similarity, recency and frequency (D1–D8)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, log1p
from pathlib import Path
from typing import Literal

import numpy as np

from fivefold.models.shipped import FOLDER, BadModel, Tensor, unpack
from fivefold.models.weights.features import FEATURE_COUNT
from fivefold.models.weights.features import features as features
from fivefold.values.query import Curve, Decay, Weights
from fivefold.values.vectors import Matrix, Vector

Intent = Literal["semantic", "temporal", "frequency", "mixed"]

TARGETS: Mapping[Intent, tuple[float, float, float]] = {
    "semantic": (0.8, 0.1, 0.1),
    "temporal": (0.2, 0.7, 0.1),
    "frequency": (0.15, 0.1, 0.75),
    "mixed": (0.4, 0.4, 0.2),
}
"""Target weights of each intent in training (D5): similarity, recency, frequency."""

FALLBACK = (0.6, 0.25, 0.15)
"""The weights without a usable model (D8)."""

WIDTHS = (256, 64, 32, 3)
"""Width of each layer (D3)."""

_EPSILON = 1e-5
_log = logging.getLogger(__name__)


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
    """True if no model predicted these weights."""
    return weights.source.startswith("fallback")


def shipped() -> WeightModel:
    """The model that comes with the package, read once."""
    return load(FOLDER / "weights.bin")


@cache
def _load_file(path: Path) -> WeightModel | str:
    """The model at `path`, or why there is none: a bad file is read once as well."""
    try:
        contents = unpack(path.read_bytes())
        _check_tensors(f"the weight model {contents.name} lacks", contents.tensors, shapes(contents.dimension))
        return WeightModel(contents.name, contents.pin, contents.tensors)
    except FileNotFoundError:
        return f"the weight model's file {path.name} is missing"
    except OSError as error:
        return f"the weight model's file {path.name} cannot be opened: {error.strerror}"
    except BadModel as reason:
        return str(reason)


def load(path: Path) -> WeightModel:
    """The model in a file, kept for the next call; raises BadModel if it cannot be used."""
    loaded = _load_file(path)
    if isinstance(loaded, str):
        raise BadModel(loaded)
    return loaded


def shapes(dimension: int) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor of a network for vectors of that dimension (D3)."""
    shapes_by_name: dict[str, tuple[int, ...]] = {}
    inputs = (dimension, WIDTHS[0], WIDTHS[1] + FEATURE_COUNT, WIDTHS[2])
    for number, (width, values) in enumerate(zip(WIDTHS, inputs, strict=True), 1):
        shapes_by_name |= {f"{number}.linear.weight": (width, values), f"{number}.linear.bias": (width,)}
        if number < len(WIDTHS):
            shapes_by_name |= {f"{number}.norm.weight": (width,), f"{number}.norm.bias": (width,)}
    return shapes_by_name


def _check_tensors(lacks: str, tensors: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in wanted.items():
        if name not in tensors or tensors[name].shape != shape:
            raise BadModel(f"{lacks} a usable tensor {name}")


@cache
def _warn_once(reason: str) -> None:
    _log.warning("%s; weights %.2f/%.2f/%.2f are used instead", reason, *FALLBACK)


FILE = "signals.bin"

CURVES: tuple[Curve, ...] = ("linear", "exponential", "gaussian", "none")
"""The curves to choose from; the linear one runs over the candidates, from the oldest to the newest (D2)."""

TIME_INPUTS = 5
"""Number of inputs that describe the time: see `times_of`."""

HEAD_WIDTH = 16
"""Width of the heads, and of the descriptors of signals and candidates."""

CANDIDATE_INPUTS = 6
"""Number of inputs that describe a candidate: its three signals, and how far each is from the candidates' mean."""

HALF_LIFE_SHARE = 1 / 24
"""Without a named time, half-lives are counted in this share of how far memory reaches."""

MAX_LOG_LIFE = 8.0
"""Maximum distance of a half-life from the unit, as a logarithm."""

MIN_HALF_LIFE_DAYS, MAX_HALF_LIFE_DAYS = 1 / 24, 1e5
"""Bounds of a half-life in days."""

_SCALE = 8.0
"""The logarithm of days by which times are divided, so that years are about one."""

SHAPES: dict[str, tuple[int, ...]] = {
    "decay.1.weight": (HEAD_WIDTH, WIDTHS[2] + TIME_INPUTS),
    "decay.1.bias": (HEAD_WIDTH,),
    "decay.2.weight": (len(CURVES) + 1, HEAD_WIDTH),
    "decay.2.bias": (len(CURVES) + 1,),
    "token.weight": (HEAD_WIDTH, WIDTHS[2] + CANDIDATE_INPUTS),
    "token.bias": (HEAD_WIDTH,),
    "query.weight": (HEAD_WIDTH, HEAD_WIDTH),
    "key.weight": (HEAD_WIDTH, HEAD_WIDTH),
    "value.weight": (HEAD_WIDTH, HEAD_WIDTH),
    "descriptors": (3, HEAD_WIDTH),
}


@dataclass(frozen=True, slots=True)
class Times:
    """The known times, in days before the question: of a named window, and of all memories."""

    begins: float | None = None
    ends: float = 0.0
    span: float = 0.0
    newest: float = 0.0

    def vector(self) -> Vector:
        """True if a time is named, when it began and ended, how far memory reaches, and how old the newest is."""
        named = self.begins is not None
        days = (self.begins or 0.0, self.ends if named else 0.0, self.span, self.newest)
        scaled = [log1p(max(0.0, each)) / _SCALE for each in days]
        return np.array([float(named), *scaled], dtype=np.float32)

    @property
    def unit(self) -> float:
        """The days in which a half-life is counted: since the named time began, else a share of the span."""
        days = self.begins if self.begins is not None else self.span * HALF_LIFE_SHARE
        return min(MAX_HALF_LIFE_DAYS, max(MIN_HALF_LIFE_DAYS, days))


@dataclass(frozen=True, slots=True)
class SignalHeads:
    """The two heads, and the name of the weight network whose hidden layer they read."""

    name: str
    network: str
    tensors: dict[str, Tensor]

    def decay(self, hidden: Vector, times: Times) -> tuple[Decay, float]:
        """The likeliest curve with its half-life, and how likely it is."""
        chances, log_lives = self.raw_decay(hidden, times.vector())
        best = int(chances.argmax())
        if CURVES[best] == "linear":
            return Decay("linear", None), float(chances[best])
        half_life = min(MAX_HALF_LIFE_DAYS, max(MIN_HALF_LIFE_DAYS, times.unit * exp(log_lives)))
        return Decay(CURVES[best], half_life), float(chances[best])

    def raw_decay(self, hidden: Vector, times: Vector) -> tuple[Vector, float]:
        """The chance of each curve, and the logarithm of the half-life in the question's unit."""
        raw = self._linear("decay.2", np.maximum(self._linear("decay.1", np.concatenate([hidden, times])), 0))
        return _softmax(raw[: len(CURVES)]), min(MAX_LOG_LIFE, max(-MAX_LOG_LIFE, float(raw[-1])))

    def weights(self, hidden: Vector, weights: Vector, signals: Matrix) -> Matrix:
        """The weights of each candidate, a row each that adds up to 1, from its signals and those of all others."""
        seen = np.concatenate([signals, signals - signals.mean(axis=0)], axis=1)
        state = np.broadcast_to(hidden, (len(signals), len(hidden)))
        tokens = np.maximum(self._linear("token", np.concatenate([state, seen], axis=1)), 0)
        query, key, value = (tokens @ self.tensors[f"{part}.weight"].T for part in ("query", "key", "value"))
        tokens = tokens + _softmax(query @ key.T / HEAD_WIDTH**0.5) @ value
        logits = tokens @ self.tensors["descriptors"].T / HEAD_WIDTH**0.5 + np.log(np.maximum(weights, 1e-9))
        return np.asarray(_softmax(logits), dtype=np.float32)

    def _linear(self, name: str, values: Matrix) -> Matrix:
        return np.asarray(values @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"], dtype=np.float32)


def _softmax(logits: Matrix) -> Matrix:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


@cache
def shipped_heads() -> SignalHeads:
    """The heads that come with the package, read once; raises BadModel if they cannot be used."""
    try:
        return heads_of((FOLDER / FILE).read_bytes())
    except OSError as error:
        raise BadModel(f"the file {FILE} of the decay and of each result's weights cannot be read") from error


def heads_of(data: bytes) -> SignalHeads:
    """The heads in a file's bytes. Its pin names the weight network that they were trained with."""
    contents = unpack(data)
    _check_tensors(f"the heads {contents.name} lack", contents.tensors, SHAPES)
    return SignalHeads(contents.name, contents.pin, dict(contents.tensors))
