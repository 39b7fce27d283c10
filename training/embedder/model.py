"""MiniLM in plain PyTorch, with the heads of fivefold-minilm: the same code trains, teaches, distils and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

HEADS = 12
EPSILON = 1e-12
LAYER_NAMES = {
    "attention.output.dense": "out",
    "attention.output.LayerNorm": "attended",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "settled",
}
"""Names of the published weights and of ours, but for query, key and value, which are one matrix here."""


class Layer(nn.Module):
    """One transformer layer, normalised after each part as in BERT."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.attended, self.settled = nn.LayerNorm(width, EPSILON), nn.LayerNorm(width, EPSILON)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        rows, length, width = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = self.attended(x + self.out(mixed.transpose(1, 2).reshape(rows, length, width)))
        return self.settled(x + self.down(F.gelu(self.up(x))))  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """Token ids and their mask into one vector a token."""

    def __init__(self, layers: int = 6, width: int = 384, inner: int = 1536, words: int = 30522) -> None:
        super().__init__()
        self.words, self.places, self.parts = (
            nn.Embedding(words, width),
            nn.Embedding(512, width),
            nn.Embedding(2, width),
        )
        self.start = nn.LayerNorm(width, EPSILON)
        self.layers = nn.ModuleList(Layer(width, inner) for _ in range(layers))

    def forward(self, ids: Tensor, mask: Tensor, parts: Tensor | None = None) -> Tensor:
        places = self.places.weight[: ids.shape[1]]
        part = self.parts.weight[0] if parts is None else self.parts(parts)
        x = self.start(self.words(ids) + places + part)
        bias = ((1.0 - mask.to(x.dtype)) * -1e4)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        return x  # type: ignore[no-any-return]


class Embedder(nn.Module):
    """The mean of the token vectors, at unit length."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return F.normalize(mean_of(self.encoder(ids, mask), mask), dim=-1)


class TokenEmbedder(nn.Module):
    """Two heads over one pass: the mean of a text's own tokens, and for each token a small vector, all at unit length.

    `weigh` gives how much each token of a question counts.
    """

    def __init__(self, encoder: Encoder, dimension: int = 64) -> None:
        super().__init__()
        width = encoder.words.weight.shape[1]
        self.encoder = encoder
        self.head = nn.Linear(width, dimension, bias=False)
        self.weigh = nn.Linear(width, 1)

    def forward(self, ids: Tensor, own: Tensor) -> Reading:
        mask = ids != 0
        hidden = self.encoder(ids, mask)
        return Reading(
            F.normalize(mean_of(hidden, own), dim=-1),
            F.normalize(self.head(hidden), dim=-1) * mask[..., None],
            F.softplus(self.weigh(hidden).squeeze(-1)) * mask,
        )


class Reading(NamedTuple):
    """What the two heads give: a vector a row, and for each token of a row a vector and a weight."""

    vectors: Tensor
    tokens: Tensor
    weights: Tensor


def mean_of(hidden: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1.0)


@dataclass(frozen=True)
class Rows:
    """Padded token ids of many texts; 0 is padding. `own` marks a text's own tokens; without it all are."""

    ids: Tensor
    parts: Tensor | None = None
    own: Tensor | None = None

    @property
    def lengths(self) -> Tensor:
        return (self.ids != 0).sum(1)

    @property
    def own_mask(self) -> Tensor:
        return self.ids != 0 if self.own is None else self.own


def encode(model: Embedder, rows: Rows, chunk: int = 1024) -> Tensor:
    """Vectors of all rows, encoded in chunks of like length so that little is padding."""
    order = rows.lengths.argsort()
    found = []
    for part in order.split(chunk):
        ids = rows.ids[part]
        ids = ids[:, : int((ids != 0).sum(1).max())]
        found.append(model(ids, ids != 0))
    return torch.cat(found)[order.argsort()]


def read(model: TokenEmbedder, rows: Rows, chunk: int = 512) -> Reading:
    """What both heads give for all rows, in chunks of like length; tokens are padded to the width of the rows."""
    lengths, own, width = rows.lengths, rows.own_mask, rows.ids.shape[1]
    order = lengths.argsort()
    found = []
    for part in order.split(chunk):
        longest = max(1, int(lengths[part].max()))
        vectors, tokens, weights = model(rows.ids[part, :longest], own[part, :longest])
        missing = width - longest
        found.append((vectors, F.pad(tokens, (0, 0, 0, missing)), F.pad(weights, (0, missing))))
    back = order.argsort()
    return Reading(*(torch.cat(parts)[back] for parts in zip(*found, strict=True)))


def published(path: Path) -> Encoder:
    """An encoder with published weights, such as those of all-MiniLM-L6-v2, with as many layers as the file has."""
    weights = load_file(path)
    layers = 1 + max(int(name.split("layer.")[1].split(".")[0]) for name in weights if "encoder.layer." in name)
    encoder = Encoder(layers)
    encoder.load_state_dict(renamed(weights, layers))
    return encoder


def renamed(weights: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Published names to ours, in float32."""
    weights = {name.removeprefix("bert."): value.float() for name, value in weights.items()}
    ours = {}
    for kind in ("weight", "bias"):
        for layer in range(layers):
            old, new = f"encoder.layer.{layer}.", f"layers.{layer}."
            heads = [weights[f"{old}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            ours[f"{new}qkv.{kind}"] = torch.cat(heads)
            ours |= {f"{new}{name}.{kind}": weights[f"{old}{full}.{kind}"] for full, name in LAYER_NAMES.items()}
        ours[f"start.{kind}"] = weights[f"embeddings.LayerNorm.{kind}"]
    for name, full in (("words", "word"), ("places", "position"), ("parts", "token_type")):
        ours[f"{name}.weight"] = weights[f"embeddings.{full}_embeddings.weight"]
    return ours
