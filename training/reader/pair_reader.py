"""The model that reads two texts together and gives three relations, as teacher whole and as student cut smaller."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import torch
from model import Encoder, Layer, mean_of
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


class PairReader(nn.Module):
    """Three logits from the first token's vector and the mean of all; teachers lose some of both while they learn."""

    def __init__(self, encoder: Encoder, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.words.weight.shape[1]
        self.mix = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, 3)
        self.lose = nn.Dropout(dropout)

    def forward(self, ids: Tensor, mask: Tensor, parts: Tensor) -> Tensor:
        hidden = self.encoder(ids, mask, parts)
        both = self.lose(torch.cat([hidden[:, 0], mean_of(hidden, mask)], -1))
        return self.head(self.lose(torch.tanh(self.mix(both))))


def cut(whole: Encoder, words: Sequence[int], layers: Sequence[int], inner: int) -> PairReader:
    """A student from a larger encoder: some of its words, some of its layers, and of each the units that weigh most."""
    small = Encoder(len(layers), inner=inner, words=len(words))
    state = {name: value for name, value in whole.state_dict().items() if "layers." not in name}
    state["words.weight"] = state["words.weight"][torch.tensor(words)]
    for to, number in enumerate(layers):
        layer = whole.layers[number]
        assert isinstance(layer, Layer)
        weight = layer.up.weight.norm(dim=1) * layer.down.weight.norm(dim=0)
        units = weight.topk(inner).indices.sort().values
        kept = layer.state_dict()
        kept |= {name: kept[name][units] for name in ("up.weight", "up.bias")}
        kept["down.weight"] = kept["down.weight"][:, units]
        state |= {f"layers.{to}.{name}": value.clone() for name, value in kept.items()}
    small.load_state_dict(state)
    return PairReader(small)


def save(model: PairReader, path: Path) -> None:
    """All weights in half precision."""
    save_file({name: value.half().cpu().contiguous() for name, value in model.state_dict().items()}, path)


def load(path: Path) -> PairReader:
    """A saved student, its depth and width read off its weights."""
    state = {name: value.float() for name, value in load_file(path).items()}
    layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers."))
    inner, words = state["encoder.layers.0.up.bias"].shape[0], state["encoder.words.weight"].shape[0]
    model = PairReader(Encoder(layers, inner=inner, words=words))
    model.load_state_dict(state)
    return model.eval()
