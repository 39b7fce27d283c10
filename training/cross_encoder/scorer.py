"""The cross-encoder: question and memory read together, one score out; and smaller ones cut from a larger."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import torch
from model import Encoder, Layer, Rows, mean_of
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


class Scorer(nn.Module):
    """One logit from the first token's vector and the mean of all."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(2 * encoder.words.weight.shape[1], 1)

    def forward(self, ids: Tensor, mask: Tensor, parts: Tensor) -> Tensor:
        hidden = self.encoder(ids, mask, parts)
        return self.head(torch.cat([hidden[:, 0], mean_of(hidden, mask)], -1)).squeeze(-1)  # type: ignore[no-any-return]


def scores(model: Scorer, rows: Rows, chunk: int = 512) -> Tensor:
    """Scores of all pairs, read in chunks of like length so that little is padding."""
    assert rows.parts is not None
    order = rows.lengths.argsort()
    found = []
    for part in order.split(chunk):
        ids = rows.ids[part]
        ids = ids[:, : int((ids != 0).sum(1).max())]
        found.append(model(ids, ids != 0, rows.parts[part, : ids.shape[1]]).float())
    return torch.cat(found)[order.argsort()]


def cut(model: Scorer, keep: Sequence[int], inner: int) -> Scorer:
    """A student: some layers of the teacher, and of each the inner units that weigh most."""
    whole = model.encoder
    small = Scorer(Encoder(len(keep), inner=inner)).to(whole.words.weight.device)
    state = {name: value for name, value in model.state_dict().items() if "layers." not in name}
    for to, number in enumerate(keep):
        layer = whole.layers[number]
        assert isinstance(layer, Layer)
        weight = layer.up.weight.norm(dim=1) * layer.down.weight.norm(dim=0)
        units = weight.topk(inner).indices.sort().values
        kept = layer.state_dict()
        kept |= {name: kept[name][units] for name in ("up.weight", "up.bias")}
        kept["down.weight"] = kept["down.weight"][:, units]
        state |= {f"encoder.layers.{to}.{name}": value.clone() for name, value in kept.items()}
    small.load_state_dict(state)
    small.encoder.words.weight.requires_grad_(False)
    return small


def save(model: Scorer, path: Path) -> None:
    """The weights in half precision, without the word table, which is the published one."""
    state = model.state_dict()
    save_file(
        {name: value.half().cpu().contiguous() for name, value in state.items() if name != "encoder.words.weight"}, path
    )


def load(path: Path, words: Tensor) -> Scorer:
    """A saved scorer, its depth and width read off its weights."""
    state = {name: value.float() for name, value in load_file(path).items()}
    layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers."))
    model = Scorer(Encoder(layers, inner=state["encoder.layers.0.up.bias"].shape[0]))
    model.load_state_dict(state | {"encoder.words.weight": words.float()})
    return model.eval()
