"""The model that reads two texts together: three logits for the relation, and one for whether the second answers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import torch
from model import Encoder, Layer, mean_of
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from fivefold.models.reader import WORDS

LOGITS = 4
"""One for each relation of two memories, and the log-odds that a memory answers."""


class Heads(nn.Module):
    """Logits from the first token's vector and the mean of all; teachers lose some of both while they learn."""

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.mix = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, LOGITS)
        self.lose = nn.Dropout(dropout)

    def logits(self, hidden: Tensor, mask: Tensor) -> Tensor:
        both = self.lose(torch.cat([hidden[:, 0], mean_of(hidden, mask)], -1))
        return self.head(self.lose(torch.tanh(self.mix(both))))


class PairReader(Heads):
    """The student: an encoder such as MiniLM's."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.words.weight.shape[1])
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor, parts: Tensor) -> Tensor:
        return self.logits(self.encoder(ids, mask, parts), mask)


def student_words() -> list[str]:
    """The word pieces that the shipped model knows, which are some of BERT's."""
    return resources.files("fivefold.models").joinpath("data", WORDS).read_text("utf-8").split("\n")


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
