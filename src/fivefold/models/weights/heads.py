"""What else the weight network's last hidden layer says: a question's decay, and weights for each result (D12).

Both are small heads that are trained in the same run as the network, and lie in a file of their own. The decay is a
choice among four curves, and a half-life. The weights of a result come from attention: each candidate looks at all
others, then at a learned descriptor of each signal, and moves the question's weights by what it sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp, log1p

import numpy as np
import numpy.typing as npt

from fivefold.models.binary import BadModel, Tensor, unpack
from fivefold.models.shipped import FOLDER
from fivefold.models.weights.model import WIDTHS
from fivefold.values.decay import Curve, Decay
from fivefold.values.vectors import Vector

FILE = "signals.bin"
Matrix = npt.NDArray[np.float32]

CURVES: tuple[Curve, ...] = ("linear", "exponential", "gaussian", "none")
"""The curves to choose from; the linear one runs over the candidates, from the oldest to the newest (D2)."""

TIMES = 5
"""How many numbers say what is known of the time: see `times_of`."""

WIDTH = 16
"""Width of the heads, and of the descriptors of signals and candidates."""

SEEN = 6
"""What a candidate shows of itself: its three signals, and how far each is from the candidates' mean."""

SHARE = 1 / 24
"""Without a named time, half-lives are counted in this share of how far memory reaches."""

MOST = 8.0
"""How far from the unit a half-life may be, as a logarithm."""

SHORTEST, LONGEST = 1 / 24, 1e5
"""Bounds of a half-life in days."""

_SCALE = 8.0
"""The logarithm of days by which times are divided, so that years are about one."""

SHAPES: dict[str, tuple[int, ...]] = {
    "decay.1.weight": (WIDTH, WIDTHS[2] + TIMES),
    "decay.1.bias": (WIDTH,),
    "decay.2.weight": (len(CURVES) + 1, WIDTH),
    "decay.2.bias": (len(CURVES) + 1,),
    "token.weight": (WIDTH, WIDTHS[2] + SEEN),
    "token.bias": (WIDTH,),
    "query.weight": (WIDTH, WIDTH),
    "key.weight": (WIDTH, WIDTH),
    "value.weight": (WIDTH, WIDTH),
    "descriptors": (3, WIDTH),
}


@dataclass(frozen=True, slots=True)
class Times:
    """What is known of the time, in days before the question: of a named window, and of all memories."""

    begins: float | None = None
    ends: float = 0.0
    span: float = 0.0
    newest: float = 0.0

    def vector(self) -> Vector:
        """Whether a time is named, when it began and ended, how far memory reaches, and how old the newest is."""
        named = self.begins is not None
        days = (self.begins or 0.0, self.ends if named else 0.0, self.span, self.newest)
        scaled = [log1p(max(0.0, each)) / _SCALE for each in days]
        return np.array([float(named), *scaled], dtype=np.float32)

    @property
    def unit(self) -> float:
        """The days in which a half-life is counted: since the named time began, else a share of the span."""
        days = self.begins if self.begins is not None else self.span * SHARE
        return min(LONGEST, max(SHORTEST, days))


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
        half_life = min(LONGEST, max(SHORTEST, times.unit * exp(log_lives)))
        return Decay(CURVES[best], half_life), float(chances[best])

    def raw_decay(self, hidden: Vector, times: Vector) -> tuple[Vector, float]:
        """The chance of each curve, and the logarithm of the half-life in the question's unit."""
        raw = self._linear("decay.2", np.maximum(self._linear("decay.1", np.concatenate([hidden, times])), 0))
        return _softmax(raw[: len(CURVES)]), min(MOST, max(-MOST, float(raw[-1])))

    def weights(self, hidden: Vector, weights: Vector, signals: Matrix) -> Matrix:
        """The weights of each candidate, a row each that adds up to 1, from its signals and those of all others."""
        seen = np.concatenate([signals, signals - signals.mean(axis=0)], axis=1)
        state = np.broadcast_to(hidden, (len(signals), len(hidden)))
        tokens = np.maximum(self._linear("token", np.concatenate([state, seen], axis=1)), 0)
        query, key, value = (tokens @ self.tensors[f"{part}.weight"].T for part in ("query", "key", "value"))
        tokens = tokens + _softmax(query @ key.T / WIDTH**0.5) @ value
        logits = tokens @ self.tensors["descriptors"].T / WIDTH**0.5 + np.log(np.maximum(weights, 1e-9))
        return np.asarray(_softmax(logits), dtype=np.float32)

    def _linear(self, name: str, values: Matrix) -> Matrix:
        return np.asarray(values @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"], dtype=np.float32)


def _softmax(logits: Matrix) -> Matrix:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


@cache
def shipped_heads() -> SignalHeads:
    """The heads that come with the package, read once; BadModel where they cannot be used."""
    try:
        return heads_of((FOLDER / FILE).read_bytes())
    except OSError as error:
        raise BadModel(f"the file {FILE} of the decay and of each result's weights cannot be read") from error


def heads_of(data: bytes) -> SignalHeads:
    """The heads in a file's bytes. Its pin names the weight network that they were trained with."""
    contents = unpack(data)
    for name, shape in SHAPES.items():
        if name not in contents.tensors or contents.tensors[name].shape != shape:
            raise BadModel(f"the heads {contents.name} lack a usable tensor {name}")
    return SignalHeads(contents.name, contents.pin, dict(contents.tensors))
