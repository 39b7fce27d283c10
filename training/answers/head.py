"""The answer model in PyTorch; `fivefold.models.answers` is the same network in NumPy, with the same names."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fivefold.models.answers import AWAY, HEADS, LAYERS

TOKEN = 64
"""Dimensions of a token vector."""

SIGNALS = 3
"""Late interaction, cosine, and how long the memory is."""


class Pairs(NamedTuple):
    """Questions and memories that are judged, a row a pair; masks say which tokens are there."""

    asked: Tensor
    weights: Tensor
    asked_mask: Tensor
    told: Tensor
    told_mask: Tensor
    signals: Tensor


class AnswerHead(nn.Module):
    """The tokens of the question look at those of the memory, then at each other; the sum of both decides."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.q, self.d = nn.Linear(TOKEN + 1, width), nn.Linear(TOKEN, width)
        self.L = nn.ModuleList(_layer(width) for _ in range(LAYERS))
        self.pool = nn.Linear(width, 1)
        self.out = nn.Sequential(nn.Linear(2 * width + SIGNALS, width), nn.GELU("tanh"), nn.Linear(width, 1))

    def forward(self, pairs: Pairs) -> Tensor:
        """The log-odds of each pair."""
        share = (pairs.weights / pairs.weights.sum(1, keepdim=True).clamp(min=1e-6))[..., None]
        x, y = self.q(torch.cat([pairs.asked, 10 * share], -1)), self.d(pairs.told)
        for layer in self.L:
            key, value = layer["ckv"](y).chunk(2, -1)
            x = layer["n1"](x + layer["co"](_attend(layer["cq"](x), key, value, pairs.told_mask)))
            asks, key, value = layer["sqkv"](x).chunk(3, -1)
            x = layer["n2"](x + layer["so"](_attend(asks, key, value, pairs.asked_mask)))
            x = layer["n3"](x + layer["down"](F.gelu(layer["up"](x), approximate="tanh")))
        pooled = self.pool(x)[..., 0].masked_fill(~pairs.asked_mask, float(AWAY)).softmax(1)[..., None]
        return self.out(torch.cat([(pooled * x).sum(1), (share * x).sum(1), pairs.signals], -1))[..., 0]


def _layer(width: int) -> nn.ModuleDict:
    shapes = {"cq": (1, 1), "ckv": (1, 2), "co": (1, 1), "sqkv": (1, 3), "so": (1, 1), "up": (1, 2), "down": (2, 1)}
    parts: dict[str, nn.Module] = {name: nn.Linear(i * width, o * width) for name, (i, o) in shapes.items()}
    return nn.ModuleDict(parts | {f"n{i}": nn.LayerNorm(width) for i in (1, 2, 3)})


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    rows, length, width = query.shape

    def heads(values: Tensor) -> Tensor:
        return values.view(rows, -1, HEADS, width // HEADS).transpose(1, 2)

    seen = mask[:, None, None, :].expand(-1, HEADS, length, -1)
    mixed = F.scaled_dot_product_attention(heads(query), heads(key), heads(value), attn_mask=seen)
    return mixed.transpose(1, 2).reshape(rows, length, width)
