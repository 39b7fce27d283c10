"""Late interaction in training: which pieces have a stored vector, how four bits change it, and how pieces score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from layout import packed_left
from model import Reading
from torch import Tensor

from fivefold.models.bert import word_pieces
from fivefold.models.embedders import CODE_LEVELS
from fivefold.models.embedders.fivefold_minilm import PassageTokenizer

BYTE = 255
NO_MATCH = -1.0


@dataclass(frozen=True)
class StoredPieces:
    """The engine's rule as tables: a piece has a vector `alone`, or `within` a word where the next piece goes on."""

    alone: Tensor
    within: Tensor
    inner: Tensor

    def of(self, ids: Tensor) -> Tensor:
        following = F.pad(ids[:, 1:], (0, 1))
        return self.alone[ids] | (self.within[ids] & self.inner[following])


def stored_pieces(device: torch.device | str) -> StoredPieces:
    """The tables, by asking the engine about every piece of the vocabulary."""
    pieces, vocabulary = PassageTokenizer(), word_pieces().vocabulary
    inner = np.zeros(len(vocabulary), dtype=np.bool_)
    inner[[number for word, number in vocabulary.items() if word.startswith("##")]] = True
    every = np.arange(len(vocabulary))[:, None]
    followed = np.concatenate([every, np.full_like(every, inner.argmax())], axis=1)
    alone, within = (pieces.stored(ids, np.ones_like(ids))[:, 0] for ids in (every, followed))
    return StoredPieces(*(torch.from_numpy(table).to(device) for table in (alone, within, inner)))


def gather_tokens(tokens: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The chosen tokens of each row moved together, and which places are filled."""
    order, width = packed_left(chosen), max(1, int(chosen.sum(1).max()))
    places = order[:, :width, None].expand(-1, -1, tokens.shape[2])
    return tokens.gather(1, places), chosen.gather(1, order)[:, :width]


def four_bits(vectors: Tensor) -> Tensor:
    """The vectors as the store gives them back; gradients pass as if nothing had been rounded."""
    exact = vectors.detach().float()
    scale = (exact.abs().amax(-1, keepdim=True) * BYTE).ceil().clamp(1, BYTE) / (BYTE * CODE_LEVELS)
    near = (exact / scale).round() * scale
    return vectors + (near.to(vectors.dtype) - vectors).detach()


def late_scores(asked: Reading, tokens: Tensor, present: Tensor, chunk: int = 64) -> Tensor:
    """For each question and memory the weighted mean, over the question's tokens, of the best match."""
    weights = (asked.weights / asked.weights.sum(1, keepdim=True).clamp(min=1e-6)).to(asked.tokens.dtype)
    found = []
    for some, weight in zip(asked.tokens.split(chunk), weights.split(chunk), strict=True):
        near = torch.einsum("qad,nbd->qnab", some, tokens)
        near = near.masked_fill(~present[None, :, None, :], NO_MATCH)
        found.append((near.amax(-1) * weight[:, None]).sum(-1))
    return torch.cat(found)
