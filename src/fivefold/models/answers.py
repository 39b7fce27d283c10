"""Whether a memory answers a question, by a small network over the token vectors of both, in plain NumPy.

Late interaction adds up how near each word comes to its nearest; it cannot see that the one word that matters has no
counterpart. Here the words of the question look at all words of the memory, and then at each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from fivefold.models.binary import BadModel, Tensor, unpack
from fivefold.models.token_vectors import PRODUCT, packed_size
from fivefold.models.token_vectors import unpack as unpack_tokens
from fivefold.values.reading import QuestionReading

FILE = "answers.bin"
LAYERS, HEADS = 2, 4
MOST_TOKENS = 96
"""Tokens of a memory that are looked at."""

EPSILON = 1e-5
AWAY = np.float32(-1e4)


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """A trained network and the embedder whose token vectors it understands."""

    name: str
    pin: str
    tensors: Mapping[str, Tensor]

    def logits(self, question: QuestionReading, memories: Sequence[bytes], late: Tensor, dense: Tensor) -> Tensor:
        """The log-odds of each memory that it answers; memories without tokens get the lowest.

        All are 0 where the question was read without tokens, since nothing can be compared then.
        """
        if not memories or not len(question.tokens):
            return np.zeros(len(memories), dtype=np.float32)
        width = question.tokens.shape[1]
        size = packed_size(width) * MOST_TOKENS
        read = [unpack_tokens(packed[:size], width) for packed in memories]
        counts = np.array([len(tokens) for tokens in read])
        padded = np.zeros((len(read), max(1, int(counts.max(initial=1))), width), dtype=np.float32)
        for i, tokens in enumerate(read):
            padded[i, : len(tokens)] = tokens
        bias = np.where(np.arange(padded.shape[1]) < counts[:, None], np.float32(0), AWAY)[:, None, None, :]
        signals = np.stack([5 * late, 5 * dense, np.log(np.maximum(counts, 1)) - 3], axis=1).astype(np.float32)
        return np.where(counts > 0, self._judge(question, padded, bias, signals), AWAY)

    def _judge(self, question: QuestionReading, memories: Tensor, bias: Tensor, signals: Tensor) -> Tensor:
        weights = question.weights[:, None]
        asked = self._linear("q", np.concatenate([question.tokens, 10 * weights], axis=1))
        x = np.broadcast_to(asked, (len(memories), *asked.shape))
        y = self._linear("d", memories)
        for layer in range(LAYERS):
            at = f"L.{layer}."
            key, value = np.split(self._linear(f"{at}ckv", y), 2, axis=-1)
            looked = _attend(self._linear(f"{at}cq", x), key, value, bias)
            x = self._norm(f"{at}n1", x + self._linear(f"{at}co", looked))
            asks, key, value = np.split(self._linear(f"{at}sqkv", x), 3, axis=-1)
            x = self._norm(f"{at}n2", x + self._linear(f"{at}so", _attend(asks, key, value, np.float32(0))))
            x = self._norm(f"{at}n3", x + self._linear(f"{at}down", _gelu(self._linear(f"{at}up", x))))
        share = _softmax(self._linear("pool", x)[..., 0])[..., None]
        both = np.concatenate([(share * x).sum(axis=1), (weights * x).sum(axis=1), signals], axis=1)
        judged: Tensor = self._linear("out.2", _gelu(self._linear("out.0", both)))[:, 0]
        return judged

    def _linear(self, name: str, values: Tensor) -> Tensor:
        """In blocks that one thread computes: others take longer to wake up, and far longer on a busy machine."""
        weight, flat = self.tensors[f"{name}.weight"].T, values.reshape(-1, values.shape[-1])
        out = np.empty((len(flat), weight.shape[1]), dtype=np.float32)
        size = max(1, PRODUCT // weight.size)
        for start in range(0, len(flat), size):
            np.matmul(flat[start : start + size], weight, out=out[start : start + size])
        out += self.tensors[f"{name}.bias"]
        return out.reshape(*values.shape[:-1], -1)

    def _norm(self, name: str, values: Tensor) -> Tensor:
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        settled: Tensor = centred / spread * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]
        return settled


@cache
def shipped() -> AnswerModel | None:
    """The model that comes with the package; None where its file cannot be read."""
    try:
        contents = unpack(resources.files("fivefold.models").joinpath("data", FILE).read_bytes())
    except (OSError, BadModel):
        return None
    return AnswerModel(contents.name, contents.pin, contents.tensors)


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | np.float32) -> Tensor:
    def heads(values: Tensor) -> Tensor:
        return values.reshape(*values.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    split = heads(query)
    near = split @ heads(key).transpose(0, 1, 3, 2) / np.float32(np.sqrt(split.shape[-1])) + bias
    mixed: Tensor = (_softmax(near) @ heads(value)).transpose(0, 2, 1, 3)
    return mixed.reshape(*mixed.shape[:2], -1)


def _softmax(values: Tensor) -> Tensor:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _gelu(values: Tensor) -> Tensor:
    inner = np.float32(np.sqrt(2 / np.pi)) * (values + np.float32(0.044715) * values**3)
    return np.asarray(np.float32(0.5) * values * (1 + np.tanh(inner)))
