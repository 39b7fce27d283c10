"""A teacher: all-mpnet-base-v2 by sentence-transformers, whole, with the heads of the reader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from teachers import mpnet_ids
from torch import Tensor
from training.reader.pair_reader import Heads

if TYPE_CHECKING:
    from transformers import MPNetModel

DROPOUT = 0.1


class Teacher(Heads):
    """Reads BERT's word pieces; MPNet does not know which text a piece belongs to but by the mark between them."""

    def __init__(self, encoder: MPNetModel) -> None:
        super().__init__(encoder.config.hidden_size, DROPOUT)
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor, parts: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=mpnet_ids(ids, mask), attention_mask=mask).last_hidden_state
        return self.logits(hidden, mask)


def load_teacher(folder: Path, seed: int) -> Teacher:
    """A teacher that begins from the published weights in a folder; `seed` decides its heads and what it loses."""
    from transformers import MPNetModel

    torch.manual_seed(seed)
    return Teacher(MPNetModel.from_pretrained(folder, add_pooling_layer=False, local_files_only=True))
