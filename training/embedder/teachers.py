"""General models whose likenesses are taught: all-mpnet-base-v2 and encoders of BERT's kind, weighed together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from model import Embedder, mean_of, published
from torch import Tensor, nn

SHIFT = 4
"""MPNet's word pieces are BERT's, after four marks of its own."""

MARKS = {101: 0, 102: 2, 103: 30526}
"""BERT's numbers for the start, the end of a text and a hidden piece, and MPNet's."""

PADDING = 1


def mpnet_ids(ids: Tensor, mask: Tensor) -> Tensor:
    """MPNet's numbers for BERT's word pieces."""
    found = ids + SHIFT
    for bert, mpnet in MARKS.items():
        found = found.masked_fill(ids == bert, mpnet)
    return found.masked_fill(mask == 0, PADDING)


class Mpnet(nn.Module):
    """all-mpnet-base-v2: the mean of the token vectors, at unit length, of BERT's word pieces."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        from transformers import MPNetModel

        self.encoder = MPNetModel.from_pretrained(folder, add_pooling_layer=False, local_files_only=True)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=mpnet_ids(ids, mask), attention_mask=mask.long()).last_hidden_state
        return F.normalize(mean_of(hidden, mask), dim=-1)


class Teachers(nn.Module):
    """Several models as one: the product of two vectors is the sum of their likenesses, each by its weight."""

    def __init__(self, models: Sequence[nn.Module], weights: Sequence[float]) -> None:
        super().__init__()
        self.models, self.weights = nn.ModuleList(models), list(weights)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        vectors = [
            weight**0.5 * model(ids, mask).float() for model, weight in zip(self.models, self.weights, strict=True)
        ]
        return torch.cat(vectors, -1)


def general_model(path: Path) -> nn.Module:
    """A model from a folder of all-mpnet-base-v2, or from a file of weights of BERT's kind."""
    return Mpnet(path) if path.is_dir() else Embedder(published(path))
